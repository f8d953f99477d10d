"""Bodies by reference."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from infra.errors import NeverValid
from infra.settings import Settings
from infra.spool import Spool


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
