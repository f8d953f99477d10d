"""A record of each kind with a value in every field."""

import types
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

from schemas.records import Record
from schemas.wire import CONTRACTS

MODELS = sorted(CONTRACTS, key=lambda model: model.__name__)
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


def example(model: type[Record]) -> Record:
    """A record with a value in every field."""
    return model.model_validate({name: _value(field.annotation) for name, field in model.model_fields.items()})


def _value(kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        return _value(next(each for each in get_args(kind) if each is not type(None)))
    if get_origin(kind) is list:
        return [_value(get_args(kind)[0])]
    if get_origin(kind) is dict:
        return {"name": _value(get_args(kind)[1])}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return next(iter(kind))
    return {str: "text", int: 7, float: 1.5, bool: True, bytes: b"\x00\xff", datetime: NOW}[kind]
