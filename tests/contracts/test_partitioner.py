"""One partitioner for all: a host's links, results and requests must meet on one partition."""

import ast
import asyncio
import random
from pathlib import Path

import pytest
from aiokafka.partitioner import DefaultPartitioner
from confluent_kafka import Consumer, TopicPartition

from infra.kafka.clients import PARTITIONER, consumer_config, producer_config
from infra.kafka.partitioner import partition_of
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("infra", "frontier", "fetchers", "streams", "sinks", "monitor")


def keys() -> list[bytes]:
    """500 hosts and ids."""
    dice = random.Random(1)
    hosts = [f"{dice.getrandbits(40):x}.example.test:{dice.randrange(9_000)}".encode() for _ in range(250)]
    return hosts + [dice.randbytes(16) for _ in range(250)]


def test_our_producer_places_keys_as_faust_does(kafka_settings: Settings) -> None:
    """500 keys land where aiokafka, which Faust stands on, would put them."""
    wanted = keys()
    asyncio.run(Producer(kafka_settings, "test").deliver(Outbound(TopicName.EVENTS, key, b"") for key in wanted))
    consumer = Consumer(consumer_config(kafka_settings, "test", "partitioner-test"))
    partitions = sorted(consumer.list_topics(TopicName.EVENTS, 10).topics[TopicName.EVENTS].partitions)
    consumer.assign([TopicPartition(TopicName.EVENTS, number, 0) for number in partitions])
    found: dict[bytes, int] = {}
    while not found.keys() >= set(wanted):
        for message in consumer.consume(1_000, 10):
            key, partition = message.key(), message.partition()
            if isinstance(key, bytes) and partition is not None:
                found[key] = partition
    consumer.close()
    theirs = DefaultPartitioner()
    assert {key: found[key] for key in wanted} == {key: theirs(key, partitions, partitions) for key in wanted}


def test_every_producer_has_the_one_configuration() -> None:
    """No module but the owner of the client makes a producer, and the owner's has the partitioner."""
    settings = Settings(kafka_bootstrap_servers="127.0.0.1:1")
    assert producer_config(settings, "test")["partitioner"] == PARTITIONER == "murmur2_random"
    makers = {
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module in ("confluent_kafka", "aiokafka")
        and any("Producer" in name.name for name in node.names)
    }
    assert makers == {"infra/kafka/producer.py"}


@pytest.mark.parametrize("client", [{"partitioner": "consistent"}])
def test_a_setting_cannot_change_the_partitioner(client: dict[str, str]) -> None:
    """Whatever librdkafka settings a user adds, keys go where all others put them."""
    settings = Settings.model_validate({"kafka_bootstrap_servers": "127.0.0.1:1", "kafka": {"client": client}})
    assert producer_config(settings, "test")["partitioner"] == PARTITIONER


@pytest.mark.parametrize("partitions", [1, 8, 64])
def test_we_know_where_a_key_stands(partitions: int) -> None:
    """Who looks for a host's records without a broker's help looks at the partition that the clients chose."""
    theirs, numbers = DefaultPartitioner(), list(range(partitions))
    samples = [*keys(), b"", b"a", b"ab", b"abc", "ä.test".encode()]
    assert [partition_of(key, partitions) for key in samples] == [theirs(key, numbers, numbers) for key in samples]
