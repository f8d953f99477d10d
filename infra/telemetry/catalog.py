"""Every metric, documented: ``python -m infra.telemetry.catalog`` prints ``docs/metrics.md``, from the vocabulary."""

import pkgutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from prometheus_client.metrics import MetricWrapperBase

from infra.telemetry import vocabulary


class Dimension(StrEnum):
    """What a metric is about."""

    INFRASTRUCTURE = "infrastructure"
    SERVICE = "service"
    BUSINESS = "business"
    USER_EXPERIENCE = "user experience"


ABOUT = {
    Dimension.INFRASTRUCTURE: "the machines and processes the pipeline runs on",
    Dimension.SERVICE: "how well its parts work",
    Dimension.BUSINESS: "what it produces",
    Dimension.USER_EXPERIENCE: "what those notice who wait for the result",
}
_NAMES = {
    Dimension.INFRASTRUCTURE: (
        "odradek_connections_opened",
        "odradek_disk_free_ratio",
        "odradek_proxies",
        "odradek_topic_records",
    ),
    Dimension.BUSINESS: (
        "odradek_cut_bodies",
        "odradek_document_",
        "odradek_fetched_bytes",
        "odradek_fetches",
        "odradek_frontier_",
        "odradek_links",
        "odradek_outlinks",
        "odradek_pages_cleaned",
        "odradek_requests_released",
        "odradek_seeds",
        "odradek_sink_bytes",
        "odradek_sink_rows",
        "odradek_spooled_pages",
        "odradek_urls_refused",
        "odradek_visits_ended",
    ),
    Dimension.USER_EXPERIENCE: (
        "odradek_clean_seconds",
        "odradek_fetch_seconds",
        "odradek_fetch_to_row_seconds",
        "odradek_findings",
        "odradek_pipeline_available",
    ),
}
"""What the names of each dimension begin with; what is not named is service."""


class Metric(NamedTuple):
    """One metric, as ``/metrics`` has it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str
    told_by: str

    @property
    def dimension(self) -> Dimension:
        """What it is about."""
        for dimension, beginnings in _NAMES.items():
            if self.name.startswith(beginnings):
                return dimension
        return Dimension.SERVICE


def metrics() -> list[Metric]:
    """Every metric of the vocabulary, by name."""
    modules = [
        import_module(f"{vocabulary.__name__}.{each.name}") for each in pkgutil.iter_modules(vocabulary.__path__)
    ]
    return sorted(metric for module in modules for metric in _of(module))


def _of(module: ModuleType) -> Iterable[Metric]:
    told_by = module.__name__.rpartition(".")[2]
    for value in vars(module).values():
        if isinstance(value, MetricWrapperBase):
            # The library has no public way to ask.
            about: dict[str, Any] = vars(value)
            kind = str(value._type)  # noqa: SLF001
            name = f"{about['_name']}_total" if kind == "counter" else about["_name"]
            yield Metric(name, kind, tuple(about["_labelnames"]), about["_documentation"], told_by)


def page() -> str:
    """The page."""
    lines = [
        "# Metrics",
        "",
        "Written by `make generated` from `infra/telemetry/vocabulary`. Every worker serves its metrics under",
        "`/metrics` of its health port; `running` stands for all stages. There are `process_*` and `python_*` of the",
        "Prometheus client beside them. No label ever holds a URL, a host or the text of an error.",
    ]
    found = metrics()
    for dimension, about in ABOUT.items():
        lines += [
            "",
            f"## {dimension.capitalize()}: {about}",
            "",
            "| metric | kind | labels | told by | |",
            "|---|---|---|---|---|",
        ]
        for each in found:
            if each.dimension is dimension:
                labels = ", ".join(f"`{label}`" for label in each.labels)
                lines.append(f"| `{each.name}` | {each.kind} | {labels} | {each.told_by} | {each.text} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
