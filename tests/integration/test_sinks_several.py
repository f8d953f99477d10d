"""Several stores at once: each at its own pace, added and removed while they run, and all equal in the end."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from infra.kafka.topics import TopicName
from infra.settings import Settings
from sinks.clickhouse.command import ask
from sinks.tables import TABLES
from tests.stores.postgres import PostgresServer
from tests.stores.redis import RedisServer
from tests.stores.sinks_process import TOPICS, SinksProcess

Row = tuple[str, ...]
COMPARED = {"documents": ("url", "visit", "fetch_id", "content_hash"), "fetches": ("url", "fetch_id", "outcome")}
COMPARED["decisions"] = ("url", "decision_id", "reason")


class Stores:
    """Five stores of four kinds, and what is in each."""

    def __init__(self, process: SinksProcess, directory: Path) -> None:
        self.process = process
        self.directory = directory
        self.postgres = PostgresServer()
        self.redis = RedisServer()
        for server in (self.postgres, self.redis):
            server.start()
        self.database = self.postgres.new_database()
        self.dsns = {
            "chdb": "clickhouse:",
            "sqlite": "sqlite:",
            "second": f"sqlite:{directory}/second.db",
            "postgres": self.postgres.dsn(self.database),
            "redis": self.redis.dsn(),
        }

    def remove(self) -> None:
        for server in (self.postgres, self.redis):
            server.remove()

    def rows(self, store: str, table: str) -> list[Row]:
        """The rows of the test's crawl in a store, as text, in order."""
        names = COMPARED[table]
        sql = f"SELECT {', '.join(names)} FROM {table} WHERE crawl = '{self.process.crawl}'"
        found: list[tuple[object, ...]]
        if store == "chdb":
            found = [tuple(line.split("\t")) for line in ask(self.process.settings, sql, "TSV").decode().splitlines()]
        elif store == "postgres":
            found = self.postgres.ask(self.database, sql)
        elif store == "redis":
            client = self.redis.client()
            found = [tuple(client.hmget(key, names)) for key in self.redis.keys(f"odradek:{table}:*")]
        else:
            path = self.directory / {"sqlite": "rows.sqlite", "second": "second.db"}[store]
            with closing(sqlite3.connect(path)) as connection:
                found = connection.execute(sql).fetchall()
        return sorted(tuple(map(str, row)) for row in found)


@pytest.fixture
def process(kafka_settings: Settings, tmp_path: Path) -> Iterator[SinksProcess]:
    """Not started yet, and gone afterwards."""
    made = SinksProcess(kafka_settings, tmp_path)
    yield made
    made.kill()


@pytest.fixture
def stores(process: SinksProcess, tmp_path: Path) -> Iterator[Stores]:
    """Servers that answer, wanted by nobody yet."""
    made = Stores(process, tmp_path)
    yield made
    made.remove()


@pytest.mark.timeout(400)
def test_stores_that_fail_and_come_and_go_end_equal(process: SinksProcess, stores: Stores) -> None:
    """Two are killed and restarted, one is removed and added back, the writer is killed: all end equal, no row twice.

    Whoever is well goes on meanwhile.
    """
    well = ["chdb", "second"]
    for store in stores.dsns:
        process.begin(store)
    process.want(stores.dsns)
    process.start()
    for topic in TOPICS:
        process.produce(topic, range(1_000))
    process.until(lambda: process.caught_up(list(stores.dsns)))

    stores.redis.kill()
    stores.postgres.kill()
    process.want({store: dsn for store, dsn in stores.dsns.items() if store != "sqlite"})
    process.until(lambda: process.said("store removed", "sqlite") == 1)
    for topic in TOPICS:
        process.produce(topic, range(1_000, 2_000))
    process.until(lambda: process.caught_up(well))
    process.until(lambda: all(process.said("store left alone", store) for store in ("redis", "postgres")))
    assert all(process.lag(store) >= 3_000 for store in ("redis", "postgres", "sqlite"))
    assert len(stores.rows("sqlite", "documents")) == 1_000

    stores.redis.start()
    process.until(lambda: process.caught_up([*well, "redis"]))
    process.kill()
    for topic in TOPICS:
        process.produce(topic, range(1_500, 2_500))
    process.start()
    process.want(stores.dsns)
    stores.postgres.start()
    process.until(lambda: process.caught_up(list(stores.dsns)))
    assert process.stop() == 0
    for table in (TABLES[topic].name for topic in TOPICS):
        expected = stores.rows("chdb", table)
        assert len(expected) == 2_500
        assert {store: stores.rows(store, table) == expected for store in stores.dsns} == dict.fromkeys(
            stores.dsns, True
        )


@pytest.mark.timeout(240)
def test_a_store_that_is_refused_holds_up_no_other(process: SinksProcess, stores: Stores) -> None:
    """A wrong password of one store, told in the log, is no concern of the others; mended it catches up."""
    for store in ("sqlite", "postgres"):
        process.begin(store)
    process.want({"sqlite": "sqlite:", "postgres": stores.postgres.dsn(stores.database, "wr0ng")})
    process.start()
    process.produce(TopicName.FETCHES, range(500))
    process.until(lambda: process.caught_up(["sqlite"]) and process.said("store stopped", "postgres") > 0)
    process.file.write_text("[broken")
    process.until(lambda: "stores refused" in process.log.read_text())
    process.want({store: stores.dsns[store] for store in ("sqlite", "postgres")})
    process.until(lambda: process.caught_up(["sqlite", "postgres"]))
    assert process.stop() == 0
    assert stores.rows("postgres", "fetches") == stores.rows("sqlite", "fetches")
    assert len(stores.rows("sqlite", "fetches")) == 500
    assert not any(secret in process.log.read_text() for secret in ("wr0ng", "s3cret", "crawler"))


@pytest.mark.timeout(120)
def test_a_process_whose_only_store_is_refused_ends_loudly(process: SinksProcess, stores: Stores) -> None:
    """Exit code 2, as for everything that the user has to mend."""
    process.begin("postgres")
    process.want({"postgres": stores.postgres.dsn(stores.database, "wr0ng")})
    process.start()
    assert process.process is not None
    assert process.process.wait(60) == 2
    assert "refuses the user" in process.log.read_text()
