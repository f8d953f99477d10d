"""An independent walk of a directory of HTML: the standard library's parser and URL functions, nothing of ours."""

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit


class Found(NamedTuple):
    """What one page holds, for whoever reads it."""

    title: str
    links: list[str]


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = url
        self._in_title = False
        self._title: list[str] = []
        self.links: dict[str, None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag in ("a", "area") and href is not None:
            target = urldefrag(urljoin(self._base, href.strip())).url
            if urlsplit(target).scheme in ("http", "https"):
                self.links.setdefault(target)
        if tag == "title" and not self._title:
            self._in_title = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)

    @property
    def title(self) -> str:
        return " ".join("".join(self._title).split())


def read(url: str, html: str) -> Found:
    """Title and links of one page; the links are absolute, without fragment, each once, in order."""
    reader = _Reader(url)
    reader.feed(html)
    return Found(reader.title, list(reader.links))


class Walk(NamedTuple):
    """Every URL that can be reached from the start."""

    pages: set[str]
    """That are files of a kind that is kept."""
    others: set[str]
    """That are files of other kinds, or missing."""


KEPT = {".html", ".txt", ".xml", ".json", ".pdf"}


def walk(root: Path, origin: str) -> Walk:
    """Follow every link of every page under ``root``, beginning at ``/index.html`` of ``origin``."""
    pages: set[str] = set()
    others: set[str] = set()
    waiting = [f"{origin}/index.html"]
    while waiting:
        url = waiting.pop()
        if url in pages or url in others:
            continue
        path = root / unquote(urlsplit(url).path).lstrip("/")
        if path.is_dir():
            path /= "index.html"
        if not path.is_file() or path.suffix not in KEPT:
            others.add(url)
            continue
        pages.add(url)
        if path.suffix == ".html":
            links = read(url, path.read_text("utf-8", "replace")).links
            waiting += [link for link in links if link.startswith(f"{origin}/")]
    return Walk(pages, others)
