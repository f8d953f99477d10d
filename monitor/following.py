"""Read ``fetches`` and ``dead-letters`` as they come, into what is known of hosts and letters."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from infra.errors import RetryLater
from infra.kafka.follower import Follower
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from monitor.hosts import HostTable
from monitor.letters import Letters
from schemas.letters import DeadLetter, Resolution
from schemas.records import Fetch
from schemas.wire import Undecodable, decode

BACK = 5_000
"""Records of each partition from before the monitor was there."""
WAIT = timedelta(milliseconds=500)
AGAIN = timedelta(seconds=2)


async def follow(settings: Settings, hosts: HostTable, letters: Letters, stopping: asyncio.Event) -> None:
    """Follow until ``stopping``; begin again when Kafka does not answer. What is known is changed in the loop alone."""
    topics = [TopicName.FETCHES, TopicName.DEAD_LETTERS]
    while not stopping.is_set():
        try:
            follower = await asyncio.to_thread(Follower, settings, "monitor-follower", topics, BACK)
        except RetryLater:
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), AGAIN.total_seconds())
            continue
        try:
            while not stopping.is_set():
                for record in await asyncio.to_thread(follower.read, WAIT):
                    take(record, hosts, letters)
        finally:
            await asyncio.to_thread(follower.close)


def take(record: Inbound, hosts: HostTable, letters: Letters) -> None:
    """Count one record; what cannot be read is the sinks' to complain about."""
    if record.topic == TopicName.FETCHES:
        with suppress(Undecodable):
            hosts.add(decode(Fetch, record.value))
        return
    try:
        letters.add(decode(DeadLetter, record.value))
    except Undecodable:
        # Behind a letter stands what became of it.
        with suppress(Undecodable):
            letters.resolve(decode(Resolution, record.value))
