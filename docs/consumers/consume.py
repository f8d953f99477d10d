"""Read ``documents`` knowing nothing of Odradek but ``asyncapi.json``: a line of JSON for each document.

pip install confluent-kafka fastavro
python consume.py 127.0.0.1:9092 asyncapi.json [REGISTRY_URL]
"""

import io
import json
import struct
import sys
import urllib.request
from pathlib import Path

from confluent_kafka import Consumer
from fastavro import parse_schema, schemaless_reader

SINGLE_OBJECT = b"\xc3\x01"
CONFLUENT = b"\x00"


class Documents:
    """Turns the bytes of any version, in either framing, into the version that this program was made for."""

    def __init__(self, published: Path, registry: str = "") -> None:
        message = json.loads(published.read_text())["components"]["messages"]["document"]
        self._reader = parse_schema(message["payload"]["schema"])
        # On the wire a fingerprint is little-endian; the names of the versions are the same bytes in hex.
        self._writers = {bytes.fromhex(name): parse_schema(each) for name, each in message["x-released"].items()}
        self._registry = registry
        self._registered: dict[int, object] = {}

    def read(self, value: bytes) -> dict[str, object]:
        """The document. Raises KeyError for a version that is newer than the published file: fetch a new one."""
        if value[:2] == SINGLE_OBJECT:
            writer, body = self._writers[value[2:10]], value[10:]
        elif value[:1] == CONFLUENT:
            writer, body = self._of_registry(*struct.unpack(">I", value[1:5])), value[5:]
        else:
            raise ValueError("no record of this topic")
        document = schemaless_reader(io.BytesIO(body), writer, self._reader)
        if not isinstance(document, dict):
            raise TypeError("no document")
        return document

    def _of_registry(self, schema_id: int) -> object:
        if schema_id not in self._registered:
            with urllib.request.urlopen(f"{self._registry}/schemas/ids/{schema_id}", timeout=10) as answer:  # noqa: S310
                self._registered[schema_id] = parse_schema(json.loads(json.load(answer)["schema"]))
        return self._registered[schema_id]


def main(bootstrap_servers: str, published: str, registry: str = "") -> None:
    """Read from the beginning, for ever."""
    documents = Documents(Path(published), registry)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "example-python", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["documents"])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        value = message.value()
        if not isinstance(value, bytes):
            continue
        try:
            document = documents.read(value)
        except (KeyError, ValueError) as error:
            print(f"skipped {message.partition()}/{message.offset()}: {error!r}", file=sys.stderr, flush=True)
            continue
        print(json.dumps({each: document[each] for each in ("url", "title", "words")}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
