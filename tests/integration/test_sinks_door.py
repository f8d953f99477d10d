"""The HTTP door of the embedded engine, asked by the clients that people use."""

import asyncio
import json
import urllib.error
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError

from infra.kafka.topics import TopicName
from infra.settings import Settings, SinkSettings
from infra.settings.sinks import ClickHouseSettings
from sinks.clickhouse import endpoint
from sinks.clickhouse.sink import ClickHouseSink
from tests.unit.sinks.sink_running import during_a_crawl
from tests.unit.sinks.sink_samples import block


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


def test_error_codes_reach_the_classification(tmp_path: Path) -> None:
    """A real error of the engine carries its code, so it can be told from trouble."""

    def visit(url: str) -> None:
        client: Any = clickhouse_connect.get_client(dsn=url)
        with pytest.raises(DatabaseError) as caught:
            client.command("SELECT toInt32('x')")
        assert caught.value.code == 6
        client.close()

    during_a_crawl(tmp_path, visit)
