"""Undo the content codings of a robots.txt within a bound. Pages travel coded: undoing theirs is the cleaners' work."""

import zlib
from collections.abc import Callable

import brotli
from backports import zstd

MAX_ROBOTS_BYTES = 500 * 1024
"""What a crawler has to read at the least, and we at the most (RFC 9309, 2.5)."""

_MAX_CODINGS = 2
_ZSTD_WINDOW_LOG = 23
_GZIP_TRAILER_BYTES = 8


def undo(body: bytes, codings: list[str], limit: int = MAX_ROBOTS_BYTES) -> bytes:
    """The body without ``codings`` (outermost last), ``limit`` bytes of it at the most.

    What does not decode is given as far as it did; a body that is not coded as declared is given as it is. Memory is
    bounded by the limit, whatever the body claims to unfold to.
    """
    known = [coding for coding in codings if coding not in ("", "identity")]
    if len(known) > _MAX_CODINGS:
        return b""
    for coding in reversed(known):
        decode = _DECODERS.get(coding)
        if decode is None:
            continue
        decoded, sound = decode(body, limit)
        body = decoded if decoded or sound else body
    return body[:limit]


def _inflate(body: bytes, limit: int, window_bits: int) -> tuple[bytes, bool]:
    out = b""
    while body:
        decoder = zlib.decompressobj(window_bits)
        # The trailer by itself: where only its checksum is wrong, what it sums up has been read by then.
        for part in (body[:-_GZIP_TRAILER_BYTES], body[-_GZIP_TRAILER_BYTES:]):
            try:
                out += decoder.decompress(part, limit - len(out))
            except zlib.error:
                return out, False
            if len(out) >= limit:
                return out, True
        body = decoder.unused_data
    return out, True


def _gzip(body: bytes, limit: int) -> tuple[bytes, bool]:
    return _inflate(body, limit, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes, limit: int) -> tuple[bytes, bool]:
    # By RFC 9110 with the zlib wrapper; some servers leave it out.
    wrapped, sound = _inflate(body, limit, zlib.MAX_WBITS)
    return (wrapped, sound) if wrapped else _inflate(body, limit, -zlib.MAX_WBITS)


def _brotli(body: bytes, limit: int) -> tuple[bytes, bool]:
    decoder = brotli.Decompressor()
    try:
        return decoder.process(body, output_buffer_limit=limit), True
    except brotli.error:
        return b"", False


def _zstd(body: bytes, limit: int) -> tuple[bytes, bool]:
    out = b""
    options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    while body and len(out) < limit:
        decoder = zstd.ZstdDecompressor(options=options)
        try:
            out += decoder.decompress(body, max_length=limit - len(out))
        except zstd.ZstdError:
            return out, False
        body = decoder.unused_data
    return out, True


_DECODERS: dict[str, Callable[[bytes, int], tuple[bytes, bool]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
