"""Look for bytes that break a promise, led by coverage.

    python -m tests.fuzz TARGET CORPUS [options of libFuzzer]

Ends with exit code 77 and a file ``crash-...`` when it has found some; 70 for a page that takes too long. What it found
belongs into ``tests/fuzz/found/TARGET``: the tests try it from then on.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["schemas", "streams"]):
    from tests.fuzz.targets import TARGETS

from tests.fuzz.corpus import fill

if __name__ == "__main__":
    _, name, corpus, *options = sys.argv
    fill(Path(corpus))
    atheris.Setup([sys.argv[0], corpus, *options], TARGETS[name])
    atheris.Fuzz()
