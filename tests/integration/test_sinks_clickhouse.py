"""ClickHouse as its users meet it: ``odradek sql``, the documented queries, one owner, TTL, a server that is away."""

import asyncio
import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from infra.errors import RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings, SinkSettings
from infra.settings.sinks import ClickHouseSettings
from schemas.records import Document
from sinks.clickhouse import endpoint
from sinks.clickhouse.embedded import Query, run
from sinks.clickhouse.sink import ClickHouseSink
from sinks.clickhouse.statements import literal
from tests.unit.sinks.sink_running import during_a_crawl
from tests.unit.sinks.sink_samples import block, block_of, document

ROOT = Path(__file__).resolve().parents[2]
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "clickhouse.md").read_text(), re.DOTALL)


def odradek_sql(data_dir: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """``odradek sql`` as a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "CLICKHOUSE_URL"}
    return subprocess.run(
        [sys.executable, "-m", "infra.cli", "sql", "--data-dir", str(data_dir), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
        cwd=ROOT,
    )


def test_sql_works_while_a_crawl_runs(tmp_path: Path) -> None:
    """``odradek sql`` asks the process that owns the engine."""

    def visit(url: str) -> None:
        del url
        answer = odradek_sql(tmp_path, "SELECT count() AS n FROM documents")
        assert (answer.returncode, answer.stdout) == (0, "n\n20\n"), answer.stderr

    during_a_crawl(tmp_path, visit)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory in which a crawl has run."""
    data_dir = tmp_path_factory.mktemp("crawled")
    during_a_crawl(data_dir, lambda _url: None)
    return data_dir


def test_sql_works_after_the_crawl(crawled: Path) -> None:
    """Then the command opens the directory itself; the statement may come from standard input, in any format."""
    answer = odradek_sql(crawled, "--format", "JSONEachRow", "-", stdin="SELECT count() AS n FROM fetches")
    assert (answer.returncode, json.loads(answer.stdout)) == (0, {"n": 20}), answer.stderr


def test_a_wrong_statement_is_one_line(crawled: Path) -> None:
    """Exit code 1 and one line; no traceback."""
    answer = odradek_sql(crawled, "SELECT nope FROM documents")
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "nope" in answer.stderr


def test_where_no_crawl_ran_the_command_says_so(tmp_path: Path) -> None:
    """Exit code 2 and what to do."""
    answer = odradek_sql(tmp_path / "nowhere", "SELECT 1")
    assert (answer.returncode, "no crawl has run here yet" in answer.stderr) == (2, True)


def test_an_endpoint_left_by_a_killed_process_is_no_obstacle(crawled: Path) -> None:
    """The file may name a port where nobody answers."""
    endpoint.publish(crawled / "clickhouse", "http://127.0.0.1:9")
    answer = odradek_sql(crawled, "SELECT count() AS n FROM decisions")
    assert (answer.returncode, answer.stdout) == (0, "n\n20\n"), answer.stderr


@pytest.mark.parametrize("query", QUERIES, ids=[each.split("\n")[0][:40] for each in QUERIES])
def test_every_documented_query_answers(crawled: Path, query: str) -> None:
    """The queries of docs/clickhouse.md run as they stand and find rows."""
    answer = run(crawled / "clickhouse", Query(query, "JSONEachRow"))
    rows = [json.loads(line) for line in answer.splitlines()]
    assert rows or "copies" in query


def test_every_column_is_described(crawled: Path) -> None:
    """DESCRIBE tells an analyst what each column means."""
    bare = "SELECT table, name FROM system.columns WHERE database = 'default' AND comment = ''"
    assert run(crawled / "clickhouse", Query(bare)) == b""
    assert len(QUERIES) >= 6


def test_one_process_owns_the_directory(tmp_path: Path) -> None:
    """A second owner is told who holds it, not that some server could not be initialised."""
    program = (
        "import sys; from pathlib import Path; from datetime import timedelta\n"
        "from infra.errors import UserError\n"
        "from sinks.clickhouse.embedded import DirectoryLock\n"
        "try: DirectoryLock(Path(sys.argv[1])).acquire(timedelta(0))\n"
        "except UserError as error: print(error)\n"
    )

    def visit(url: str) -> None:
        del url
        told = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "clickhouse")],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        ).stdout
        assert f"another process (pid {os.getpid()}) holds the embedded ClickHouse" in told

    during_a_crawl(tmp_path, visit)


def test_a_server_that_is_away_is_tried_again_later() -> None:
    """No server at the start is trouble that passes, told without the password."""
    sink = ClickHouseSink(Settings(), "http://me:s3cret@127.0.0.1:9/db")

    async def scenario() -> None:
        try:
            await sink.open()
        finally:
            await sink.close()

    with pytest.raises(RetryLater) as caught:
        asyncio.run(scenario())
    assert "s3cret" not in str(caught.value)


