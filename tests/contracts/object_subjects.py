"""The sink of objects, held against the contract in the places and formats that it has."""

from pathlib import Path

from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.objects import reading
from sinks.objects.formats import FORMATS
from sinks.objects.place import place_of
from sinks.objects.sink import ObjectsSink
from sinks.tables import TABLES
from tests.contracts.subject import BlockingSubject, Subject
from tests.stores.servers import Servers


class ObjectsSubject(BlockingSubject):
    """What a reader finds: of each key the latest version."""

    def __init__(self, dsn: str, tmp_path: Path, format_: str) -> None:
        settings = Settings(data_dir=tmp_path)
        self.blocking = ObjectsSink(settings, dsn)
        self.sink = self.blocking
        self.place = place_of(settings, dsn)
        self.format = FORMATS[format_]

    def rows(self, topic: TopicName) -> int:
        return len(reading.rows(self.place, TABLES[topic], self.format))

    def texts(self) -> list[str]:
        return [row["text"] for row in reading.rows(self.place, TABLES[TopicName.DOCUMENTS], self.format)]


def parquet_in_a_folder(tmp_path: Path, servers: Servers) -> Subject:
    """Parquet in the data directory."""
    return ObjectsSubject("objects:", tmp_path, "parquet")


def json_lines_in_a_folder(tmp_path: Path, servers: Servers) -> Subject:
    """JSON Lines in a folder of their own."""
    return ObjectsSubject(f"file://{tmp_path}/lines?format=jsonl", tmp_path, "jsonl")


def parquet_in_a_bucket(tmp_path: Path, servers: Servers) -> Subject:
    """Parquet in a bucket of S3."""
    return ObjectsSubject(servers.moto.dsn(servers.moto.new_bucket()), tmp_path, "parquet")
