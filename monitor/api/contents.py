"""The answers that show what records and rows hold."""

from datetime import datetime

from pydantic import Field

from monitor.api.answers import Answer


class DocumentShown(Answer):
    """One document, its text cut."""

    url: str
    crawl: str
    host: str
    title: str | None
    language: str | None
    status: int
    depth: int
    words: int
    links: int
    flags: list[str]
    fetched_at: datetime
    cleaned_at: datetime
    text: str
    text_cut: bool


class Documents(Answer):
    """Recent documents, the newest first."""

    documents: list[DocumentShown]


class LetterShown(Answer):
    """One dead letter; its value as text, cut, with what is no text replaced."""

    letter_id: str
    stage: str
    reason: str
    error: str
    topic: str
    partition: int
    offset: int
    at: datetime
    state: str = Field(description="open, claimed, requeued or dropped.")
    key: str | None
    value: str | None
    value_bytes: int | None


class LetterKind(Answer):
    """How many letters of one kind came since the monitor began to look."""

    stage: str
    topic: str
    reason: str
    count: int


class DeadLetters(Answer):
    """Recent dead letters, the newest first."""

    kinds: list[LetterKind]
    letters: list[LetterShown]


class Redriven(Answer):
    """What became of the letters that were asked for, by their ids."""

    done: list[str]
    ended: list[str] = Field(description="Requeued or dropped before.")
    busy: list[str] = Field(description="Somebody else is at it.")
    impossible: dict[str, str] = Field(description="And why.")


class ReadyQuery(Answer):
    """A query that many want."""

    name: str
    sql: str
    chart: str


class ReadyQueries(Answer):
    """Queries to begin with."""

    queries: list[ReadyQuery]


class Rows(Answer):
    """What ClickHouse answers."""

    columns: list[str]
    types: list[str]
    rows: list[list[object]]
    cut: bool
    took_s: float
