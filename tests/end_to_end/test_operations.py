"""What an operator does beside a running crawl: looks into a process, asks for help."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from product import ODRADEK, STAGES, crawl
from test_running_crawl import ready


@pytest.mark.timeout(300)
def test_a_live_stage_is_profiled_and_a_crawl_is_bundled(tmp_path: Path) -> None:
    """The flame graph names our functions and the stage lives on; the archive holds workers and logs, and no token."""
    data_dir = tmp_path / "crawl"
    with crawl(data_dir, "--delay", "0.5") as running:
        running.wait_until(lambda: set(ready(data_dir)) == set(STAGES))
        environment = {**os.environ, "ODRADEK_DATA_DIR": str(data_dir)}

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [*ODRADEK, *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)

        graph = tmp_path / "frontier.svg"
        pid = running.stage_pid("frontier")
        profiled = run("profile", "frontier", "--seconds", "3", "--idle", "--output", str(graph))
        assert profiled.returncode == 0, profiled.stderr
        assert "frontier/stage.py" in graph.read_text()
        assert running.stage_pid("frontier") == pid
        missing = run("profile", "nobody")
        assert missing.returncode == 2
        assert "no process of nobody lives on this machine" in missing.stderr

        archive = tmp_path / "support.tar.gz"
        assert str(archive) in run("doctor", "--bundle", str(archive)).stderr
        with tarfile.open(archive) as opened:
            names = {entry.name.removeprefix("odradek-support/") for entry in opened.getmembers()}
            file = opened.extractfile("odradek-support/workers.json")
            assert file is not None
            workers = json.load(file)
            token = (data_dir / "monitor.endpoint").read_text().strip().partition("#token=")[2]
            contents = [opened.extractfile(entry) for entry in opened.getmembers()]
            assert [each.name for each in contents if each is not None and token.encode() in each.read()] == []
        assert {each["stage"] for each in workers} == set(STAGES)
        assert {f"metrics/{each['worker']}.txt" for each in workers} <= names
        assert {f"logs/{stage}.log" for stage in STAGES} <= names
        running.interrupt()
