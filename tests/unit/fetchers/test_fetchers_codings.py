"""The content codings of a robots.txt."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from fetchers.codings import MAX_ROBOTS_BYTES, undo

TEXT = b"User-agent: *\nDisallow: /x\n"


def raw_deflate(data: bytes) -> bytes:
    """Deflate without its wrapper, as some servers send it."""
    coder = zlib.compressobj(wbits=-15)
    return coder.compress(data) + coder.flush()


CODERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli.compress),
    ("zstd", zstd.compress),
]


@pytest.mark.parametrize(("name", "code"), CODERS)
def test_each_coding_is_undone(name: str, code: Callable[[bytes], bytes]) -> None:
    """Also cut or not coded at all, as far as there is anything to read."""
    assert undo(code(TEXT), [name]) == TEXT
    assert undo(TEXT, [name]) == TEXT
    assert TEXT.startswith(undo(code(TEXT)[:-6], [name])) or name in {"br", "zstd"}


def test_stacked_codings_and_several_members_are_undone() -> None:
    """The outermost first; more than two codings are nobody's robots.txt."""
    assert undo(brotli.compress(gzip.compress(TEXT)), ["gzip", "br"]) == TEXT
    assert undo(gzip.compress(TEXT) + gzip.compress(TEXT), ["gzip"]) == TEXT * 2
    assert undo(zstd.compress(TEXT) + zstd.compress(TEXT), ["zstd"]) == TEXT * 2
    assert undo(gzip.compress(TEXT), ["gzip"] * 3) == b""


@pytest.mark.parametrize(("name", "code"), CODERS)
def test_a_bomb_unfolds_to_the_limit_alone(name: str, code: Callable[[bytes], bytes]) -> None:
    """Memory follows the limit, not what the body claims."""
    bomb = code(b"a" * 50_000_000)
    tracemalloc.start()
    decoded = undo(bomb, [name])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(decoded) <= MAX_ROBOTS_BYTES
    assert peak < 6 * MAX_ROBOTS_BYTES
