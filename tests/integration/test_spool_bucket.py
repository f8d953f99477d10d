"""The spool in a bucket, against a server that speaks S3."""

import time
from datetime import timedelta

import obstore
import pytest

from infra.buckets import open_bucket
from infra.errors import NeverValid, RetryLater
from infra.settings import Settings
from infra.spool import Spool
from tests.stores.servers import Servers

BODY = bytes(range(256)) * 50_000


@pytest.fixture
def dsn(servers: Servers) -> str:
    """An empty bucket."""
    return servers.moto.dsn(servers.moto.new_bucket())


def test_what_one_process_puts_another_gets(dsn: str) -> None:
    """Whole, once for the same body, under the same name as in a folder."""
    reference = Spool(Settings(spool=dsn)).put(BODY)
    reader = Spool(Settings(spool=dsn))
    assert reader.get(reference) == BODY
    assert reader.put(BODY) == reference
    found = [each["path"] for page in obstore.list(open_bucket(dsn)) for each in page]
    assert found == [f"{reference[:2]}/{reference}"]


def test_what_is_not_there_is_the_records_fault_and_what_is_away_is_not(dsn: str, servers: Servers) -> None:
    """A missing body never comes; a store that does not answer, or a bucket that is gone, is asked again."""
    with pytest.raises(NeverValid, match="no body"):
        Spool(Settings(spool=dsn)).get("0" * 64)
    gone = servers.moto.dsn("no-such-bucket")
    for work in (lambda: Spool(Settings(spool=gone)).put(b"body"), lambda: Spool(Settings(spool=gone)).get("0" * 64)):
        with pytest.raises(RetryLater):
            work()


def test_what_is_old_is_deleted_and_what_is_not_ours_stays(dsn: str) -> None:
    """A prefix may be shared; what was put again since is young."""
    spool = Spool(Settings(spool=dsn))
    old, renewed = spool.put(b"old"), spool.put(b"renewed")
    obstore.put(open_bucket(dsn), "documents/part-0.parquet", b"somebody else's")
    time.sleep(2.1)  # the store keeps times by the second
    spool.put(b"renewed")
    assert spool.prune(timedelta(seconds=1.5)) == 1
    assert spool.get(renewed) == b"renewed"
    with pytest.raises(NeverValid):
        spool.get(old)
    assert bytes(obstore.get(open_bucket(dsn), "documents/part-0.parquet").bytes()) == b"somebody else's"
    assert spool.prune(timedelta(days=7)) == 0
