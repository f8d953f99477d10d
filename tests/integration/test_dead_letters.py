"""Dead letters on a real Kafka: sent again once, whatever dies in between."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from infra.cli import build
from infra.dead_letters.ledger import CLAIM
from infra.dead_letters.originals import REQUEUED
from infra.dead_letters.redrive import Redrive, Report
from infra.dead_letters.selection import Selection
from infra.errors import NeverValid, UserError
from infra.kafka.admin import Topics
from infra.kafka.dead_letters import dead_letter
from infra.kafka.inbound import Inbound
from infra.kafka.partition_reader import records_between
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.letters import DeadLetter, LetterState
from schemas.wire import decode, encode


class Scene:
    """Letters of a stage that no other test has."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.stage = f"test-{uuid4().hex[:12]}"
        self.wanted = Selection(stage=self.stage)

    def send(self, *records: Outbound) -> None:
        """Into Kafka."""
        assert Producer(self.settings, "test").send_all(records, timedelta(seconds=30)) == []

    def bury(self, count: int = 3, **changes: object) -> list[Inbound]:
        """So many letters about records of ``events``; the records."""
        mark = self.stage.encode()
        records = [
            Inbound("events", 1, 10**12 + each, mark, b"\xff %d of " % each + mark, {"traceparent": b"00-1"}, 0)
            for each in range(count)
        ]
        for record in records:
            made = dead_letter(self.stage, record, NeverValid("undecodable", "not even bytes"), 2)
            self.send(made._replace(value=encode(decode(DeadLetter, made.value).model_copy(update=changes))))
        return records

    def back(self, topic: TopicName = TopicName.EVENTS) -> list[Inbound]:
        """The records of this scene that stand in the topic, in order of their values."""
        count = Topics(self.settings).partition_counts()[topic]
        found = [each for number in range(count) for each in records_between(self.settings, topic, number)]
        mine = (each for each in found if each.value and self.stage.encode() in each.value)
        return sorted(mine, key=lambda each: each.value or b"")

    def run(self, later: timedelta = timedelta(0)) -> Redrive:
        """A run of the command, at a later time if need be."""
        return Redrive(self.settings, "somebody", lambda: datetime.now(UTC) + later)

    def requeue(self, run: Redrive) -> Report:
        return run.resolve(self.wanted.of(run.ledger), LetterState.REQUEUED)


@pytest.fixture
def scene(kafka_settings: Settings) -> Scene:
    """A scene without letters."""
    return Scene(kafka_settings)


def test_a_record_comes_back_as_it_was(scene: Scene) -> None:
    """Its topic gets the same key, the same bytes and the same headers, with the letter's id beside them."""
    [record] = scene.bury(1)
    report = scene.requeue(scene.run())
    [back] = scene.back()
    assert (back.key, back.value) == (record.key, record.value)
    assert back.headers == {**record.headers, REQUEUED: report.done[0].encode()}


def test_to_requeue_twice_sends_once(scene: Scene) -> None:
    """A second run, and the same run once more, find nothing left to do."""
    scene.bury(3)
    run = scene.run()
    assert len(scene.requeue(run).done) == 3
    for again in (run, scene.run()):
        report = scene.requeue(again)
        assert (report.done, len(report.ended)) == ([], 3)
    assert len(scene.back()) == 3


