"""A number of 64 bits that is near for texts that are near: SimHash (Charikar 2002) over sentences.

Whole sentences, because pages are copied and edited by sentences, and because strangers then share nothing: they differ
in 32 bits, give or take 4. One sentence of forty changed moves some 5.
"""

from zlib import crc32

_BITS = 64
_ALL = (1 << _BITS) - 1
_MOST_SENTENCES = 2_000
_FULL_STOP = "\u3002".encode()
# Spreads 32 bits over 64 (Knuth's multiplicative hashing, by the golden ratio).
_SPREAD = 0x9E3779B97F4A7C15


def simhash(text: bytes) -> int:
    """Of UTF-8, as a signed number of 64 bits; 0 for an empty text."""
    if _FULL_STOP in text:
        text = text.replace(_FULL_STOP, b". ")
    sentences = [each for line in text.split(b"\n") for each in line.split(b". ") if each][:_MOST_SENTENCES]
    # The counters of all 64 bits at once: the n-th plane holds the n-th binary digit of each.
    planes: list[int] = []
    for sentence in sentences:
        carry = crc32(sentence) * _SPREAD & _ALL
        carry ^= carry >> 32
        for number, plane in enumerate(planes):
            planes[number], carry = plane ^ carry, plane & carry
            if not carry:
                break
        if carry:
            planes.append(carry)
    bits = _above(planes, len(sentences) // 2)
    return bits - (1 << _BITS) if bits >> (_BITS - 1) else bits


def _above(planes: list[int], limit: int) -> int:
    """The bits whose counter is above ``limit``, compared digit by digit from the highest."""
    above, equal = 0, _ALL
    for number in range(max(len(planes), limit.bit_length()) - 1, -1, -1):
        plane = planes[number] if number < len(planes) else 0
        if limit >> number & 1:
            equal &= plane
        else:
            above |= equal & plane
            equal &= ~plane
    return above


def distance(one: int, other: int) -> int:
    """In how many bits two fingerprints differ."""
    return ((one ^ other) & _ALL).bit_count()
