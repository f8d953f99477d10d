"""Structured logs: readable on a terminal, JSON otherwise; no secret ever."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from infra.settings import Settings
from infra.telemetry.event import write_from

_USERINFO = re.compile(r"(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:]*(?::[^\s/@]*)?@")
_SECRET_NAME = re.compile(r"password|secret|token|authorization|cookie|api_?key", re.IGNORECASE)


def redact(text: str) -> str:
    """The text without the user info of any URL in it."""
    return _USERINFO.sub(r"\g<scheme>***@", text) if "@" in text else text


def _redact_fields(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in fields.items():
        if _SECRET_NAME.search(name):
            fields[name] = "***"
        elif isinstance(value, str):
            fields[name] = redact(value)
    return fields


def configure(settings: Settings, stage: str, worker: str) -> None:
    """Set up logging for this process, to standard error; libraries that use :mod:`logging` go the same way."""
    as_text = settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact_fields,
    ]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if as_text else structlog.processors.JSONRenderer()
    )
    level = getattr(logging, settings.log_level.upper())
    write_from(settings.log_level)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(stage=stage, worker=worker)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    # Libraries speak up only when something is wrong: their informational lines repeat what our events say.
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
