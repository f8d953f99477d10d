"""The embedded ClickHouse as its users meet it: the HTTP door, ``odradek sql``, the documented queries."""

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from infra.errors import RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings, SinkSettings
from infra.settings.sinks import ClickHouseSettings
from sinks.clickhouse import endpoint
from sinks.clickhouse.embedded import Query, run
from sinks.clickhouse.sink import ClickHouseSink
from tests.unit.sinks.sink_samples import block, block_of, document

ROOT = Path(__file__).resolve().parents[2]
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "clickhouse.md").read_text(), re.DOTALL)


async def fill(sink: ClickHouseSink) -> None:
    """Twenty of each kind, some of them twice."""
    for topic in (TopicName.DOCUMENTS, TopicName.FETCHES, TopicName.EVENTS):
        await sink.write(topic, [block(topic, range(20))])
        await sink.write(topic, [block(topic, range(5, 10))])


def during_a_crawl(data_dir: Path, visit: Callable[[str], object]) -> None:
    """Call ``visit`` with the door's URL, in a thread, while the sink is open and holds rows."""

    async def scenario() -> None:
        sink = ClickHouseSink(Settings(data_dir=data_dir), "clickhouse:")
        await sink.open()
        try:
            await fill(sink)
            url = endpoint.path(data_dir / "clickhouse").read_text()
            await asyncio.to_thread(visit, url.strip())
        finally:
            await sink.close()

    asyncio.run(scenario())


