"""What is answered: the shape of each endpoint's JSON."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field, RootModel

from schemas.orders import Action, Subject
from schemas.records import Crawl


class Answer(BaseModel):
    """The base of all."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Trouble(Answer):
    """Why there is no answer."""

    error: str


class FindingShown(Answer):
    """One thing that is wrong, or explains why less happens than could."""

    kind: str
    severe: bool
    title: str
    text: str
    advice: str
    view: str


class PointShown(Answer):
    """A moment of the graphs; rates are per second since the moment before."""

    at: datetime
    rates: dict[str, float]
    lag: dict[str, int] = Field(description="Records behind, by consumer group.")
    queued: int
    leased: int
    hosts: int
    p50_s: float | None
    p95_s: float | None


class Overview(Answer):
    """The whole pipeline at a glance."""

    at: datetime | None = Field(description="Of the newest look; null before the first.")
    age_s: float | None
    rates: dict[str, float] = Field(description="Per second, over the last minute.")
    p50_s: float | None = Field(description="Of a fetch, over the last minute.")
    p95_s: float | None
    frontier: dict[str, int]
    stages: dict[str, int] = Field(description="Living workers.")
    disk_free: dict[str, float]
    findings: list[FindingShown]
    history: list[PointShown]


class WorkerShown(Answer):
    """One worker."""

    worker: str
    stage: str
    state: str
    ready: bool
    silent_s: float
    started_at: datetime
    url: str
    partitions: list[int]
    counts: dict[str, int]
    memory_bytes: float | None
    metrics_error: str | None


class MemberShown(Answer):
    """One member of a consumer group."""

    client: str
    host: str
    partitions: dict[str, list[int]]


class GroupShown(Answer):
    """One consumer group."""

    group: str
    state: str
    lag: dict[str, int]
    members: list[MemberShown]


class TopicShown(Answer):
    """One topic."""

    topic: str
    records: int
    end: int
    partitions: int
    retention_hours: int | None
    note: str


class Workers(Answer):
    """Everybody who works."""

    workers: list[WorkerShown]
    groups: list[GroupShown]
    topics: list[TopicShown]


class OrderShown(Answer):
    """One order in force."""

    version: int
    action: Action
    subject: Subject
    target: str
    amount: float | None
    reason: str | None
    by: str
    ordered_at: datetime


class Orders(Answer):
    """The orders in force."""

    orders: list[OrderShown]


class CrawlShown(Answer):
    """One crawl."""

    crawl: Crawl
    state: str
    figures: dict[str, int]
    orders: list[OrderShown]


class Crawls(Answer):
    """All crawls that are defined, the newest first."""

    crawls: list[CrawlShown]


class HostShown(Answer):
    """One host: what waits for it, and how its fetches ended since the monitor began to look."""

    host: str
    queued: int
    outstanding: int
    delay_s: float | None
    wait_s: float | None
    failures: int
    robots_failures: int
    given_up: str | None
    fetches: int
    pages: int
    errors: int
    body_bytes: int
    mean_s: float | None
    last_outcome: str | None
    last_status: int | None
    last_error: str | None
    last_at: datetime | None
    orders: list[OrderShown]


class Hosts(Answer):
    """Some hosts."""

    known: int = Field(description="Hosts of which figures are kept.")
    hosts: list[HostShown]


class FactShown(Answer):
    """One thing that is known of a URL."""

    at: datetime | None = Field(description="Null for what holds now.")
    source: str
    text: str


class Explained(Answer):
    """The whole life of a URL."""

    url: str
    crawl: str
    facts: list[FactShown]


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


class Target(Answer):
    """The metrics of some workers of one stage."""

    targets: list[str]
    labels: dict[str, str]


class Targets(RootModel[list[Target]]):
    """Where metrics are, as Prometheus wants them told (its HTTP service discovery)."""


class SettingShown(Answer):
    """One setting in force."""

    name: str
    value: str
    origin: str
    about: str = ""


class SettingsShown(Answer):
    """The settings of the monitor's process, secrets masked."""

    settings: list[SettingShown]
