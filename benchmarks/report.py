"""Where the figures of the benchmarks go."""

import json
from collections.abc import Mapping
from pathlib import Path

DIRECTORY = Path("build/bench")


def write(name: str, result: Mapping[str, object]) -> Path:
    """Write a benchmark's figures as JSON; where."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    path = DIRECTORY / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    return path


def tell(name: str, result: Mapping[str, object]) -> None:
    """Write them, and print the same."""
    print(write(name, result).read_text(), end="")
