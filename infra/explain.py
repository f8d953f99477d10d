"""What is known of one URL, told by whoever knows it.

Each room that knows something registers a function under the entry point group ``odradek.explainers``; the command
``odradek explain`` asks them all. A fact that holds now has no time; what happened has one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import entry_points

from infra.errors import Failure, UserError
from infra.settings import Settings
from schemas.orders import Orders
from schemas.records import Crawl
from schemas.url import Url

GROUP = "odradek.explainers"


@dataclass(frozen=True)
class Question:
    """Which URL, in which crawl. ``settings`` name a Kafka that answers."""

    settings: Settings
    url: Url
    crawl: Crawl
    orders: Orders


@dataclass(frozen=True)
class Fact:
    """One thing that is known. ``text`` is for people, ``fields`` (as JSON has them) for programs."""

    source: str
    text: str
    at: datetime | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


Explainer = Callable[[Question], Iterable[Fact]]


def facts(question: Question, known: Mapping[str, Explainer]) -> list[Fact]:
    """What ``known`` and every registered explainer tell: what holds now first, then what happened, in its order.

    One that cannot be asked says so in a fact of its own: the others are worth hearing.
    """
    explainers = dict(known) | {each.name: each.load() for each in entry_points(group=GROUP)}
    found: list[Fact] = []
    for name, explain in explainers.items():
        try:
            found += explain(question)
        except (Failure, UserError, OSError, RuntimeError) as error:
            found.append(Fact(name, f"cannot be asked: {error}", fields={"error": str(error)}))
    # What holds now is older than anything that happened.
    return sorted(found, key=lambda fact: fact.at or datetime.min.replace(tzinfo=UTC))
