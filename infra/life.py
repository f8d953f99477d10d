"""The whole life of one URL, from the topics and from every room that knows something of it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from infra.errors import UserError
from infra.explain import Fact, Question, facts
from infra.kafka.admin import Topics
from infra.kafka.control import Control
from infra.kafka.partition_reader import records_of
from infra.kafka.partitioner import partition_of
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.telemetry.tracing import trace_of
from schemas.letters import DeadLetter
from schemas.orders import Orders, concerns
from schemas.records import Crawl, Decision, Document, Fetch
from schemas.scope import refusal
from schemas.url import InvalidUrl, Url, canonicalize, url_id
from schemas.wire import Undecodable, decode

CLOCKS_DIFFER = timedelta(minutes=10)
"""By how much the clocks of two workers may."""


class Life(NamedTuple):
    """What is known of one URL in one crawl."""

    url: str
    crawl: str
    facts: list[Fact]

    def as_json(self) -> dict[str, object]:
        """For programs."""
        return {"url": self.url, "crawl": self.crawl, "facts": [plain(each) for each in self.facts]}


def parse(url: str) -> Url:
    """The URL in its canonical form. Raises :class:`UserError`."""
    try:
        return canonicalize(url)
    except InvalidUrl as error:
        raise UserError(f"{url!r} is no URL that could be crawled: {error}") from None


def life_of(settings: Settings, url: Url, crawl: Crawl, orders: Orders) -> Life:
    """Ask everybody; ``settings`` name a Kafka that answers."""
    question = Question(settings, url, crawl, orders)
    told = facts(question, {"url": _identity, "events": _decisions, "fetches": _life, "dead-letters": _letters})
    return Life(url.href, crawl.name, told)


def chosen(control: Control, name: str | None) -> Crawl:
    """The crawl of that name, the newest without one. Raises :class:`UserError` when there is none."""
    known = control.known()
    if name is not None and name not in known:
        raise UserError(f"there is no crawl {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
    if not known:
        raise UserError("no crawl is defined: start one with `odradek crawl URL`")
    return known[name] if name else max(known.values(), key=lambda crawl: crawl.created_at)


def plain(fact: Fact) -> dict[str, object]:
    """A fact as JSON has it."""
    at = None if fact.at is None else fact.at.isoformat()
    return {"at": at, "source": fact.source, "text": fact.text, **({"fields": fact.fields} if fact.fields else {})}


def _identity(question: Question) -> Iterator[Fact]:
    url, crawl = question.url, question.crawl
    partitions = Topics(question.settings).partition_counts()[TopicName.LINKS]
    number = partition_of(url.host.encode(), partitions)
    identity = url_id(url.href)
    trace = trace_of(crawl.name, identity, 0).trace_id
    fields = {"url_id": identity.hex(), "host": url.host, "partition": number, "trace_id": trace}
    yield Fact("url", f"{url.href} of host {url.host}, partition {number}, trace {trace}", fields=fields)
    yield Fact("scope", f"crawl {crawl.name}: {scope_of(crawl, url)}")
    for order in question.orders.all:
        if concerns(order, crawl.name, url.host, url.href):
            amount = "" if order.amount is None else f" {order.amount:g}"
            reason = f": {order.reason}" if order.reason else ""
            yield Fact("control", f"{order.action}{amount} {order.subject}:{order.target} by {order.by}{reason}")


def scope_of(crawl: Crawl, url: Url) -> str:
    """Whether the URL belongs to the crawl, in words."""
    anywhere, own = refusal(crawl, "elsewhere.invalid", url, 0), refusal(crawl, url.host, url, 0)
    if own is not None:
        return own.replace("_", " ")
    return (
        "in scope" if anywhere is None else f"in scope as a seed, or where a page of its own {crawl.scope} links to it"
    )


def _records(question: Question, topic: TopicName, key: bytes, since: datetime | None = None) -> Iterator[bytes]:
    partitions = Topics(question.settings).partition_counts().get(topic, 0)
    if partitions:
        for record in records_of(question.settings, topic, key, partitions, since):
            if record.value is not None:
                yield record.value


def _life(question: Question) -> Iterator[Fact]:
    fetches = list(_fetches(question))
    yield from fetches
    if fetches:
        # Documents are large, and none is older than its page.
        yield from _documents(question, min(each.at for each in fetches if each.at) - CLOCKS_DIFFER)


def _fetches(question: Question) -> Iterator[Fact]:
    seen: set[str] = set()
    for value in _records(question, TopicName.FETCHES, question.url.host.encode()):
        try:
            fetch = decode(Fetch, value)
        except Undecodable:
            continue
        if (fetch.crawl, fetch.url) == (question.crawl.name, question.url.href) and fetch.fetch_id not in seen:
            seen.add(fetch.fetch_id)
            yield Fact("fetches", _fetch(fetch), fetch.started_at, _fields(fetch, "body", "url_id"))


def _fetch(fetch: Fetch) -> str:
    status = "" if fetch.status is None else f" {fetch.status}"
    target = f" to {fetch.redirect_to}" if fetch.redirect_to else ""
    error = f": {fetch.error}" if fetch.error else ""
    parent = f", found on {fetch.parent}" if fetch.parent else ", a seed"
    tried = f"visit {fetch.visit}, attempt {fetch.attempt}"
    return f"{fetch.outcome}{status}{target}{error} after {fetch.total_ms:.0f} ms ({tried}{parent}, by {fetch.worker})"


def _decisions(question: Question) -> Iterator[Fact]:
    for value in _records(question, TopicName.EVENTS, question.url.host.encode()):
        try:
            decision = decode(Decision, value)
        except Undecodable:
            continue
        if (decision.crawl, decision.url) == (question.crawl.name, question.url.href):
            detail = f": {decision.detail}" if decision.detail else ""
            text = f"{decision.stage} decided {decision.reason}{detail} (depth {decision.depth})"
            yield Fact("events", text, decision.at, _fields(decision, "url_id"))


def _documents(question: Question, since: datetime) -> Iterator[Fact]:
    for value in _records(question, TopicName.DOCUMENTS, url_id(question.url.href), since):
        try:
            document = decode(Document, value)
        except Undecodable:
            continue
        if document.crawl == question.crawl.name:
            flags = f", {', '.join(document.flags)}" if document.flags else ""
            text = f"{document.title or 'no title'!r}, {document.words:,} words, {len(document.links):,} links{flags}"
            yield Fact("documents", text, document.cleaned_at, {"visit": document.visit, "title": document.title})


def _letters(question: Question) -> Iterator[Fact]:
    """Of its pages and documents, and of records of its host that name it."""
    url, identity = question.url.href.encode(), url_id(question.url.href)
    for key in (identity, question.url.host.encode()):
        for value in _records(question, TopicName.DEAD_LETTERS, key):
            try:
                letter = decode(DeadLetter, value)
            except Undecodable:
                continue
            if key == identity or url in (letter.value or b""):
                place = f"{letter.topic}/{letter.partition}/{letter.offset}"
                text = f"{letter.stage} could not use {place}: {letter.reason}: {letter.error}"
                yield Fact("dead-letters", text, letter.at, {"letter_id": letter.letter_id, "reason": letter.reason})


def _fields(record: Fetch | Decision, *without: str) -> dict[str, object]:
    plain: dict[str, object] = record.model_dump(mode="json", exclude=set(without))
    return plain
