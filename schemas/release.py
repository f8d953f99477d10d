"""Keep the newest contracts for ever: ``python -m schemas.release``, which ``make contracts`` runs."""

import sys
from pathlib import Path

from schemas.compatibility import file_name, released
from schemas.wire import CONTRACTS, contract_text

FOLDER = Path(__file__).parent / "avro" / "released"


def release(name: str, text: str, folder: Path) -> str | None:
    """Write a version into the folder; returns the file's name, ``None`` when it is there already."""
    file = file_name(name, text)
    if (folder / file).exists():
        return None
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text)
    return file


def main() -> None:
    """Release every contract that changed."""
    for name in CONTRACTS.values():
        if (file := release(name, contract_text(name), FOLDER)) is not None:
            sys.stdout.write(f"released {file} ({len(released(name))} versions)\n")


if __name__ == "__main__":
    main()