def _die_before(step: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends when a run begins ``step`` for the n-th time."""
    original: Callable[..., Any] = getattr(Redrive, step)
    calls = 0

    def dying(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == times:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(Redrive, step, dying)


# The calls of one run: write a claim (send 1), look, send the records (2), write the ends: of those sent before (3, of
# none here) and of those sent now (4).
@pytest.mark.parametrize(("step", "times"), [("_sent_before", 1), ("_send", 2), ("_send", 3), ("_send", 4)])
def test_a_run_that_dies_between_two_steps_leaves_nothing_lost_or_doubled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, step: str, times: int
) -> None:
    """At once its letters are busy; after its claim has lapsed another run ends what it began: each record once."""
    scene.bury(3)
    with monkeypatch.context() as patched:
        _die_before(step, times, patched)
        with pytest.raises(KeyboardInterrupt):
            scene.requeue(scene.run())
    assert len(scene.requeue(scene.run()).busy) == 3
    report = scene.requeue(scene.run(later=CLAIM + timedelta(minutes=1)))
    assert len(report.done) + len(report.sent_before) == 3
    assert (len(report.sent_before) == 3) is (step == "_send" and times > 2)
    assert len(scene.back()) == 3


def test_two_runs_at_once_send_each_record_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read the topic before either claims: the first claim in the topic decides."""
    scene.bury(3)
    one, other = scene.run(), scene.run()
    reports = [scene.requeue(one), scene.requeue(other)]
    assert [len(each.done) for each in reports] == [3, 0]
    assert len(reports[1].busy) == 3
    assert len(scene.back()) == 3


def test_a_dropped_letter_is_not_sent(scene: Scene) -> None:
    """It is open no more, and a requeue leaves it alone."""
    scene.bury(2)
    run = scene.run()
    assert len(run.resolve(scene.wanted.of(run.ledger), LetterState.DROPPED).done) == 2
    assert len(scene.requeue(scene.run()).ended) == 2
    assert scene.back() == []


def test_a_record_that_was_too_large_to_keep_is_taken_from_its_source(scene: Scene) -> None:
    """Its topic still has it; where it has not, the letter stays open and the report says why."""
    value = b"large: " + scene.stage.encode()
    scene.send(Outbound(TopicName.EVENTS, b"large", value))
    [source] = scene.back()
    unkept = {"truncated": True, "key": None, "value": None, "partition": source.partition}
    scene.bury(1, letter_id=f"kept-{scene.stage}", offset=source.offset, **unkept)
    scene.bury(1, letter_id=f"gone-{scene.stage}", offset=10**12, **unkept)
    report = scene.requeue(scene.run())
    assert report.done == [f"kept-{scene.stage}"]
    assert "is gone" in report.impossible[f"gone-{scene.stage}"]
    assert [(each.key, each.value) for each in scene.back()] == [(b"large", value), (b"large", value)]


def _invoke(settings: Settings, words: tuple[str, ...]) -> Result:
    environment = {"KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers or "", "COLUMNS": "300"}
    return CliRunner(env=environment).invoke(build("dead-letters"), ["dead-letters", *words])


def raw(settings: Settings, *words: str) -> bytes:
    """What the command writes, byte for byte."""
    return _invoke(settings, words).stdout_bytes


def command(settings: Settings, *words: str) -> tuple[int, str]:
    """Exit code and output of the command, as a terminal has them."""
    done = _invoke(settings, words)
    if isinstance(done.exception, UserError):
        return 2, str(done.exception)
    return done.exit_code, done.output


def test_the_command_lists_shows_requeues_and_drops(scene: Scene) -> None:
    """Each subcommand by its options, for people and as JSON."""
    records = scene.bury(3)
    mine = ("--stage", scene.stage)
    code, text = command(scene.settings, "list", *mine)
    assert (code, text.count("undecodable"), text.count("not even bytes")) == (0, 3, 3)
    listed = json.loads(command(scene.settings, "list", *mine, "--json")[1])
    letter_id = listed[0]["letter_id"]
    assert [each["state"] for each in listed] == ["open"] * 3
    assert "not even bytes" in command(scene.settings, "show", letter_id)[1]
    assert raw(scene.settings, "show", letter_id, "--value") in [each.value for each in records]
    assert json.loads(command(scene.settings, "show", letter_id, "--json")[1])["headers"] == {"traceparent": "00-1"}
    assert command(scene.settings, "requeue", letter_id, *mine) == (0, "1 requeued\n")
    assert json.loads(command(scene.settings, "drop", *mine, "--json")[1])["ended"] == [letter_id]
    assert command(scene.settings, "list", *mine) == (0, "no dead letter\n")
    states = [each["state"] for each in json.loads(command(scene.settings, "list", "--all", *mine, "--json")[1])]
    assert sorted(states) == ["dropped", "dropped", "requeued"]
    assert len(scene.back()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("requeue",), "say which"),
        (("drop", "--since", "yesterday"), "no ISO 8601 time"),
        (("list", "--host", "a b"), "no host"),
        (("show", "ffff-no-such"), "no dead letter"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(scene: Scene, words: tuple[str, ...], said: str) -> None:
    """Mistakes of the user end with exit code 2 and a sentence."""
    code, text = command(scene.settings, *words)
    assert code == 2
    assert said in text
