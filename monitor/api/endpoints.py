"""The table of endpoints: the server, the guard and OpenAPI read it, and nothing else is served under ``/api``."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from monitor.api import answers, changing, newest, questions, reading
from monitor.api.desk import Desk


class Endpoint(NamedTuple):
    """One of them. What changes something is asked by POST; so is what only a caller with the token may cost us."""

    method: Literal["GET", "POST"]
    path: str
    asks: type[questions.Question]
    answers: type[BaseModel]
    run: Callable[[Desk, Any], Awaitable[BaseModel]]

    @property
    def changes(self) -> bool:
        """Whether it wants the token whatever the address."""
        return self.method == "POST"


ENDPOINTS = (
    Endpoint("GET", "/api/overview", questions.Nothing, answers.Overview, reading.overview),
    Endpoint("GET", "/api/workers", questions.Nothing, answers.Workers, reading.workers),
    Endpoint("GET", "/api/crawls", questions.Nothing, answers.Crawls, reading.crawls),
    Endpoint("GET", "/api/hosts", questions.HostsWanted, answers.Hosts, reading.hosts),
    Endpoint("GET", "/api/explain", questions.UrlAsked, answers.Explained, reading.explain),
    Endpoint("GET", "/api/documents", questions.DocumentsWanted, answers.Documents, newest.documents),
    Endpoint("GET", "/api/dead-letters", questions.LettersWanted, answers.DeadLetters, newest.dead_letters),
    Endpoint("GET", "/api/queries", questions.Nothing, answers.ReadyQueries, reading.ready_queries),
    Endpoint("GET", "/api/settings", questions.Nothing, answers.SettingsShown, reading.settings),
    Endpoint("GET", "/api/targets", questions.Nothing, answers.Targets, reading.targets),
    Endpoint("GET", "/api/orders", questions.Nothing, answers.Orders, reading.orders),
    Endpoint("POST", "/api/orders", questions.Ordered, answers.Orders, changing.give),
    Endpoint("POST", "/api/orders/withdrawals", questions.Withdrawn, answers.Orders, changing.withdraw),
    Endpoint("POST", "/api/sql", questions.Statement, answers.Rows, changing.sql),
)
