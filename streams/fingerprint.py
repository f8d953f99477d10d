"""A number of 64 bits that is near for texts that are near: SimHash (Charikar 2002) over sentences.

Whole sentences, because pages are copied and edited by sentences, and because strangers then share nothing: they differ
in 32 bits, give or take 4. One sentence of forty changed moves some 5.
"""

from hashlib import blake2b

_BITS = 64
_MOST_SENTENCES = 2_000


def simhash(text: str) -> int:
    """As a signed number of 64 bits; 0 for an empty text."""
    plain = text.lower().replace("\u3002", ". ").replace("\n", ". ")
    # The counters of all 64 bits at once: the n-th plane holds the n-th binary digit of each.
    planes: list[int] = []
    count = 0
    for sentence in plain.split(". ", _MOST_SENTENCES)[:_MOST_SENTENCES]:
        if not sentence or sentence == " ":
            continue
        count += 1
        carry = int.from_bytes(blake2b(sentence.encode("utf-8", "replace"), digest_size=8).digest(), "little")
        for number, plane in enumerate(planes):
            planes[number], carry = plane ^ carry, plane & carry
            if not carry:
                break
        if carry:
            planes.append(carry)
    bits = _above(planes, count // 2)
    return bits - (1 << _BITS) if bits >> (_BITS - 1) else bits


def _above(planes: list[int], limit: int) -> int:
    """The bits whose counter is above ``limit``, compared digit by digit from the highest."""
    above, equal = 0, (1 << _BITS) - 1
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
    return ((one ^ other) & ((1 << _BITS) - 1)).bit_count()
