"""Content codings as servers really send them."""

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from schemas.codings import Decoded, declared, undo

PAGE = b"<html><title>T</title><p>hello body</p></html>" * 20
LIMIT = 1_000_000
GZIPPED = gzip.compress(PAGE)


def wrong_checksum(body: bytes) -> bytes:
    """A gzip member whose data is right and whose checksum is not."""
    coded = bytearray(gzip.compress(body))
    coded[-6] ^= 0xFF
    return bytes(coded)


@pytest.mark.parametrize(
    ("coded", "names", "right"),
    [
        (GZIPPED, ["gzip"], Decoded(PAGE, ())),
        (GZIPPED, ["x-gzip"], Decoded(PAGE, ())),
        (zlib.compress(PAGE), ["deflate"], Decoded(PAGE, ())),
        (zlib.compress(PAGE)[2:-4], ["deflate"], Decoded(PAGE, ())),
        (brotli.compress(PAGE), ["br"], Decoded(PAGE, ())),
        (zstd.compress(PAGE) + zstd.compress(PAGE), ["zstd"], Decoded(PAGE * 2, ())),
        (gzip.compress(GZIPPED), ["gzip", "gzip"], Decoded(PAGE, ())),
        (gzip.compress(GZIPPED), ["gzip"], Decoded(PAGE, ())),
        (GZIPPED, [], Decoded(PAGE, ())),
        (PAGE, ["gzip"], Decoded(PAGE, ("wrong_coding",))),
        (GZIPPED, ["br"], Decoded(PAGE, ("wrong_coding",))),
        (GZIPPED + b"<!-- cached -->", ["gzip"], Decoded(PAGE, ())),
        (wrong_checksum(PAGE), ["gzip"], Decoded(PAGE, ("broken_coding",))),
        (GZIPPED[:-6], ["gzip"], Decoded(PAGE, ("cut_coding",))),
        (PAGE, ["made-up"], Decoded(PAGE, ("unknown_coding",))),
        (b"", ["gzip"], Decoded(b"", ("wrong_coding",))),
    ],
)
def test_what_can_be_read_is_read(coded: bytes, names: list[str], right: Decoded) -> None:
    """Right, doubled, mislabelled, trailed, cut and wrongly summed bodies give their page, and say what was wrong."""
    assert undo(coded, names, LIMIT) == right


NAMES = ["gzip", "deflate", "br", "zstd"]
CODERS: list[Callable[[bytes], bytes]] = [gzip.compress, zlib.compress, brotli.compress, zstd.compress]


@pytest.mark.parametrize(("name", "code"), list(zip(NAMES, CODERS, strict=True)), ids=NAMES)
def test_a_bomb_stops_at_the_bound(name: str, code: Callable[[bytes], bytes]) -> None:
    """What unfolds beyond the limit is cut there and flagged."""
    decoded = undo(code(b"\0" * 30_000_000), [name], LIMIT)
    assert len(decoded.body) <= LIMIT
    assert decoded.flags == ("too_large",)


@given(st.binary(max_size=400), st.lists(st.sampled_from([*NAMES, "x-gzip", "odd"]), max_size=3), st.integers(1, 300))
def test_any_bytes_under_any_label_end_within_the_limit(body: bytes, names: list[str], limit: int) -> None:
    """Nothing raises, and nothing is longer than the limit."""
    for attempt in (body, gzip.compress(body)[:-3], b"\x1f\x8b" + body, b"\x28\xb5\x2f\xfd" + body):
        assert len(undo(attempt, names, limit).body) <= limit


def test_declared_codings_are_read_from_all_headers() -> None:
    """Repeated headers and lists add up, in order; what codes nothing is left out."""
    assert declared(["GZIP, identity", " br "]) == ["gzip", "br"]
