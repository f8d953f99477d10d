"""Read what ``/metrics`` of a worker says."""

from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families


class Series(NamedTuple):
    """One time series: a name and its labels, sorted."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()

    def label(self, name: str) -> str:
        """The value of a label; empty where the series has none of that name."""
        return dict(self.labels).get(name, "")


def read(text: str) -> Mapping[Series, float]:
    """Every sample of the text. Raises :class:`ValueError` when it is no exposition."""
    return {
        Series(sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
