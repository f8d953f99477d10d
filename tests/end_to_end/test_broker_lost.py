"""A broker of three is killed in the middle of a crawl."""

from pathlib import Path

import pytest
from product import audit, crawl
from site_server import Site
from test_faults import HOSTS, PAGES, check, finish, pages_seen, respond, start

from infra.devstack.kafka import three_brokers


@pytest.mark.timeout(400)
def test_a_killed_broker_loses_and_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``kill -9`` of one broker of three: no stage ends, the same rows, the same politeness."""
    with three_brokers(tmp_path / "cluster") as brokers:
        monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", ",".join(each.bootstrap_servers for each in brokers))
        monkeypatch.setenv("ODRADEK_KAFKA__REPLICATION_FACTOR", "3")
        with Site(respond) as site, crawl(tmp_path / "data", *start(site)) as running:
            running.wait_until(lambda: pages_seen(site) > len(HOSTS) * PAGES // 4)
            brokers[1].kill()
            summary = finish(running)
            assert summary["stages_restarted"] == []
            check(site, tmp_path / "data")
            assert audit(tmp_path / "data")["violations"] == []
