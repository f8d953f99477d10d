"""robots.txt of what rendered pages ask for."""

import asyncio

import pytest

from fetchers.attempt import Attempt
from fetchers.rendering.robots import PartRules
from schemas.outcomes import Outcome
from schemas.records import Cut, Kind, Request
from schemas.url import split
from tests.unit.fetchers.raw_web import request

PAGE = request("http://page.test/")
FORBIDS = b"User-agent: odradek\nDisallow: /private\n"


class Web:
    """Answers each request for a robots.txt in turn, the last for ever."""

    def __init__(self, *attempts: Attempt) -> None:
        self._attempts = list(attempts)
        self.asked: list[Request] = []

    async def fetch(self, wanted: Request) -> Attempt:
        self.asked.append(wanted)
        await asyncio.sleep(0)
        return self._attempts.pop(0) if len(self._attempts) > 1 else self._attempts[0]


def ended(outcome: Outcome, body: bytes = b"", cut: Cut | None = None, to: str | None = None) -> Attempt:
    """An attempt that ended so."""
    return Attempt(outcome=outcome, body=body, cut=cut, redirect_to=to)


def allowed(web: Web, *urls: str, fresh_s: float = 60.0) -> list[bool]:
    """What each URL is told, all asked at once."""

    async def scenario() -> list[bool]:
        rules = PartRules(web.fetch, "odradek", fresh_s)
        return list(await asyncio.gather(*(rules.allow(split(url), PAGE) for url in urls)))

    return asyncio.run(scenario())


def test_each_origin_is_asked_once_for_its_own_rules() -> None:
    """However many parts are wanted at once; scheme and port make another origin; the request is for a robots.txt."""
    web = Web(ended(Outcome.OK, FORBIDS))
    urls = ["http://a.test/x", "http://a.test/private/x", "https://a.test/x", "http://a.test:8080/private"]
    assert allowed(web, *urls) == [True, False, True, False]
    assert sorted(each.url for each in web.asked) == [
        "http://a.test/robots.txt",
        "http://a.test:8080/robots.txt",
        "https://a.test/robots.txt",
    ]
    assert {each.kind for each in web.asked} == {Kind.ROBOTS}
    assert {each.host for each in web.asked} == {"a.test", "a.test:8080"}


@pytest.mark.parametrize(
    ("answers", "is_open"),
    [
        ([ended(Outcome.CLIENT_ERROR)], True),
        ([ended(Outcome.OK, FORBIDS, Cut.LENGTH)], True),
        ([ended(Outcome.REDIRECT, to="http://b.test/robots.txt"), ended(Outcome.OK, b"")], True),
        ([ended(Outcome.REDIRECT, to="http://b.test/robots.txt")], False),
        ([ended(Outcome.BAD_REDIRECT)], False),
        ([ended(Outcome.OK, FORBIDS, Cut.DISCONNECT)], False),
        *(
            ([ended(outcome)], False)
            for outcome in Outcome
            if outcome not in (Outcome.OK, Outcome.CLIENT_ERROR, Outcome.SKIPPED, Outcome.REDIRECT)
        ),
    ],
)
def test_what_is_no_answer_is_no_permission(answers: list[Attempt], is_open: bool) -> None:
    """Only rules, or that there are none, allow anything."""
    assert allowed(Web(*answers), "http://a.test/x") == [is_open]


def test_rules_are_read_again_when_they_are_old() -> None:
    """And what could not be had is not asked for by every part."""

    async def scenario(web: Web, fresh_s: float) -> int:
        rules = PartRules(web.fetch, "odradek", fresh_s)
        for _ in range(3):
            await rules.allow(split("http://a.test/x"), PAGE)
        return len(web.asked)

    assert asyncio.run(scenario(Web(ended(Outcome.OK)), 60.0)) == 1
    assert asyncio.run(scenario(Web(ended(Outcome.OK)), 0.0)) == 3
    assert asyncio.run(scenario(Web(ended(Outcome.SERVER_ERROR)), 0.0)) == 1
