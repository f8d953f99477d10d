"""An open embedded sink with rows in it, as a test's surroundings."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.clickhouse import endpoint
from sinks.clickhouse.sink import ClickHouseSink
from tests.unit.sinks.sink_samples import block


async def fill(sink: ClickHouseSink) -> None:
    """Twenty of each kind, some of them twice."""
    for topic in (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS):
        await sink.write(topic, [block(topic, range(20))])
        await sink.write(topic, [block(topic, range(5, 10))])


def during_a_crawl(data_dir: Path, visit: Callable[[str], object]) -> None:
    """Call ``visit`` with the door's URL, in a thread, while the sink is open and holds rows."""

    async def scenario() -> None:
        sink = ClickHouseSink(Settings(data_dir=data_dir), "clickhouse:")
        await sink.open()
        try:
            await fill(sink)
            url = endpoint.path(data_dir / "clickhouse").read_text()
            await asyncio.to_thread(visit, url.strip())
        finally:
            await sink.close()

    asyncio.run(scenario())
