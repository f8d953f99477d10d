"""What can be asked: the parameters of each endpoint. A misspelt one is an error."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from schemas.orders import Action, Subject


class Question(BaseModel):
    """The base of all."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Nothing(Question):
    """No parameter."""


class Newest(Question):
    """The newest of something."""

    limit: int = Field(default=50, ge=1, le=500)


class DocumentsWanted(Newest):
    """The newest documents."""

    search: str = Field(default="", max_length=500, description="Text that the URL or the title holds.")


class LettersWanted(Newest):
    """The newest dead letters."""

    topic: str = Field(default="", max_length=100, description="Of this topic alone.")


class HostsWanted(Question):
    """Some hosts."""

    search: str = Field(default="", max_length=255, description="Text that the name holds.")
    sort: Literal["queued", "fetches", "errors", "failures", "mean_s"] = "queued"
    limit: int = Field(default=100, ge=1, le=1_000)


class UrlAsked(Question):
    """One URL."""

    url: str = Field(min_length=1, max_length=10_000)
    crawl: str | None = Field(default=None, max_length=100, description="The newest by default.")


class Ordered(Question):
    """An order to give: see `odradek control`."""

    action: Action
    subject: Subject
    target: str = Field(min_length=1, max_length=2_000)
    amount: float | None = Field(default=None, allow_inf_nan=False)
    reason: str | None = Field(default=None, max_length=500)


class Withdrawn(Question):
    """An order to take back."""

    action: Action
    subject: Subject
    target: str = Field(min_length=1, max_length=2_000)


class Statement(Question):
    """A statement of SQL that reads."""

    sql: str = Field(min_length=1, max_length=100_000)
    limit: int = Field(default=1_000, ge=1, le=10_000, description="Rows at the most.")