def test_rows_live_as_long_as_the_setting_says(tmp_path: Path) -> None:
    """The TTL is set, changed and removed with the setting, and old rows go."""

    async def opened(number: int, ttl: timedelta | None) -> str:
        options = SinkSettings(clickhouse=ClickHouseSettings(ttl=ttl))
        sink = ClickHouseSink(Settings(data_dir=tmp_path, sinks=options), "clickhouse:")
        await sink.open()
        try:
            old = document(number, fetched_at=document(0).fetched_at - timedelta(days=4000))
            await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, old)])
            sink._client.command("OPTIMIZE TABLE documents FINAL")
            engine = str(sink._client.command("SELECT engine_full FROM system.tables WHERE name = 'documents'"))
            left = str(sink._client.command("SELECT count() FROM documents"))
            return f"{'TTL' in engine} {left}"
        finally:
            await sink.close()

    assert asyncio.run(opened(1, None)) == "False 1"
    assert asyncio.run(opened(2, timedelta(days=365))) == "True 0"
    assert asyncio.run(opened(3, timedelta(days=90))) == "True 0"
    assert asyncio.run(opened(4, None)) == "False 1"


def test_the_token_drops_the_same_write(tmp_path: Path) -> None:
    """The retry of a write whose answer was lost leaves no second copy even on disk."""

    async def scenario() -> int:
        sink = ClickHouseSink(Settings(data_dir=tmp_path), "clickhouse:")
        await sink.open()
        try:
            for _ in range(3):
                await sink.write(TopicName.FETCHES, [block(TopicName.FETCHES, range(10), each) for each in range(3)])
            return int(sink._client.command("SELECT count() FROM fetches SETTINGS final = 0"))
        finally:
            await sink.close()

    assert asyncio.run(scenario()) == 30


def test_a_refused_user_is_told_at_once(tmp_path: Path) -> None:
    """Waiting cannot mend a wrong password."""
    from aiohttp import web  # noqa: PLC0415

    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(
            status=516 - 113,
            text="Code: 516. DB::Exception: me: Authentication failed",
            headers={"X-ClickHouse-Exception-Code": "516"},
        )

    async def scenario() -> None:
        app = web.Application()
        app.router.add_route("*", "/", refuse)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        sink = ClickHouseSink(Settings(data_dir=tmp_path), f"http://me:s3cret@127.0.0.1:{runner.addresses[0][1]}/db")
        try:
            await sink.open()
        finally:
            await sink.close()
            await runner.cleanup()

    with pytest.raises(UserError, match="refuses the user, the password") as caught:
        asyncio.run(scenario())
    assert "s3cret" not in str(caught.value)


def test_a_literal_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Quotes and backslashes of a URL end no string."""
    text = "a'b\\c\\'d;--\n"
    found = run(tmp_path / "clickhouse", Query(f"SELECT hex({literal(text)})"))
    assert bytes.fromhex(found.decode()) == text.encode()


def test_copies_of_a_crawl_are_known_afterwards(tmp_path: Path) -> None:
    """Equal texts and near ones, each with the page that had it first, whichever worker cleaned them."""
    near = 0x0123456789ABCDEF

    def page(number: int, simhash: int, text: int, **changes: object) -> Document:
        about = {"words": 100, "simhash": simhash, "content_hash": bytes([text]) * 16}
        return document(number).model_copy(update=about | changes)

    documents = [
        page(0, near, 1),
        page(1, near, 1),
        page(2, near ^ 0b111, 2),
        page(3, near ^ 0b111, 2),
        page(4, -5, 3),
        page(5, near ^ 0xFFFF, 4),
        page(6, near, 1, words=5),
        page(7, near, 1, crawl="other"),
    ]

    async def write() -> None:
        sink = ClickHouseSink(Settings(data_dir=tmp_path), "clickhouse:")
        await sink.open()
        await sink.write(TopicName.DOCUMENTS, [block_of(TopicName.DOCUMENTS, *documents)])
        await sink.close()

    asyncio.run(write())
    query = "SELECT url, duplicate_of, bits FROM duplicates(crawl = 'test') ORDER BY url"
    answer = odradek_sql(tmp_path, query, "--format", "JSONCompactEachRow")
    assert [json.loads(line) for line in answer.stdout.splitlines()] == [
        ["http://h0.test/3", "http://h2.test/2", 0],
        ["http://h1.test/1", "http://h0.test/0", 0],
        ["http://h2.test/2", "http://h0.test/0", 3],
    ], answer.stderr
