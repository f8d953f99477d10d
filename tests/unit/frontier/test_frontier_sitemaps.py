"""Sitemaps: who is told of them, and how they differ from pages."""

from pathlib import Path

import pytest
from frontier_scene import Scene, robots

from frontier.admission import check
from frontier.memory import Memory
from frontier.rebuild import rebuild
from frontier.store import Store
from infra.errors import NeverValid
from schemas.outcomes import Outcome
from schemas.records import Kind, Links, Reason

H = "http://h.test"
TEXT = f"User-agent: *\nDisallow: /x\nSitemap: {H}/s.xml\nsitemap: /relative.xml\nSitemap: http://o.test/s.xml\n"


def named(scene: Scene, crawl: str = "c") -> list[str]:
    """The sitemaps that a crawl was told of."""
    return [url for links in scene.links if links.crawl == crawl for url in links.urls]


def sitemap(scene: Scene, url: str = f"{H}/s.xml") -> None:
    """A sitemap is handed over, as one that a robots.txt names."""
    scene.take(Links(crawl="c", host="h.test", reason=Reason.SITEMAP, depth=0, urls=[url], kind=Kind.SITEMAP))


def test_a_robots_txt_tells_of_sitemaps_in_scope() -> None:
    """Each as a URL that is to be fetched; another host's is for crawls to which that host belongs."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.define("wide", follow_robots=True, scope="any")
    scene.admit(f"{H}/1")
    scene.admit(f"{H}/1", crawl="wide")
    scene.release()
    robots(scene, TEXT)
    assert named(scene) == [f"{H}/s.xml", f"{H}/relative.xml"]
    assert named(scene, "wide") == [f"{H}/s.xml", f"{H}/relative.xml", "http://o.test/s.xml"]
    assert {(links.kind, links.reason, links.depth) for links in scene.links} == {(Kind.SITEMAP, Reason.SITEMAP, 0)}
    assert [(each.reason, each.url) for each in scene.decisions] == [("sitemap_out_of_scope", "http://o.test/s.xml")]


def test_a_crawl_that_comes_later_is_told_too() -> None:
    """The robots.txt is not asked for again within its day, so the crawl's first URL of the host is the moment."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.define("late", follow_robots=True)
    scene.admit(f"{H}/1")
    scene.release()
    robots(scene, TEXT)
    assert named(scene, "late") == []
    scene.admit(f"{H}/1", crawl="late")
    scene.admit(f"{H}/2", crawl="late")
    assert named(scene, "late") == [f"{H}/s.xml", f"{H}/relative.xml"]


@pytest.mark.parametrize("fields", [{"sitemaps": False}, {"follow_robots": False}])
def test_a_crawl_may_do_without(fields: dict[str, bool]) -> None:
    """Where the crawl says so, or has nothing to do with robots.txt, nothing is told."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.define("without", **{"follow_robots": True, **fields})
    scene.admit(f"{H}/1", crawl="without")
    scene.admit(f"{H}/1")
    scene.release()
    while scene.requests[-1].kind is not Kind.ROBOTS:
        scene.settle(scene.requests[-1])
        scene.release(after_s=2)
    robots(scene, TEXT)
    assert named(scene) != []
    assert named(scene, "without") == []


def test_a_robots_txt_of_sitemaps_without_end_tells_of_a_hundred() -> None:
    """The rest would be a flood; an index holds more than enough."""
    scene = Scene()
    scene.define("c", follow_robots=True)
    scene.admit(f"{H}/1")
    scene.release()
    robots(scene, "".join(f"Sitemap: {H}/{number}.xml\n" for number in range(5_000)))
    assert len(named(scene)) == 100


def test_a_sitemap_waits_its_turn_and_is_no_page() -> None:
    """It is requested at its host's pace as what it is, and counts neither as a page nor against their budget."""
    scene = Scene()
    scene.define("c", max_pages=1)
    sitemap(scene)
    scene.admit(f"{H}/1")
    [request] = scene.release()
    assert (request.kind, request.url) == (Kind.SITEMAP, f"{H}/s.xml")
    assert scene.release() == []
    scene.settle(request)
    [page] = scene.release(after_s=1)
    assert page.kind is Kind.PAGE
    figures = {name: scene.count(name) for name in ("sitemaps", "pages", "released", "leased")}
    assert figures == {"sitemaps": 1, "pages": 0, "released": 1, "leased": 1}


@pytest.mark.parametrize("answer", [None, Outcome.OK, Outcome.TIMEOUT])
def test_the_changelog_knows_sitemaps(answer: Outcome | None, tmp_path: Path) -> None:
    """Waiting, leased, tried again or done: change by change and made anew, figures and kind are the same."""
    scene = Scene(tmp_path / "1")
    scene.define("c", max_pages=1)
    sitemap(scene)
    sitemap(scene, f"{H}/t.xml")
    [request] = scene.release()
    if answer is not None:
        scene.settle(request, answer)
    figures = {name: count for name, count in scene.memory.counts.items() if count}
    rebuild(tmp_path / "2", 0, [scene.changes])
    store = Store(":memory:")
    memory = Memory(store, 0)
    store.begin()
    for key, value in scene.changes:
        memory.apply(key, value)
    memory.forget()
    store.commit()
    for restored in (Memory(Store(tmp_path / "2"), 0), memory):
        assert {name: count for name, count in restored.counts.items() if count} == figures
        scene.open(restored.store)
        assert {lease.kind for lease in scene.partition.leases.values()} <= {Kind.SITEMAP}
        scene.now_s += 100
        assert {each.kind for each in scene.release()} <= {Kind.SITEMAP}


def test_a_sitemap_that_redirects_stays_a_sitemap() -> None:
    """Its target is read as one too, and so after a lost disk."""
    scene = Scene()
    sitemap(scene)
    [request] = scene.release()
    for _ in range(2):
        scene.settle(request, Outcome.REDIRECT, redirect_to="/new.xml")
    assert [(each.kind, each.urls) for each in scene.links] == [(Kind.SITEMAP, [f"{H}/new.xml"])] * 2
    assert scene.count("moved") == 1


def test_links_with_priorities_go_in_their_order() -> None:
    """What a sitemap thinks most of goes first; what is uneven is a dead letter."""
    scene = Scene()
    urls = [f"{H}/{number}" for number in range(3)]
    links = Links(crawl="c", host="h.test", reason=Reason.SITEMAP, depth=1, urls=urls, priorities=[0, 8, -5])
    scene.take(links)
    order: list[str] = []
    for _ in urls:
        [request] = scene.release(after_s=1)
        order.append(request.url)
        scene.settle(request)
    assert order == [urls[1], urls[0], urls[2]]
    with pytest.raises(NeverValid):
        check(links.model_copy(update={"priorities": [1]}))
    with pytest.raises(NeverValid):
        check(links.model_copy(update={"modified": [1]}))
