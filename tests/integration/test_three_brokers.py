"""Three brokers, two of which have to have a record: ``kill -9`` of brokers loses nothing that was acknowledged."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from infra.devstack.kafka import EmbeddedKafka, three_brokers
from infra.kafka.admin import Topics
from infra.kafka.partition_reader import PartitionReader
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import KafkaSettings, Settings

PARTITIONS = 3
ANSWERS = timedelta(seconds=90)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[EmbeddedKafka]]:
    """Three brokers that answer."""
    with three_brokers(tmp_path / "cluster") as brokers:
        yield brokers


def settings_of(brokers: list[EmbeddedKafka], data_dir: Path) -> Settings:
    """Settings that name all of them."""
    return Settings(
        data_dir=data_dir,
        kafka=KafkaSettings(partitions=PARTITIONS, replication_factor=3),
        kafka_bootstrap_servers=",".join(each.bootstrap_servers for each in brokers),
    )


def values(settings: Settings) -> list[bytes]:
    """Everything that ``urls`` holds."""
    found: list[bytes] = []
    for partition in range(PARTITIONS):
        reader = PartitionReader(settings, "test", TopicName.URLS, partition)
        for batch in reader.read(reader.start):
            found += [record.value or b"" for record in batch]
        reader.close()
    return found


async def send(producer: Producer, name: str) -> list[bytes]:
    """Deliver 300 records, each to be acknowledged; what they are."""
    sent = [f"{name}-{number}".encode() for number in range(300)]
    for batch in range(0, len(sent), 100):
        await producer.deliver(Outbound(TopicName.URLS, value, value) for value in sent[batch : batch + 100])
    return sent


@pytest.mark.timeout(300)
def test_killed_brokers_lose_nothing(cluster: list[EmbeddedKafka], tmp_path: Path) -> None:
    """With one broker of three killed work goes on; with two it waits; afterwards every record is there once."""
    settings = settings_of(cluster, tmp_path)
    admin = Topics(settings)
    admin.create()
    assert admin.drift() == []
    producer = Producer(settings, "test", patient=True)

    async def scene() -> list[bytes]:
        sent = await send(producer, "whole")
        cluster[0].kill()
        sent += await send(producer, "without one")
        # The other one that has the newest records of some partitions: now fewer have them than has to be.
        cluster[1].kill()
        waiting = asyncio.create_task(send(producer, "without two"))
        done, _ = await asyncio.wait({waiting}, timeout=3)
        assert not done, "a record was acknowledged that one broker alone has"
        for each in cluster[:2]:
            await asyncio.to_thread(each.begin)
        return sent + await waiting

    sent = asyncio.run(scene())
    admin.wait_for_leaders(ANSWERS)
    assert sorted(values(settings)) == sorted(sent)
