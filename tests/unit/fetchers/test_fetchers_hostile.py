"""The hostile web, crowded: each page ends as it must, and nothing is left behind."""

from tests.site.hostile import KINDS, hostile_web
from tests.site.soak import IMPATIENT, open_files, rss_mib, wrong_ends
from tests.unit.fetchers.raw_web import fetching, run, settings

KEPT_MIB = 60


def test_every_page_of_a_hostile_web_ends_in_its_one_outcome() -> None:
    """Many at a time, side by side; the second round leaves neither memory nor files behind."""

    async def scenario() -> tuple[list[str], float, int]:
        async with hostile_web() as port:
            async with fetching(settings(**IMPATIENT)) as fetcher:
                first = await wrong_ends(fetcher, port, sorted(KINDS) * 2)
                before_mib, files = rss_mib(), open_files()
                wrong = await wrong_ends(fetcher, port, sorted(KINDS) * 3)
                more_mib = rss_mib() - before_mib
            return first + wrong, more_mib, open_files() - files

    wrong, more_mib, more_files = run(scenario())
    assert wrong == []
    assert more_mib < KEPT_MIB
    assert more_files <= 60
