"""From decoded records to items: values with their types, as the service's own protocol has them."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sinks.sink import Block
from sinks.tables import Adapt, Table, Type, columns

Item = dict[str, dict[str, Any]]

KEY = "id"


def _time(value: datetime) -> dict[str, str]:
    """As wide as each other, so that versions compare as text."""
    return {"S": value.isoformat(timespec="microseconds")}


ADAPT: Adapt = {
    Type.TEXT: lambda value: {"S": value},
    Type.INT: lambda value: {"N": str(value)},
    Type.LONG: lambda value: {"N": str(value)},
    Type.REAL: lambda value: {"N": repr(value)},
    Type.TIME: _time,
    Type.TEXTS: lambda values: {"L": [{"S": value} for value in values]},
    Type.TEXT_BY_NAME: lambda values: {"M": {name: {"S": value} for name, value in values.items()}},
}


def items(table: Table, blocks: Sequence[Block]) -> Iterator[Item]:
    """The item of each record, in order; without the attributes that a record does not have."""
    found = columns(table, blocks, ADAPT)
    # The place in Kafka is no field of a record, so nothing has adapted it.
    found["trace_id"], found["span_id"] = ([{"S": each} for each in found[name]] for name in ("trace_id", "span_id"))
    for name in ("kafka_partition", "kafka_offset"):
        found[name] = [{"N": str(each)} for each in found[name]]
    for row in zip(*found.values(), strict=True):
        item: Item = {name: value for name, value in zip(table.names, row, strict=True) if value is not None}
        item[KEY] = {"S": ":".join(next(iter(item[name].values())) for name in table.key)}
        yield item
