"""Bodies by reference."""

import asyncio
import os
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from infra.errors import NeverValid, RetryLater, UserError
from infra.settings import Settings
from infra.spool import Spool, prune_regularly


def test_what_is_put_is_got(tmp_path: Path) -> None:
    """Once for the same body, and whole: nothing half-written is ever seen under a name."""
    spool = Spool(Settings(data_dir=tmp_path))
    first, again, other = spool.put(b"a" * 1_000), spool.put(b"a" * 1_000), spool.put(b"")
    assert first == again != other
    assert (spool.get(first), spool.get(other)) == (b"a" * 1_000, b"")
    assert len([path for path in (tmp_path / "spool").rglob("*") if path.is_file()]) == 2


@pytest.mark.parametrize("reference", ["", "../../etc/passwd", "a" * 63, "a" * 62 + "/a", "\u0660" * 64, "0" * 64])
def test_a_reference_names_a_body_or_nothing(reference: str, tmp_path: Path) -> None:
    """It comes from a record: it leads nowhere else."""
    with pytest.raises(NeverValid):
        Spool(Settings(data_dir=tmp_path)).get(reference)


def test_what_is_old_is_deleted(tmp_path: Path) -> None:
    """Unless it was put again since."""
    spool = Spool(Settings(data_dir=tmp_path, spool=tmp_path / "elsewhere"))
    references = [spool.put(body) for body in (b"old", b"renewed", b"new")]
    long_ago_s = time.time() - 100
    for reference in references[:2]:
        os.utime(tmp_path / "elsewhere" / reference[:2] / reference, (long_ago_s, long_ago_s))
    spool.put(b"renewed")
    assert spool.prune(timedelta(seconds=50)) == 1
    assert [spool.get(each) for each in references[1:]] == [b"renewed", b"new"]


def aged(directory: Path, spool: Spool, body: bytes) -> Path:
    """A body that was put long ago."""
    reference = spool.put(body)
    path = directory / reference[:2] / reference
    os.utime(path, (time.time() - 100, time.time() - 100))
    return path


def test_what_a_crash_has_left_half_written_is_deleted_too(tmp_path: Path) -> None:
    """Once it is old enough that nobody writes it any more."""
    spool = Spool(Settings(data_dir=tmp_path, spool=tmp_path))
    spool.put(b"whole")
    (folder,) = tmp_path.iterdir()
    left = folder / f".{'0' * 64}.abcd1234"
    left.write_bytes(b"hal")
    assert spool.prune(timedelta(seconds=50)) == 0
    os.utime(left, (time.time() - 100, time.time() - 100))
    assert spool.prune(timedelta(seconds=50)) == 1
    assert not left.exists()


@pytest.mark.parametrize("is_before", [True, False])
def test_a_body_put_again_while_it_is_deleted_stays(
    is_before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its time was renewed just before its name was taken from it, or it was written anew just after."""
    spool = Spool(Settings(data_dir=tmp_path, spool=tmp_path))
    path = aged(tmp_path, spool, b"body")
    rename = Path.rename

    def renamed(self: Path, target: Path) -> Path:
        if is_before:
            os.utime(self)
        moved = rename(self, target)
        if not is_before:
            self.write_bytes(b"body")
        return moved

    monkeypatch.setattr(Path, "rename", renamed)
    spool.prune(timedelta(seconds=50))
    assert spool.get(path.name) == b"body"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_it_is_pruned_while_it_is_used(tmp_path: Path) -> None:
    """Again and again, not only at the start; a folder that is not there yet ends nothing."""

    async def scenario() -> None:
        spool = Spool(Settings(data_dir=tmp_path, spool=tmp_path / "later"))
        pruning = asyncio.create_task(prune_regularly(spool, timedelta(seconds=50), timedelta(milliseconds=10)))
        for body in (b"first", b"second"):
            path = aged(tmp_path / "later", spool, body)
            async with asyncio.timeout(30):
                while path.exists():  # noqa: ASYNC110  # the file system tells nobody
                    await asyncio.sleep(0.01)
        pruning.cancel()
        with suppress(asyncio.CancelledError):
            await pruning

    asyncio.run(scenario())


def test_a_full_disk_is_trouble_and_no_bodys_fault(tmp_path: Path) -> None:
    """Whoever puts or prunes is told to try later."""
    (tmp_path / "file").write_bytes(b"not a folder")
    spool = Spool(Settings(data_dir=tmp_path, spool=tmp_path / "file" / "spool"))
    with pytest.raises(RetryLater):
        spool.put(b"body")


def test_a_place_that_cannot_be_is_refused_without_its_secrets() -> None:
    """When it is opened, not at the first large page."""
    for dsn in ("s3://bucket/x?secret_access_key=hush&wrong=1", "nowhere://hush@x/y"):
        with pytest.raises(UserError, match="spool") as told:
            Spool(Settings(spool=dsn))
        assert "hush" not in str(told.value)
    assert "hush" not in repr(Settings(spool="s3://bucket/x?secret_access_key=hush"))
