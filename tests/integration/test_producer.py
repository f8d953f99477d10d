"""Delivery means that the broker has it."""

import asyncio
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from infra.errors import NeverValid
from infra.kafka.clients import consumer_config
from infra.kafka.producer import Outbound, Pace, Producer
from infra.kafka.topics import TopicName, all_topics
from infra.settings import Settings


def ends(settings: Settings, topic: TopicName) -> int:
    """Records that the broker has of a topic."""
    consumer = Consumer(consumer_config(settings, "test-ends", uuid4().hex))
    partitions = consumer.list_topics(topic, 10).topics[topic].partitions
    total = sum(consumer.get_watermark_offsets(TopicPartition(topic, number), 10)[1] for number in partitions)
    consumer.close()
    return total


@pytest.mark.parametrize("count", [1, 3_000])
def test_deliver_returns_when_the_broker_has_every_record(kafka_settings: Settings, count: int) -> None:
    """The moment that deliver returns, the topic holds all its records."""
    topic = TopicName.ROBOTS

    async def scenario() -> None:
        producer = Producer(kafka_settings, "test-deliver")
        for _ in range(3):
            before = await asyncio.to_thread(ends, kafka_settings, topic)
            await producer.deliver([Outbound(topic, b"%d" % n, b"x" * 100) for n in range(count)])
            assert await asyncio.to_thread(ends, kafka_settings, topic) == before + count

    asyncio.run(scenario())


def test_concurrent_deliveries_each_wait_for_their_own(kafka_settings: Settings) -> None:
    """Many deliveries at once share their bursts; each ends well."""
    topic = TopicName.ROBOTS

    async def scenario() -> None:
        producer = Producer(kafka_settings, "test-deliver")
        before = await asyncio.to_thread(ends, kafka_settings, topic)
        await asyncio.gather(*(producer.deliver([Outbound(topic, b"k", b"v")] * 3) for _ in range(200)))
        assert await asyncio.to_thread(ends, kafka_settings, topic) == before + 600

    asyncio.run(scenario())


def test_a_record_over_the_limit_is_refused_and_the_others_are_delivered(kafka_settings: Settings) -> None:
    """One record too large for its topic raises NeverValid after the rest was delivered."""
    topic = TopicName.ROBOTS
    large = b"x" * (all_topics()[topic].max_record_bytes + 1)

    async def scenario() -> None:
        producer = Producer(kafka_settings, "test-deliver")
        before = await asyncio.to_thread(ends, kafka_settings, topic)
        with pytest.raises(NeverValid, match="over the limit of topic robots"):
            await producer.deliver(
                [Outbound(topic, b"a", b"1"), Outbound(topic, b"b", large), Outbound(topic, b"c", b"3")]
            )
        assert await asyncio.to_thread(ends, kafka_settings, topic) == before + 2

    asyncio.run(scenario())


def test_the_pace_is_short_for_few_and_long_for_many() -> None:
    """A lone record waits for nothing longer than a short rest; a flood goes in bursts; and back again."""
    pace = Pace()
    short = pace.rest_s(1)
    long = max(pace.rest_s(50) for _ in range(3))
    assert short < long
    assert [pace.rest_s(0) for _ in range(1_000)][-1] == short


def test_the_pace_is_no_longer_than_lateness_allows() -> None:
    """Whoever is late by more than it is told loses more than the requests are worth."""
    pace = Pace()
    assert max(pace.rest_s(1_000, 0.01) for _ in range(10)) == 0.01
    assert pace.rest_s(1_000) > 0.01
