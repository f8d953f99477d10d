"""Values as COPY takes them fastest: arrays, times and JSON as text of ours, no type looked up for each of them."""

import json
from datetime import datetime

from sinks.tables import Adapt, Type

NUL, REPLACEMENT = "\0", "\ufffd"
"""PostgreSQL's text holds no NUL; HTML's tokenizer puts the other in its place (WHATWG HTML, 13.2.5)."""


def text(value: str) -> str:
    """The text, every NUL replaced."""
    return value.replace(NUL, REPLACEMENT) if NUL in value else value


def array(values: list[str]) -> str:
    """The literal of an array of text (PostgreSQL 15, 8.15.2): every element quoted."""
    if not values:
        return "{}"
    joined = NUL.join(map(text, values)).replace("\\", "\\\\").replace('"', '\\"')
    return '{"' + joined.replace(NUL, '","') + '"}'


def document(values: dict[str, str]) -> str:
    """A JSON object."""
    return json.dumps({text(name): text(value) for name, value in values.items()}, ensure_ascii=False)


def time(value: datetime) -> str:
    """ISO 8601 with the zone, whatever the server's DateStyle."""
    return value.isoformat()


ADAPT: Adapt = {Type.TEXT: text, Type.TEXTS: array, Type.TEXT_BY_NAME: document, Type.TIME: time}
