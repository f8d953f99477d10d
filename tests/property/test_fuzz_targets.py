"""What the fuzzer looks for holds: for what it begins with, for what it has found once, and for bytes made here."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import seeds
from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parents[1] / "fuzz" / "found"
SEEDS = list(seeds())


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_taken(name: str) -> None:
    """As it is, cut in the middle, and doubled."""
    for seed in SEEDS:
        for data in (seed, seed[: len(seed) // 2], seed + seed, b""):
            TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_damaged_seeds_are_taken(name: str, data: st.DataObject) -> None:
    """Some bytes of them are others."""
    damaged = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(0, 8))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    TARGETS[name](bytes(damaged))


def test_what_was_found_once_is_taken() -> None:
    """Each file by the target in whose folder it lies."""
    for file in FOUND.rglob("*"):
        if file.is_file() and file.suffix != ".md":
            TARGETS[file.parent.name](file.read_bytes())
