"""The benchmark of the sinks, so that it can be run when somebody needs it."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_benchmark_measures_a_store_beside_its_bare_client(tmp_path: Path) -> None:
    """It runs from anywhere, and tells rows and CPU time of both."""
    options = ["--rows", "300", "--rounds", "1", "--only", "sqlite"]
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.sinks import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "build" / "bench" / "sinks.json").read_text())["stores"]["sqlite"]
    assert {"bare rows/s", "ours rows/s", "bare CPU-s/1000", "ours CPU-s/1000", "times bare, CPU"} <= set(found)
    assert all(value > 0 for value in found.values())
