"""``odradek try``: what the cleaner makes of one page, without Kafka and without fetching."""

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from infra.errors import UserError
from infra.settings import load
from schemas.records import Document, Page
from schemas.url import InvalidUrl, canonicalize, url_id
from streams import maintext, markup
from streams.charset import decode
from streams.clean import MAX_BODY_BYTES, Opened, Way, finish, open_page
from streams.markdown import markdown as as_markdown

_SHOWN_CHARS = 2_000


def try_page(
    source: Annotated[str, typer.Argument(help="A file with the page as it was sent; - reads standard input.")],
    url: Annotated[str, typer.Option(help="Where the page was found: its links are relative to it.")],
    content_type: Annotated[str, typer.Option(help="As the server sent it.")] = "text/html",
    json_output: Annotated[bool, typer.Option("--json", help="The document and what led to it as one object.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Only the main text, as Markdown.")] = False,
) -> None:
    """Clean one page and show the document, where each field comes from, and the links that would be followed.

    Exit codes: 0 cleaned, 2 no such file or no such URL.
    """
    body = _read(source)
    try:
        found = canonicalize(url)
    except InvalidUrl as error:
        raise UserError(f"{url} is no URL that could be crawled: {error}") from None
    now = datetime.now(UTC)
    page = Page(
        fetch_id="try", crawl="try", url=found.href, url_id=url_id(found.href), host=found.host, visit=0, depth=0,
        hops=0, parent=None, fetched_at=now, status=200,
        head=f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n".encode("latin-1", "replace"), body=body, cut=None,
    )  # fmt: skip
    opened = open_page(page)
    if markdown:
        sys.stdout.write(_markdown(opened) + "\n")
        return
    start_s = time.process_time()
    document, follow = finish(opened, Way(load().identity.robots_token, obey=True), now)
    cpu_ms = round((time.process_time() - start_s) * 1_000, 3)
    if json_output:
        shown = _fields(document) | {
            "follow": [each.href for each in follow],
            "costly": opened.costly,
            "cpu_ms": cpu_ms,
        }
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
        return
    _show(document, len(follow), cpu_ms)


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


def _fields(document: Document) -> dict[str, object]:
    """As JSON has them: times in ISO 8601, digests in hexadecimal digits."""
    plain = document.model_dump(exclude={"fetch_id", "crawl", "visit", "depth", "parent"})
    return {
        name: value.hex() if isinstance(value, bytes) else value.isoformat() if isinstance(value, datetime) else value
        for name, value in plain.items()
    }


def _show(document: Document, follow: int, cpu_ms: float) -> None:
    for name, value in _fields(document).items():
        if name == "text" or value in (None, [], {}):
            continue
        source = document.sources.get(name)
        shown = f"{len(value)}, first {value[0]!r}" if isinstance(value, list) and name != "flags" else value
        sys.stdout.write(f"{name:13} {shown}{f'   ({source})' if source else ''}\n")
    sys.stdout.write(f"{'followed':13} {follow} of {len(document.links)} links\n{'cpu_ms':13} {cpu_ms}\n\n")
    sys.stdout.write(document.text[:_SHOWN_CHARS] + ("\n...\n" if len(document.text) > _SHOWN_CHARS else "\n"))
