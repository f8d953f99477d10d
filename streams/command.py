"""``odradek try``: what the cleaner makes of one page, without Kafka."""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from infra.errors import UserError
from infra.settings import Settings, load
from infra.terminal import printable
from schemas.records import Document, Fetch, Page
from schemas.url import InvalidUrl, Url, canonicalize, url_id
from streams import maintext, markup
from streams.charset import decode
from streams.clean import finish
from streams.cleaners import installed
from streams.markdown import markdown as as_markdown
from streams.opened import MAX_BODY_BYTES, Opened, Way, open_page
from streams.rules.compiled import NO_RULES
from streams.rules.source import load as load_rules
from streams.sites import Sites

FETCH = "odradek.fetch"
"""Where the room that talks to the web offers to fetch one page."""
_SHOWN_CHARS = 2_000


def try_page(
    source: Annotated[str, typer.Argument(help="A URL; or a file with the page as it was sent, - is standard input.")],
    *,
    url: Annotated[str | None, typer.Option(help="Of a file: where the page was found.")] = None,
    content_type: Annotated[str, typer.Option(help="Of a file: as the server sent it.")] = "text/html",
    rules: Annotated[Path | None, typer.Option(help="Per-site rules: a TOML file or a folder of them.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="The document and what led to it as one object.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Only the main text, as Markdown.")] = False,
) -> None:
    """Clean one page: the document, which source or rule gave which field, and the links that would be followed.

    Exit codes: 0 cleaned, 2 no such file or URL, no page there, or rules that are wrong.
    """
    settings = load()
    chosen = rules or settings.streams.rules
    sites = Sites(load_rules(chosen) if chosen is not None else NO_RULES, installed())
    page, fetch = _fetched(settings, source) if url is None else (_of_file(source, url, content_type), None)
    opened = open_page(page)
    if markdown:
        sys.stdout.write(_markdown(opened) + "\n")
        return
    start_s = time.process_time()
    document, follow = finish(opened, Way(settings.identity.robots_token, obey=True, sites=sites), datetime.now(UTC))
    cpu_ms = round((time.process_time() - start_s) * 1_000, 3)
    if json_output:
        shown = _fields(document) | {
            "fetch": None if fetch is None else _fetch_fields(fetch),
            "follow": [each.href for each in follow],
            "costly": opened.costly,
            "cpu_ms": cpu_ms,
        }
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
        return
    if fetch is not None:
        for name, value in _fetch_fields(fetch).items():
            sys.stdout.write(f"{'fetch.' + name:20} {printable(str(value))}\n")
    _show(document, len(follow), cpu_ms)


def _fetched(settings: Settings, source: str) -> tuple[Page, Fetch]:
    if not source.lower().startswith(("http://", "https://")):
        raise UserError("of a file --url has to say where it was found: its links are relative to it")
    [place] = entry_points(group=FETCH)
    ask: Callable[[Settings, Url], tuple[Page | None, Fetch]] = place.load()
    page, fetch = ask(settings, _canonical(source))
    if page is None:
        more = f" to {fetch.redirect_to}" if fetch.redirect_to else f": {fetch.error}" if fetch.error else ""
        raise UserError(f"{source} gives no page: {fetch.outcome}{more}")
    return page, fetch


def _canonical(url: str) -> Url:
    try:
        return canonicalize(url)
    except InvalidUrl as error:
        raise UserError(f"{url} is no URL that could be crawled: {error}") from None


def _of_file(source: str, url: str, content_type: str) -> Page:
    body, found = _read(source), _canonical(url)
    return Page(
        fetch_id="try", crawl="try", url=found.href, url_id=url_id(found.href), host=found.host, visit=0, depth=0,
        hops=0, parent=None, fetched_at=datetime.now(UTC), status=200,
        head=f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n".encode("latin-1", "replace"), body=body, cut=None,
    )  # fmt: skip


def _read(source: str) -> bytes:
    try:
        body = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise UserError(f"{source} cannot be read: {error.strerror}") from None
    return body[:MAX_BODY_BYTES]


def _markdown(opened: Opened) -> str:
    tree = markup.parse(decode(opened.body, opened.charset, html=True).text)
    title = markup.read(tree, "http://localhost/", "").title
    heading = f"# {title}\n\n" if title else ""
    return heading + as_markdown(maintext.extract(tree, title).blocks)


def _fetch_fields(fetch: Fetch) -> dict[str, object]:
    kept = ("outcome", "status", "protocol", "tls", "remote_address", "content_type", "body_bytes", "cut", "total_ms")
    return {name: value for name in kept if (value := getattr(fetch, name)) is not None}


def _fields(document: Document) -> dict[str, object]:
    """As JSON has them: times in ISO 8601, digests in hexadecimal digits."""
    plain = document.model_dump(exclude={"fetch_id", "crawl", "visit", "depth", "parent"})
    plain["extracted"] = json.loads(document.extracted)
    return {
        name: value.hex() if isinstance(value, bytes) else value.isoformat() if isinstance(value, datetime) else value
        for name, value in plain.items()
    }


def _show(document: Document, follow: int, cpu_ms: float) -> None:
    for name, value in _fields(document).items():
        if name in ("text", "markdown", "extracted", "sources") or value in (None, [], {}):
            continue
        shown = f"{len(value)}, first {value[0]!r}" if isinstance(value, list) and name != "flags" else value
        _line(name, shown, document.sources.get(name))
    for name, value in json.loads(document.extracted).items():
        _line(f"+ {name}", "not found, and required" if value is None else value, document.sources.get(name))
    sys.stdout.write(f"{'followed':13} {follow} of {len(document.links)} links\n{'cpu_ms':13} {cpu_ms}\n\n")
    text = printable(document.text[:_SHOWN_CHARS])
    sys.stdout.write(text + ("\n...\n" if len(document.text) > _SHOWN_CHARS else "\n"))


def _line(name: str, value: object, source: str | None) -> None:
    sys.stdout.write(f"{name:13} {printable(str(value))}{f'   ({printable(source)})' if source else ''}\n")
