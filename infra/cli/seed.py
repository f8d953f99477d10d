"""``odradek seed``: URLs into Kafka."""

import gzip
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from lxml import etree

from infra.devstack.local import attach
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.producer import Outbound, Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings, load
from schemas.records import DEFAULT_CRAWL, Kind, Seed
from schemas.url import InvalidUrl, canonicalize
from schemas.wire import encode


def seed(
    urls: Annotated[list[str] | None, typer.Argument(help="URLs; `-` reads them from standard input.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="One URL a line; # begins a comment.")] = None,
    sitemap: Annotated[
        str | None, typer.Option(help="A sitemap file (XML, may be gzipped), or the URL of a sitemap or feed.")
    ] = None,
    crawl: Annotated[str, typer.Option(help="The crawl they belong to.")] = DEFAULT_CRAWL,
) -> None:
    """Hand URLs to a running pipeline, by way of the `seeds` topic.

    Nothing is produced unless every URL is usable; the bad ones are named.
    """
    remote = [sitemap] if sitemap is not None and sitemap.startswith(("http://", "https://")) else []
    wanted = list(_gather(urls or [], file, Path(sitemap) if sitemap and not remote else None))
    if not wanted and not remote:
        raise UserError("no URL given: name some, or use --file, --sitemap or `-` for standard input")
    settings, pages, sitemaps = attach(load()), [usable(url) for url in wanted], [usable(url) for url in remote]
    count = send_seeds(settings, pages, crawl) + send_seeds(settings, sitemaps, crawl, Kind.SITEMAP)
    print(f"{count} seed{'s' if count != 1 else ''} for crawl {crawl}")


def usable(text: str) -> str:
    """The canonical form of a URL that a user typed. Raises :class:`UserError`."""
    try:
        return canonicalize(text.strip()).href
    except InvalidUrl as error:
        hint = "; did you mean https://?" if error.reason in ("malformed", "scheme") and "://" not in text else ""
        raise UserError(f"{text!r} cannot be crawled: {error}{hint}") from None


def send_seeds(settings: Settings, urls: list[str], crawl: str, kind: Kind = Kind.PAGE) -> int:
    """Produce the seeds and wait until the broker has them; returns how many. Raises :class:`UserError`."""
    if TopicName.SEEDS not in Topics(settings).partition_counts():
        raise UserError("Kafka lacks the pipeline's topics: run `odradek topics create`")
    records = (Outbound(TopicName.SEEDS, url.encode(), encode(Seed(url=url, crawl=crawl, kind=kind))) for url in urls)
    missing = Producer(settings, "odradek-seed").send_all(records, timedelta(seconds=60))
    if missing:
        raise UserError(f"{len(missing)} of {len(urls)} seeds did not reach Kafka: {missing[0]}")
    return len(urls)


def _gather(urls: list[str], file: Path | None, sitemap: Path | None) -> Iterator[str]:
    for url in urls:
        if url == "-":
            yield from _lines(sys.stdin.read())
        else:
            yield url
    if file is not None:
        yield from _lines(_read(file).decode(errors="replace"))
    if sitemap is not None:
        yield from _sitemap(_read(sitemap), sitemap)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if (url := line.strip()) and not url.startswith("#"):
            yield url


def _sitemap(content: bytes, path: Path) -> Iterator[str]:
    """The page URLs of a sitemap (sitemaps.org protocol 0.9), whatever its namespace."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(content.lstrip(), parser)
    except etree.XMLSyntaxError as error:
        raise UserError(f"{path} is no sitemap: {error}") from None
    if root.getroottree().docinfo.doctype:
        raise UserError(f"{path} has a document type declaration, which no sitemap needs: refused")
    for element in root.iter("{*}loc"):
        if element.text:
            yield element.text.strip()
