"""URLs that take a browser, and attempts that count for nothing."""

from datetime import timedelta
from pathlib import Path

import pytest
from frontier_scene import Scene

from frontier.browser_rules import BrowserRules
from frontier.leases import unpack_lease
from frontier.results import expire
from infra.kafka.topics import TopicName
from infra.settings.rendering import RenderingSettings
from schemas.outcomes import Outcome

URL = "http://a.test/app"


def test_what_was_found_to_need_a_browser_is_released_to_the_renderers() -> None:
    """After the host's delay, under a lease of its own, and without the first look counting as an attempt."""
    scene = Scene(attempts=1)
    scene.admit(URL)
    (first,) = scene.release()
    scene.settle(first, Outcome.NEEDS_BROWSER)
    assert scene.release(0.5) == []
    assert scene.renders == []
    scene.release(0.6)
    (again,) = scene.renders
    assert (again.url, again.visit, again.attempt) == (URL, 0, 1)
    assert again.lease != first.lease
    scene.settle(again, Outcome.OK)
    assert (scene.count("pages"), scene.count("queued"), scene.count("leased")) == (1, 0, 0)


def test_a_rule_sends_a_url_to_the_renderers_at_once() -> None:
    """No fetcher looks at it first; URLs beside the rule go where they always went."""
    scene = Scene()
    scene.partition.needs_browser = BrowserRules(["*.a.test"], [r"/app\b"]).hold
    scene.admit(URL, "http://a.test/plain")
    scene.release()
    scene.settle(scene.renders[0])
    assert [each.url for each in scene.release(1.1)] == ["http://a.test/plain"]
    assert [each.url for each in scene.renders] == [URL]


def test_rules_are_names_suffixes_and_patterns() -> None:
    """Each is enough; without any nothing needs a browser."""
    rules = BrowserRules(["exact.test", "*.below.test"], [r"^https://p\.test/app/"])
    assert [
        rules.hold(url)
        for url in ("http://exact.test/", "http://x.below.test/", "http://below.test/", "https://p.test/app/1")
    ] == [True, True, False, True]
    assert not rules.hold("http://p.test/app/1")
    assert not BrowserRules([], []).hold(URL)


def test_no_page_is_handed_over_twice() -> None:
    """A renderer that would find a page in need of a browser cannot send it round for ever."""
    scene = Scene()
    scene.admit(URL)
    scene.settle(scene.release()[0], Outcome.NEEDS_BROWSER)
    scene.release(1.1)
    scene.settle(scene.renders[0], Outcome.NEEDS_BROWSER)
    assert scene.release(3_600) == []
    assert (scene.count("errors"), scene.stored()) == (1, {"queued": 0, "leased": 0})


def test_the_renderers_leases_are_lost_by_their_own_topic(tmp_path: Path) -> None:
    """What the fetchers have committed says nothing of what a renderer holds, also after a restart."""
    scene = Scene(tmp_path / "store")
    scene.partition.needs_browser = lambda url: url == URL
    scene.admit(URL)
    scene.release()
    (name, host, packed), *_ = scene.memory.store.leases()
    assert unpack_lease(name, host, packed, scene.now_s).topic is TopicName.RENDERS
    scene.now_s += 60
    with scene.step():
        assert expire(scene.partition, TopicName.URLS, scene.now_s, scene.now_s) == 0
        assert expire(scene.partition, TopicName.RENDERS, scene.now_s, scene.now_s) == 1
    scene.release(2)
    assert len(scene.renders) == 2


def test_a_proxy_outage_costs_no_attempt() -> None:
    """A URL is tried through hours of it, each time later, and then has all its attempts left."""
    scene = Scene(attempts=2, uncounted_attempts=40)
    scene.admit(URL)
    waits = []
    for _ in range(40):
        began_s = scene.now_s
        while not (released := scene.release(1)):
            continue
        waits.append(scene.now_s - began_s)
        scene.settle(released[0], Outcome.PROXY_ERROR)
    assert scene.count("errors") == 0
    assert max(waits[:2]) < 5
    assert min(waits[-5:]) >= 300
    for outcome in (Outcome.SERVER_ERROR, Outcome.OK):
        scene.settle(scene.release(3_600)[0], outcome)
    assert (scene.count("pages"), scene.count("errors")) == (1, 0)


def test_a_proxy_outage_ends_nobody_elses_turn() -> None:
    """The host's other URLs go on: whoever has a proxy again is not held up by who had none."""
    scene = Scene(backoff_shortest=timedelta(seconds=10))
    scene.admit(URL, "http://a.test/other")
    scene.settle(scene.release()[0], Outcome.PROXY_ERROR)
    assert [each.url for each in scene.release(1.1)] == ["http://a.test/other"]


def test_an_outage_without_end_has_an_end() -> None:
    """Every URL ends: one that no proxy ever takes is an error at last."""
    scene = Scene(uncounted_attempts=3)
    scene.admit(URL)
    tried = 0
    while released := scene.release(400):
        tried += 1
        scene.settle(released[0], Outcome.PROXY_ERROR)
    assert (tried, scene.count("errors")) == (4, 1)


def test_the_settings_take_only_patterns_that_can_be_searched() -> None:
    """A broken pattern is refused when it is set, not when a URL meets it."""
    assert RenderingSettings(hosts=frozenset({"A.test"})).is_wanted
    with pytest.raises(ValueError, match="is no regular expression"):
        RenderingSettings(patterns=("(",))
