"""How long a batch waits that has to be tried again."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from infra.agents import settling
from infra.agents.agent import Agent
from infra.agents.settling import LONGEST_WAIT, GivenUp, Settler
from infra.errors import RetryLater
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.event import Event
from infra.telemetry.vocabulary.running import BatchRetried

RECORD = Inbound("documents", 0, 0, None, b"", {}, 0)


@pytest.mark.parametrize("asked", [None, timedelta(minutes=7)])
def test_who_refuses_a_batch_may_say_when_to_come_back(
    asked: timedelta | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait is the one that was asked for, else a back-off with a limit; a worker that closes waits no longer."""
    waits: list[float] = []

    async def refuse(_batch: Sequence[Inbound]) -> None:
        raise RetryLater("busy", asked)

    async def scenario() -> None:
        closing = asyncio.Event()

        def note(event: Event) -> None:
            if isinstance(event, BatchRetried):
                waits.append(event.wait_s)
                closing.set()

        monkeypatch.setattr(settling, "emit", note)
        agent = Agent("test", TopicName.DOCUMENTS, refuse, 10, timedelta(0))
        settler = Settler(agent, Producer(Settings(kafka_bootstrap_servers="127.0.0.1:9"), "test"))
        with pytest.raises(GivenUp):
            await settler.settle([RECORD], closing)

    asyncio.run(scenario())
    [wait_s] = waits
    assert wait_s == 7 * 60 if asked else 0 < wait_s <= LONGEST_WAIT.total_seconds()
