"""The whole pipeline in Confluent's framing."""

from pathlib import Path

import pytest
from product import crawl, sql

from infra.devstack import demo
from infra.devstack.local import readable
from infra.devstack.registry import memory_registry
from infra.kafka.partition_reader import records_between
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.wire import CONFLUENT


@pytest.mark.timeout(300)
def test_a_crawl_with_a_registry_is_the_same_crawl(tmp_path: Path) -> None:
    """Every page is a row, every record of every stage is written by the registry's numbers."""
    with memory_registry() as (registry, url):
        with crawl(tmp_path, environment={"SCHEMA_REGISTRY_URL": url}) as running:
            running.wait(240)
        assert {"odradek.Document", "odradek.Page", "odradek.Links", "odradek.Fetch"} <= registry.subjects.keys()
    rows = sql(tmp_path, "SELECT url FROM documents")
    port = int(rows[0]["url"].split(":")[2].split("/")[0])
    assert sorted(row["url"] for row in rows) == sorted(demo.pages(port))
    with readable(Settings(data_dir=tmp_path)) as settings:
        topics = (TopicName.LINKS, TopicName.URLS, TopicName.FETCHES, TopicName.PAGES, TopicName.DOCUMENTS)
        firsts = [
            next(
                iter(record.value or b"" for number in range(4) for record in records_between(settings, topic, number))
            )
            for topic in topics
        ]
    assert [each[:1] for each in firsts] == [CONFLUENT] * len(topics)
