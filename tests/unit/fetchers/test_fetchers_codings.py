"""The content codings of a robots.txt."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from fetchers.codings import MAX_ROBOTS_BYTES, read_robots

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
    """Also where the body is plain text that is only said to be coded."""
    assert read_robots(code(TEXT), [name]) == (TEXT, True)
    assert read_robots(TEXT, [name]) == (TEXT, True)


@pytest.mark.parametrize(("name", "code"), CODERS)
@pytest.mark.parametrize("lost", [1, 6, 12])
def test_a_coding_that_breaks_off_is_not_whole(name: str, code: Callable[[bytes], bytes], lost: int) -> None:
    """What is missing may be what forbids: such a file is no permission, however complete its body is."""
    assert not read_robots(code(TEXT)[:-lost], [name]).is_whole


def test_stacked_codings_and_several_members_are_undone() -> None:
    """The outermost first."""
    assert read_robots(brotli.compress(gzip.compress(TEXT)), ["gzip, br"]) == (TEXT, True)
    assert read_robots(gzip.compress(TEXT) + gzip.compress(TEXT), ["gzip"]) == (TEXT * 2, True)
    assert read_robots(zstd.compress(TEXT) + zstd.compress(TEXT), ["zstd"]) == (TEXT * 2, True)
    assert read_robots(TEXT, ["utf-8"]) == (TEXT, True)
    assert read_robots(TEXT, ["foo"]) == (TEXT, True)


def test_what_cannot_be_undone_is_not_whole() -> None:
    """More codings than anybody needs, codings that nobody knows, a wrong checksum, bytes that are no coding."""
    coded = gzip.compress(TEXT)
    assert not read_robots(coded, ["gzip", "gzip", "gzip"]).is_whole
    assert not read_robots(gzip.compress(gzip.compress(coded)), ["gzip"] * 3).is_whole
    assert not read_robots(b"\x00\x01\x02", ["foo"]).is_whole
    assert not read_robots(b"\x00\x01\x02", ["gzip"]).is_whole
    assert not read_robots(coded[:-8] + b"\0" * 8, ["gzip"]).is_whole
    assert not read_robots(coded[:10] + b"\xff" * 30, ["gzip"]).is_whole


@pytest.mark.parametrize(("name", "code"), CODERS)
def test_a_bomb_unfolds_to_the_limit_alone(name: str, code: Callable[[bytes], bytes]) -> None:
    """Memory follows the limit, not what the body claims."""
    bomb = code(b"a" * 50_000_000)
    tracemalloc.start()
    decoded = read_robots(bomb, [name]).body
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(decoded) <= MAX_ROBOTS_BYTES
    assert peak < 6 * MAX_ROBOTS_BYTES
