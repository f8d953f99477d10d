"""The monitor's API over a real Kafka: what it answers is what it describes, and nobody changes what is not theirs."""

import json
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.fetchers import UrlFetched
from monitor.api.endpoints import ENDPOINTS
from schemas.orders import Action
from schemas.outcomes import Outcome
from tests.integration.monitor_scene import Scene, document, fetch, letter, monitored

CRAWL = "monitored-1"


@pytest.fixture(scope="module")
def scene(kafka_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A monitor that has something to tell."""
    with monitored(kafka_settings, tmp_path_factory.mktemp("monitor")) as it:
        it.define(CRAWL)
        it.counts = {f"crawl/{CRAWL}/queued": 7, f"crawl/{CRAWL}/pages": 3, "queued": 7, "hosts": 2}
        it.has_work("slow.test", 900, failures=2)
        it.send(TopicName.FETCHES, b"mon.test", fetch("http://mon.test/1", "mon.test"))
        it.send(
            TopicName.FETCHES,
            b"mon.test",
            fetch("http://mon.test/2", "mon.test", Outcome.TIMEOUT, error="60 s"),
        )
        it.send(TopicName.DOCUMENTS, b"1", document("http://mon.test/1", title="<script>alert(1)</script>"))
        it.send(TopicName.DEAD_LETTERS, b"1", letter(1), letter(1), letter(2, "seeds"))
        it.until(
            "/api/hosts?search=mon.test",
            lambda answer: bool(answer["hosts"]) and answer["hosts"][0]["fetches"] == 2,
        )
        it.until("/api/dead-letters", lambda answer: len(answer["letters"]) >= 2)
        yield it


QUESTIONS: dict[tuple[str, str], Any] = {
    ("GET", "/api/explain"): {"url": "http://mon.test/1", "crawl": CRAWL},
    ("GET", "/api/hosts"): {"search": "test", "limit": "10", "sort": "errors"},
    ("GET", "/api/documents"): {"limit": "5"},
    ("POST", "/api/orders"): {"action": "pause", "subject": "crawl", "target": CRAWL, "reason": "lunch"},
    ("POST", "/api/orders/withdrawals"): {"action": "pause", "subject": "crawl", "target": CRAWL},
    ("POST", "/api/sql"): {"sql": "SELECT 1"},
}


def described(scene: Scene) -> dict[str, Any]:
    """The API's description of itself."""
    return scene.ask("/api/openapi.json")[1]


def test_the_description_is_openapi_and_whole(scene: Scene) -> None:
    """It is valid OpenAPI 3.1, and holds every endpoint that is served and no other."""
    found = described(scene)
    validate(found)
    operations = {(method.upper(), path) for path, methods in found["paths"].items() for method in methods}
    assert operations == {(each.method, each.path) for each in ENDPOINTS}
    assert all(method["summary"] for methods in found["paths"].values() for method in methods.values())


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_each_answer_is_as_described(scene: Scene, endpoint: Any) -> None:
    """Judged by a validator of others: the answer to a right question, and to a wrong one."""
    description = described(scene)
    registry: Registry[Any] = Registry().with_resource(
        "urn:api", Resource.from_contents(description, default_specification=DRAFT202012)
    )

    def check(status: int, answer: Any) -> None:
        responses = description["paths"][endpoint.path][endpoint.method.lower()]["responses"]
        ref = responses[str(status)]["content"]["application/json"]["schema"]["$ref"]
        Draft202012Validator({"$ref": f"urn:api{ref}"}, registry=registry).validate(answer)

    question = QUESTIONS.get((endpoint.method, endpoint.path))
    if endpoint.method == "POST":
        if endpoint.path.endswith("withdrawals"):
            scene.ask("/api/orders", QUESTIONS["POST", "/api/orders"])
        status, answer = scene.ask(endpoint.path, question)
        # No ClickHouse runs here: what the SQL box says then is an answer as described, too.
        assert status == (400 if endpoint.path == "/api/sql" else 200), answer
        check(status, answer)
        wrong = scene.ask(endpoint.path, {"misspelt": 1})
    else:
        query = "&".join(f"{name}={value}" for name, value in (question or {}).items())
        status, answer = scene.ask(f"{endpoint.path}?{query}")
        assert status == 200, answer
        check(status, answer)
        wrong = scene.ask(f"{endpoint.path}?misspelt=1")
    assert wrong[0] == 400
    assert "misspelt" in wrong[1]["error"]
    check(*wrong)


def test_the_overview_tells_rates_lag_and_what_is_wrong(scene: Scene) -> None:
    """What workers count becomes rates, what groups have not read becomes lag, what is wrong is named."""
    for _ in range(5):
        emit(UrlFetched("http://mon.test/", Outcome.OK, 200, None, 10, 0.2, None))
    found = scene.until("/api/overview", lambda answer: answer["rates"]["pages"] > 0)
    assert found["stages"] == {"fetchers": 1, "frontier": 1, "monitor": 1, "sinks": 1, "streams": 1}
    assert found["history"][-1]["lag"]["odradek-sink-clickhouse"] >= 3
    assert 0.1 < found["p50_s"] < 0.25
    kinds = {finding["kind"] for finding in found["findings"]}
    assert {"dead_letters", "one_host"} <= kinds


def test_hosts_join_what_waits_with_what_was_fetched(scene: Scene) -> None:
    """One line for each, from the frontier and from the fetches; a search finds any part of a name."""
    hosts = {each["host"]: each for each in scene.ask("/api/hosts?search=test")[1]["hosts"]}
    assert (hosts["slow.test"]["queued"], hosts["slow.test"]["failures"]) == (900, 2)
    assert (
        hosts["mon.test"]["fetches"],
        hosts["mon.test"]["errors"],
        hosts["mon.test"]["last_error"],
    ) == (2, 1, "60 s")
    assert [each["host"] for each in scene.ask("/api/hosts?search=LOW")[1]["hosts"]] == ["slow.test"]


def test_a_letter_written_twice_is_shown_once(scene: Scene) -> None:
    """With where its record stands and what can be read of it, the newest first, of one topic when asked."""
    found = scene.ask("/api/dead-letters?topic=pages")[1]["letters"]
    ours = [each for each in found if each["letter_id"] == "letter-1"]
    assert len(ours) == 1
    assert ours[0]["value"] == "\N{REPLACEMENT CHARACTER}<value>"
    assert all(each["topic"] == "pages" for each in found)


def test_orders_are_given_listed_and_taken_back(scene: Scene) -> None:
    """The answer already shows the effect; what nobody could follow is refused in words."""
    about = {"action": "delay", "subject": "host", "target": "Mon.test"}
    status, answer = scene.ask("/api/orders", {**about, "amount": 5})
    assert status == 200
    [order] = [each for each in answer["orders"] if each["action"] == Action.DELAY]
    assert (order["target"], order["amount"], order["by"]) == ("mon.test", 5, "monitor")
    [host] = scene.ask("/api/hosts?search=mon.test")[1]["hosts"]
    assert [each["action"] for each in host["orders"]] == ["delay"]
    assert scene.ask("/api/orders", {**about, "amount": -1}) == (
        400,
        {"error": "delay takes an amount from 0 to 86400"},
    )
    status, answer = scene.ask("/api/orders/withdrawals", about)
    assert status == 200
    assert [each for each in answer["orders"] if each["action"] == "delay"] == []
    assert scene.ask("/api/orders/withdrawals", about)[0] == 400
    assert scene.ask("/api/orders", {"action": "stop", "subject": "crawl", "target": "nobody's"})[0] == 400


def test_a_paused_crawl_is_shown_as_paused(scene: Scene) -> None:
    """With its figures, and with who paused it and why."""
    about = {"action": "pause", "subject": "crawl", "target": CRAWL}
    scene.ask("/api/orders", {**about, "reason": "lunch"})
    try:
        [crawl] = [each for each in scene.ask("/api/crawls")[1]["crawls"] if each["crawl"]["name"] == CRAWL]
        assert (crawl["state"], crawl["figures"]["queued"], crawl["orders"][0]["reason"]) == ("paused", 7, "lunch")
    finally:
        scene.ask("/api/orders/withdrawals", about)


@pytest.mark.parametrize("endpoint", [each for each in ENDPOINTS if each.changes], ids=lambda each: str(each.path))
def test_forged_requests_change_nothing(scene: Scene, endpoint: Any) -> None:
    """Without the token, from another site, by a rebound name or as a form: refused, and nothing is in force."""
    question = QUESTIONS[endpoint.method, endpoint.path]
    before = scene.ask("/api/orders")[1]
    assert scene.ask(endpoint.path, question, {"Authorization": "Bearer wrong"})[0] == 401
    assert scene.ask(endpoint.path, question, {"Authorization": ""})[0] == 401
    assert scene.ask(endpoint.path, question, {"Origin": "https://evil.test"})[0] == 403
    assert scene.ask(endpoint.path, question, {"Host": "evil.test"})[0] == 403
    assert scene.ask(endpoint.path, question, {"Content-Type": "text/plain"})[0] == 400
    assert scene.ask("/api/orders")[1] == before


def test_every_answer_forbids_what_the_page_does_not_need(scene: Scene) -> None:
    """Scripts and styles of ours alone, no frame around us, nothing kept: on pages, data and errors alike."""
    parts = urlsplit(scene.url)
    for path, status in (
        ("/", 200),
        ("/api/overview", 200),
        ("/api/no", 404),
        ("/../x.py", 404),
        ("/__init__.py", 404),
    ):
        connection = HTTPConnection(str(parts.hostname), parts.port or 0, timeout=10)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == status
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        connection.close()


def test_what_the_monitor_sees_is_metrics_too(scene: Scene) -> None:
    """Lag of each group and topic, members, workers and findings: what scaling and alerts look at."""
    text = urllib.request.urlopen(f"{scene.health}/metrics", timeout=10).read().decode()
    assert 'odradek_group_lag_records{group="odradek-fetchers",topic="urls"}' in text
    assert 'odradek_workers{stage="frontier",state="alive"} 1.0' in text
    assert 'odradek_findings{kind="one_host"} 1.0' in text
    assert "odradek_frontier_queued_urls 7.0" in text


def test_no_secret_leaves_through_the_settings(scene: Scene) -> None:
    """The token that we just used stands in no answer."""
    for path in ("/api/settings", "/api/overview", "/api/workers"):
        assert scene.token not in json.dumps(scene.ask(path)[1])
