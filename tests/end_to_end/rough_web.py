"""Two hundred hosts of every kind that a crawl meets, as a pure function; and what a polite crawl must find there.

Each host is a binary tree of pages. By the last digit of its number it is, beside that:

====== ===================================================================================================
digit  what it does
====== ===================================================================================================
4      forbids ``/private`` in its robots.txt, and links to it from every page
5      asks for a longer delay in its robots.txt
6      answers each page with 429 and Retry-After the first time
7      links to its next neighbour's pages by way of redirects
8      has a calendar without end
9      is dead: nobody listens
====== ===================================================================================================
"""

from collections import Counter
from typing import NamedTuple

from site_server import NOT_FOUND, Answer

HOSTS = 200
DELAY_S, LONGER_DELAY_S = 1.0, 1.5
MAX_DEPTH = 12
DEAD_PORT = 9


class RoughWeb:
    """The web; it counts how often a page was asked for, because some answer well only the second time."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.asked: Counter[tuple[str, str]] = Counter()

    def respond(self, host: str, path: str) -> Answer:
        """What the host answers."""
        self.asked[host, path] += 1
        digit = _number(host) % 10
        if path == "/robots.txt":
            return _robots(digit)
        name, _, digits = path.strip("/").partition("-")
        if not digits.isdigit():
            return NOT_FOUND
        if name == "go" and digit == 7:
            target = f"http://{_name(_number(host) + 1)}:{self.port}/page-{digits}"
            return Answer(302, "text/plain", b"", {"Location": target})
        if name == "month" and digit == 8:
            return _page(f"Month {digits}", [f"/month-{int(digits) + 1}"])
        if name not in ("page", "private") or int(digits) >= self.pages:
            return NOT_FOUND
        if digit == 6 and self.asked[host, path] == 1:
            return Answer(429, "text/plain", b"slowly", {"Retry-After": "1"})
        return _page(f"Page {digits}", self._links(digit, int(digits)))

    port = 0
    """Where it is served; links across hosts name it."""

    def _links(self, digit: int, number: int) -> list[str]:
        links = [f"/page-{n}" for n in (2 * number + 1, 2 * number + 2, 0, number) if n < self.pages]
        links += {4: [f"/private-{number}"], 7: [f"/go-{number}"], 8: ["/month-1"]}.get(digit, [])
        return links

    def seeds(self) -> list[str]:
        """The first page of each host."""
        return [f"http://{_name(n)}:{DEAD_PORT if n % 10 == 9 else self.port}/page-0" for n in range(HOSTS)]

    def expected(self) -> set[str]:
        """Every page of every host that lives, but for the calendars."""
        living = [n for n in range(HOSTS) if n % 10 != 9]
        return {f"http://{_name(n)}:{self.port}/page-{page}" for n in living for page in range(self.pages)}


class Months(NamedTuple):
    """What was found of the calendars: a crawl may give up at any month, and must at its depth."""

    by_host: Counter[str]
    others: set[str]


def months(urls: set[str]) -> Months:
    """Take the pages of the calendars apart from the rest."""
    found = {url for url in urls if "/month-" in url}
    return Months(Counter(url.partition("/month-")[0] for url in found), urls - found)


def delay_s(host: str) -> float:
    """What has to pass between two requests to the host."""
    return LONGER_DELAY_S if _number(host) % 10 == 5 else DELAY_S


def _number(host: str) -> int:
    return int(host.removeprefix("h").partition(".")[0])


def _name(number: int) -> str:
    return f"h{number}.test"


def _robots(digit: int) -> Answer:
    rules = {4: "Disallow: /private", 5: f"Crawl-delay: {LONGER_DELAY_S}"}.get(digit)
    return NOT_FOUND if rules is None else Answer(200, "text/plain", f"User-agent: *\n{rules}\n".encode())


def _page(title: str, links: list[str]) -> Answer:
    body = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return Answer(200, "text/html", f"<title>{title}</title><p>{body}</p>".encode())
