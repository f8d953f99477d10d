"""The sinks that hand records on: to somebody's server, and to another Kafka cluster."""

import asyncio
import socket
from datetime import timedelta
from uuid import uuid4

import pytest
from aiohttp import web

from infra.errors import RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import KafkaSettings, Settings
from infra.telemetry.tracing import trace_of
from schemas.records import Document, Page
from schemas.wire import decode
from sinks.kafka.records import ID
from sinks.kafka.sink import KafkaSink
from sinks.sink import Block, Entry, Sink
from sinks.webhook.sink import WebhookSink
from tests.stores.servers import Servers
from tests.stores.webhook import Receiver
from tests.unit.sinks.sink_samples import block, document, page


def write(sink: Sink, *blocks: Block) -> None:
    """Each block by a write of its own."""

    async def scenario() -> None:
        await sink.open()
        try:
            for each in blocks:
                await sink.write(each.topic, [each])
        finally:
            await sink.close()

    asyncio.run(scenario())


@pytest.fixture
def receiver(servers: Servers) -> Receiver:
    """One that nobody has sent anything to."""
    servers.webhook.forget()
    return servers.webhook


def test_a_repeat_is_the_same_delivery(receiver: Receiver) -> None:
    """Whoever remembers the ids takes each once, and every signature is genuine."""
    for _ in range(2):
        write(WebhookSink(Settings(), receiver.dsn), block(TopicName.DOCUMENTS, range(3)))
    assert receiver.deliveries[0] == receiver.deliveries[1]
    assert receiver.refused == 0


def test_retry_after_is_what_the_runner_waits(receiver: Receiver) -> None:
    """It goes into the failure, from where the runner takes it."""
    receiver.answers = [web.Response(status=429, headers={"retry-after": "77"})]
    with pytest.raises(RetryLater, match="answers 429") as caught:
        write(WebhookSink(Settings(), receiver.dsn), block(TopicName.DOCUMENTS, range(3)))
    assert caught.value.after == timedelta(seconds=77)


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    """Rows go to nobody that the DSN does not name."""
    receiver.answers = [web.Response(status=307, headers={"location": f"http://127.0.0.1:{receiver.port}/hook"})]
    with pytest.raises(RetryLater, match="answers 307"):
        write(WebhookSink(Settings(), receiver.dsn), block(TopicName.DOCUMENTS, range(3)))
    assert receiver.deliveries == []


def test_a_wrong_secret_is_trouble_that_tells_no_secret(receiver: Receiver) -> None:
    """The records wait; the message has neither the secret nor the password."""
    wrong = receiver.dsn.replace("whsec_", "whsec_AAAA")
    with pytest.raises(RetryLater, match="answers 401") as caught:
        write(WebhookSink(Settings(), wrong), block(TopicName.DOCUMENTS, range(3)))
    assert not any(each in str(caught.value) for each in ("whsec", "pass"))
    assert receiver.refused == 1


def test_a_server_that_is_away_or_hangs_up_is_trouble() -> None:
    """No connection, and one that ends without an answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    dsn = f"webhook+http://me:hush@127.0.0.1:{port}/hook?secret=whsec_{'A' * 32}"
    with pytest.raises(RetryLater, match="does not answer") as caught:
        write(WebhookSink(Settings(), dsn), block(TopicName.DOCUMENTS, range(3)))
    assert "hush" not in str(caught.value)


def test_another_cluster_gets_the_records_with_key_and_trace(servers: Servers) -> None:
    """A reader there finds what stands here: keyed alike, decodable by the contract, in the same trace."""
    prefix = f"copy-{uuid4().hex[:8]}-"
    trace = trace_of("test", document(1).url_id, 0)
    documents = Block(TopicName.DOCUMENTS, 0, (Entry(1, document(1), trace),))
    pages = Block(TopicName.PAGES, 0, (Entry(1, page(1), None),))
    write(KafkaSink(Settings(), servers.kafka.dsn(prefix)), documents, pages)
    [found] = servers.kafka.records(f"{prefix}documents")
    assert (found.key, decode(Document, found.value)) == (document(1).url_id, document(1))
    assert trace.trace_id.encode() in found.headers["traceparent"]
    [raw] = servers.kafka.records(f"{prefix}pages")
    assert decode(Page, raw.value) == page(1)


def test_a_replay_into_another_cluster_names_the_same_rows(servers: Servers) -> None:
    """Records come twice, and whoever folds by the header has each once."""
    prefix = f"copy-{uuid4().hex[:8]}-"
    dsn = servers.kafka.dsn(prefix)
    for offsets in (range(20), range(10, 30)):
        write(KafkaSink(Settings(), dsn), block(TopicName.FETCHES, offsets))
    names = [record.headers[ID] for record in servers.kafka.records(f"{prefix}fetches")]
    assert (len(names), len(set(names))) == (40, 30)


def test_a_pipeline_does_not_write_into_the_topics_that_it_reads(servers: Servers) -> None:
    """Its own cluster without a prefix would be a circle, under whatever address."""
    here = servers.kafka.settings
    dsn = f"kafka://localhost:{servers.kafka.broker.bootstrap_servers.rpartition(':')[2]}/"
    with pytest.raises(UserError, match="in circles"):
        write(KafkaSink(here, dsn), block(TopicName.DOCUMENTS, range(1)))


def test_a_cluster_that_is_away_is_waited_for() -> None:
    """It is no mistake of the user's that a broker is down."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(RetryLater, match="does not answer"):
        write(KafkaSink(Settings(), f"kafka://127.0.0.1:{port}/copy-"), block(TopicName.DOCUMENTS, range(1)))


def test_the_password_of_this_cluster_is_not_for_another() -> None:
    """Client settings hold for the cluster that they were set for; the DSN brings its own."""
    settings = Settings(kafka=KafkaSettings(client={"sasl.password": "ours"}))
    sink = KafkaSink(settings, "kafka://me:th%2Firs@host:9092/copy-?security.protocol=SASL_SSL")
    assert sink._there.kafka.client == {
        "security.protocol": "SASL_SSL",
        "sasl.username": "me",
        "sasl.password": "th/irs",
    }
