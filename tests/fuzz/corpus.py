"""What a fuzzer begins with: small pages that have a little of everything, as they are and coded."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import brotli

from infra.devstack import demo

_PAGE = b"""<!doctype html><html lang=de><meta charset=windows-1252><base href=/b/><title>T &amp; t</title>
<meta property=og:image content=i.png><meta http-equiv=refresh content="0;url=/r"><meta name=robots content=nofollow>
<link rel=canonical href=/c><script type=application/ld+json>{"@type":"Article","author":{"name":"A"},
"datePublished":"2024-01-02T03:04:05+01:00"}</script><nav><a href=/n>n</a></nav><article class=post-content><h1>H</h1>
<time pubdate datetime=2024-01-02>t</time><p>A sentence. <b>Bold</b> <i>and</i> <a href="?q=1#f" rel=nofollow>link</a>
<ul><li>one<li>two</ul><pre>code</pre><table><tr><td>1,5<td>2</table><img srcset="a 1x, b 2x"><blockquote>q</blockquote>
</article><form><select><option>o</select><button>b</button></form><frameset><frame src=/f></frameset><!-- c -->"""
_RULES = b"""[a]
hosts = ["*.test"]
urls = "/x/"
fields.p = { css = "p", type = "number", transforms = [{ regex = "(\\\\d+)" }, { map = { a = "b" } }] }
"""


def seeds() -> Iterator[bytes]:
    """Bytes to begin with, for every target."""
    pages = [_PAGE, *(demo.respond(demo.HOSTS[0], f"/page/{number}", 80).body[:4_000] for number in range(1, 4))]
    for page in pages:
        yield b"\0" + page
        yield b"\0\0" + gzip.compress(page, mtime=0)
        yield b"\3\0" + brotli.compress(page, quality=1)
        yield b"\2\0" + zlib.compress(page)
    yield _RULES
    yield b'{"url": "http://h.test/", "crawl": "c"}'


def fill(directory: Path) -> None:
    """The seeds as files, where there are none yet."""
    directory.mkdir(parents=True, exist_ok=True)
    if not any(directory.iterdir()):
        for number, seed in enumerate(seeds()):
            (directory / f"seed-{number}").write_bytes(seed)