def post(url: str, body: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of one request."""
    request = urllib.request.Request(
        url, body.encode(), {name.replace("_", "-"): value for name, value in headers.items()}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()


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


def test_clickhouse_connect_reads_through_the_door(tmp_path: Path) -> None:
    """The same client as for a server, with server-side parameters, types, Arrow, streams and formats; rows once."""

    def visit(url: str) -> None:
        client: Any = clickhouse_connect.get_client(dsn=url)
        assert client.ping()
        assert client.command("SELECT count() FROM documents") == 20
        result = client.query(
            "SELECT url, status, fetched_at, links FROM documents"
            " WHERE host = {host:String} AND status IN {codes:Array(Int32)} ORDER BY url",
            parameters={"host": "h1.test", "codes": [200, 404]},
        )
        assert result.result_rows[0][:2] == ("http://h1.test/1", 200)
        assert len(result.result_rows) == 7
        assert client.query("SELECT {text:String}", parameters={"text": "it's\ta\n\\'"}).result_rows == [
            ("it's\ta\n\\'",)
        ]
        assert client.query("SELECT * FROM fetches LIMIT 0").column_names[0] == "crawl"
        assert client.query_arrow("SELECT url FROM documents LIMIT 3").num_rows == 3
        with client.query_row_block_stream("SELECT number FROM numbers(100000)") as stream:
            assert sum(len(each) for each in stream) == 100_000
        assert json.loads(client.raw_query("SELECT 1 AS one", fmt="JSONEachRow")) == {"one": 1}
        client.close()

    during_a_crawl(tmp_path, visit)


@pytest.mark.parametrize(
    ("statement", "status", "code"),
    [
        ("SELECT * FROM missing", 404, 60),
        ("SELECT 1 +", 400, 62),
        ("SELECT nothing", 400, 47),
        ("INSERT INTO documents (crawl) VALUES ('x')", 403, 164),
        ("DROP TABLE documents", 403, 164),
        ("SYSTEM STOP MERGES", 403, 164),
        ("SELECT 1; DROP TABLE documents", 403, 164),
        ("SELECT * FROM file('/etc/passwd', 'LineAsString')", 403, 164),
        ("SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", 403, 164),
        ("SELECT 1 SETTINGS readonly = 0", 403, 164),
        ("", 403, 164),
    ],
)
def test_the_door_answers_errors_as_clickhouse_does(tmp_path: Path, statement: str, status: int, code: int) -> None:
    """The code is in the header and in the text; what is more than reading is refused."""

    def visit(url: str) -> None:
        found, headers, text = post(url, statement)
        assert (found, headers["X-ClickHouse-Exception-Code"]) == (status, str(code))
        assert text.startswith(f"Code: {code}. DB::Exception: ")

    during_a_crawl(tmp_path, visit)


def test_the_door_speaks_the_http_interface(tmp_path: Path) -> None:
    """GET and POST, default format, FORMAT clause, settings and parameters in the URL, database, ping."""

    def visit(url: str) -> None:
        with urllib.request.urlopen(f"{url}/ping") as answer:
            assert answer.read() == b"Ok.\n"
        with urllib.request.urlopen(f"{url}/?query=SELECT%20count()%20FROM%20documents") as answer:
            assert (answer.read(), answer.headers["X-ClickHouse-Format"]) == (b"20\n", "TabSeparated")
        assert post(f"{url}/?final=0", "SELECT count() FROM documents")[2] == "25\n"
        assert post(f"{url}/?default_format=JSONEachRow", "SELECT 1 AS a")[2] == '{"a":1}\n'
        status, headers, text = post(url, "SELECT 1 AS a FORMAT CSVWithNames")
        assert (status, headers["X-ClickHouse-Format"], text) == (200, "CSVWithNames", '"a"\n1\n')
        assert post(f"{url}/?param_x=it%27s", "SELECT {x:String}")[2] == "it\\'s\n"
        assert post(f"{url}/?database=system&query=SELECT%20currentDatabase()", "")[2] == "system\n"
        assert post(f"{url}/?no_such_setting=1", "SELECT 1")[1]["X-ClickHouse-Exception-Code"] == "115"
        assert post(f"{url}/?readonly=0", "DROP TABLE documents")[0] == 403

    during_a_crawl(tmp_path, visit)


def test_a_web_page_cannot_use_the_door(tmp_path: Path) -> None:
    """Requests from a page (they name an origin), or through a rebound name (in Host), are refused."""

    def visit(url: str) -> None:
        assert post(url, "SELECT 1", Origin="http://evil.test")[0] == 403
        assert post(url, "SELECT 1", Host="evil.test")[0] == 403
        assert post(url, "SELECT 1", Sec_Fetch_Site="cross-site")[0] == 403
        assert post(url, "SELECT 1")[0] == 200

    during_a_crawl(tmp_path, visit)


def test_a_long_query_holds_up_no_insert(tmp_path: Path) -> None:
    """Inserts go on while a query runs; closing cancels the query and does not wait for its end."""

    async def scenario() -> None:
        sink = ClickHouseSink(Settings(data_dir=tmp_path), "clickhouse:")
        await sink.open()
        url = endpoint.path(tmp_path / "clickhouse").read_text().strip()
        endless = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"
        query = asyncio.create_task(asyncio.to_thread(post, f"{url}/?max_threads=1", endless))
        await asyncio.sleep(0.5)
        await asyncio.wait_for(sink.write(TopicName.DOCUMENTS, [block(TopicName.DOCUMENTS, range(5))]), 20)
        assert not query.done()
        await asyncio.wait_for(sink.close(), 20)
        await asyncio.wait_for(asyncio.gather(query, return_exceptions=True), 20)

    asyncio.run(scenario())


def test_a_query_has_its_time(tmp_path: Path) -> None:
    """A query that takes too long is ended by the engine, with ClickHouse's own code."""

    async def scenario() -> tuple[int, dict[str, str], str]:
        options = ClickHouseSettings(query_timeout=timedelta(seconds=1))
        sink = ClickHouseSink(Settings(data_dir=tmp_path, sinks=SinkSettings(clickhouse=options)), "clickhouse:")
        await sink.open()
        url = endpoint.path(tmp_path / "clickhouse").read_text().strip()
        endless = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"
        try:
            return await asyncio.to_thread(post, url, endless)
        finally:
            await sink.close()

    status, headers, _ = asyncio.run(scenario())
    assert (status, headers["X-ClickHouse-Exception-Code"]) == (408, "159")


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


def test_error_codes_reach_the_classification(tmp_path: Path) -> None:
    """A real error of the engine carries its code, so it can be told from trouble."""

    def visit(url: str) -> None:
        client: Any = clickhouse_connect.get_client(dsn=url)
        with pytest.raises(DatabaseError) as caught:
            client.command("SELECT toInt32('x')")
        assert caught.value.code == 6
        client.close()

    during_a_crawl(tmp_path, visit)


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

    with pytest.raises(UserError, match="refuses the user or the password") as caught:
        asyncio.run(scenario())
    assert "s3cret" not in str(caught.value)
