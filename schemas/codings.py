"""Undo content codings: for whoever reads a body as it came over the wire (RFC 9110, 8.4.1; RFC 8878 for zstd).

Servers mislabel, double and cut codings, and some send bombs. So the first bytes decide where they contradict the
label, what can be decoded is kept, and every output is bounded. Nothing here raises.
"""

import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_CODINGS = 2
"""Nobody needs more; a stack of them is a bomb."""
MAX_RATIO = 200
"""Decoded to coded bytes, once :data:`RATIO_FROM` bytes have come out."""
RATIO_FROM = 2**20

_CHUNK = 2**18
_ZSTD_WINDOW_LOG = 23
_TRAILER_BYTES = 8
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Decoded(NamedTuple):
    """The body as far as it could be decoded.

    ``flags`` names what was wrong, in the order in which it was met: ``wrong_coding`` (not coded as declared),
    ``cut_coding`` (ends too early), ``broken_coding``, ``too_large`` and ``unknown_coding``.
    """

    body: bytes
    flags: tuple[str, ...]


class _Step(NamedTuple):
    body: bytes
    flag: str | None


def declared(content_encoding: Iterable[str]) -> list[str]:
    """The codings that Content-Encoding header values name, in the order in which they were applied."""
    names = (name.strip().lower() for value in content_encoding for name in value.split(","))
    return [name for name in names if name not in ("", "identity", "none", "utf-8")]


def undo(body: bytes, codings: Sequence[str], limit: int) -> Decoded:
    """``body`` without ``codings`` (outermost last), at most ``limit`` bytes of it."""
    flags: list[str] = []
    left = list(codings[-MAX_CODINGS:])
    if len(codings) > MAX_CODINGS:
        flags.append("unknown_coding")
    for _ in range(MAX_CODINGS):
        coding = _next(body, left, flags)
        if coding is None:
            break
        step = _DECODERS[coding](body, limit)
        if step.flag is not None:
            flags.append(step.flag)
        # Nothing came out: the body was never coded so, and is worth more as it is.
        if not step.body and step.flag == "broken_coding":
            break
        body = step.body
    if len(body) > limit:
        flags.append("too_large")
    return Decoded(body[:limit], tuple(dict.fromkeys(flags)))


def _next(body: bytes, left: list[str], flags: list[str]) -> str | None:
    """Which coding to undo now. The first bytes decide for gzip and zstd, the label for the others."""
    seen = "gzip" if body.startswith(_GZIP_MAGIC) else "zstd" if body.startswith(_ZSTD_MAGIC) else None
    label = left.pop() if left else None
    if label is not None and label not in _DECODERS:
        flags.append("unknown_coding")
    if seen is not None:
        if label is not None and _FAMILY.get(label) != seen:
            flags.append("wrong_coding")
        return seen
    if label in ("gzip", "x-gzip", "zstd"):
        flags.append("wrong_coding")
        return None
    return label if label in _DECODERS else None


def _collect(pull: Callable[[int], tuple[bytes, bool]], coded_bytes: int, limit: int) -> _Step:
    """Pull decoded chunks until the end, the limit or an impossible ratio."""
    out = bytearray()
    while True:
        try:
            chunk, ended = pull(min(_CHUNK, limit + 1 - len(out)))
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError, ValueError):
            return _Step(bytes(out), "broken_coding")
        out += chunk
        if len(out) > limit or (len(out) > RATIO_FROM and len(out) > MAX_RATIO * coded_bytes):
            return _Step(bytes(out[:limit]), "too_large")
        if ended:
            return _Step(bytes(out), None)
        if not chunk:
            return _Step(bytes(out), "cut_coding")


def _zlib(body: bytes, limit: int, window_bits: int) -> _Step:
    decoder = zlib.decompressobj(window_bits)
    # The trailer by itself: where only its checksum is wrong, what it sums up has been read by then.
    waiting, trailer = body[:-_TRAILER_BYTES], body[-_TRAILER_BYTES:]

    def pull(most: int) -> tuple[bytes, bool]:
        nonlocal decoder, waiting, trailer
        chunk = decoder.decompress(waiting, most)
        waiting = decoder.unconsumed_tail
        if not chunk and not waiting and not decoder.eof and trailer:
            waiting, trailer = trailer, b""
            return pull(most)
        if decoder.eof:
            rest = decoder.unused_data + trailer
            # Another member may follow (RFC 1952, 2.2); anything else after the first is rubbish that browsers skip.
            if not rest.startswith(_GZIP_MAGIC) or window_bits < zlib.MAX_WBITS:
                return chunk, True
            decoder = zlib.decompressobj(window_bits)
            waiting, trailer = rest[:-_TRAILER_BYTES], rest[-_TRAILER_BYTES:]
        return chunk, False

    return _collect(pull, len(body), limit)


def _gzip(body: bytes, limit: int) -> _Step:
    return _zlib(body, limit, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes, limit: int) -> _Step:
    # By RFC 9110 with the zlib wrapper; some servers leave it out.
    wrapped = _zlib(body, limit, zlib.MAX_WBITS)
    return wrapped if wrapped.body or wrapped.flag is None else _zlib(body, limit, -zlib.MAX_WBITS)


def _brotli(body: bytes, limit: int) -> _Step:
    decoder = brotli.Decompressor()
    waiting = body

    def pull(most: int) -> tuple[bytes, bool]:
        nonlocal waiting
        chunk = decoder.process(waiting, output_buffer_limit=most)
        waiting = b""
        return chunk, decoder.is_finished()

    return _collect(pull, len(body), limit)


def _zstd(body: bytes, limit: int) -> _Step:
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    decoder = zstd.ZstdDecompressor(options=options)
    waiting = body

    def pull(most: int) -> tuple[bytes, bool]:
        nonlocal decoder, waiting
        chunk = decoder.decompress(waiting, max_length=most)
        waiting = b""
        if decoder.eof:
            rest = decoder.unused_data
            if not rest.startswith(_ZSTD_MAGIC):
                return chunk, True
            decoder, waiting = zstd.ZstdDecompressor(options=options), rest
        return chunk, False

    return _collect(pull, len(body), limit)


_DECODERS: dict[str, Callable[[bytes, int], _Step]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
_FAMILY = {"gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}
