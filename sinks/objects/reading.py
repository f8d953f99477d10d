"""Read back what the sink wrote: of each key the latest version."""

from collections.abc import Iterator
from typing import Any

from sinks.objects import cdxj, warc
from sinks.objects.formats import Format
from sinks.objects.layout import span_of
from sinks.objects.place import Place
from sinks.tables import PAGES, Key, Table


def rows(place: Place, table: Table, format_: Format) -> list[dict[str, Any]]:
    """The rows of a table, in the order of their objects. All in memory: for one crawl's tables, and for tests."""
    latest: dict[Key, dict[str, Any]] = {}
    for name in objects(place, table, format_.suffix):
        for row in format_.rows(table, place.get(name)):
            key = tuple(row[column] for column in table.key)
            if key not in latest or row[table.version] > latest[key][table.version]:
                latest[key] = row
    return list(latest.values())


def objects(place: Place, table: Table, suffix: str) -> list[str]:
    """The names of a table's objects."""
    return [each for each in place.walk(table.name) if span_of(each, suffix) is not None]


def archives(place: Place) -> Iterator[str]:
    """The archives that are whole: their index is there."""
    return (f"{each.removesuffix(cdxj.SUFFIX)}{warc.SUFFIX}" for each in objects(place, PAGES, cdxj.SUFFIX))
