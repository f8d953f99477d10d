"""What is sent to a webhook, how it is signed, and what an answer means."""

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.errors import NeverValid, RetryLater, UserError
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.sinks import StoreSettings
from sinks.stores import make_sink
from sinks.tables import DOCUMENTS
from sinks.webhook.answers import LONGEST_WAIT, failure, wait
from sinks.webhook.deliveries import MOST_BYTES, MOST_ROWS, deliveries
from sinks.webhook.signing import key, signature
from tests.unit.sinks.sink_samples import NOON, block, block_of, document

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_a_signature_is_the_specifications() -> None:
    """The example of Standard Webhooks 1.0."""
    found = signature(key(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "hunter2", "whsec_", "whsec_" + b64encode(b"short").decode(), "whsec_ä"])
def test_a_secret_that_keeps_nobody_out_is_refused(secret: str) -> None:
    """None, one that is no base64, and one of a few bytes; none of them is repeated."""
    with pytest.raises(UserError, match="at least 24 random bytes") as caught:
        make_sink("x", StoreSettings(dsn=f"webhook+https://h.test/?secret={secret}"), Settings())
    assert not secret or secret == "whsec_" or secret not in str(caught.value)


def test_deliveries_are_bounded_and_hold_every_row() -> None:
    """So many rows, so many bytes; a row that is larger goes alone."""
    records = [document(each, text="x" * (300_000 if each % 5 == 0 else 10)) for each in range(1_200)]
    records[7] = document(7, text="x" * (2 * MOST_BYTES))
    made = list(deliveries(DOCUMENTS, block_of(TopicName.DOCUMENTS, *records)))
    rows = [json.loads(each.body)["data"] for each in made]
    assert [row["url"] for part in rows for row in part] == [each.url for each in records]
    assert all(len(part) <= MOST_ROWS for part in rows)
    assert all(len(each.body) < MOST_BYTES + 1_000 or len(part) == 1 for each, part in zip(made, rows, strict=True))
    assert len({each.id for each in made}) == len(made)


def test_the_same_block_is_the_same_deliveries() -> None:
    """A repeat has the same names and bodies; other records at the same offsets have other names."""
    first = list(deliveries(DOCUMENTS, block(TopicName.DOCUMENTS, range(900))))
    assert list(deliveries(DOCUMENTS, block(TopicName.DOCUMENTS, range(900)))) == first
    others = deliveries(DOCUMENTS, block(TopicName.DOCUMENTS, range(900), crawl="other"))
    assert {each.id for each in first}.isdisjoint(each.id for each in others)


def test_a_message_says_what_it_is() -> None:
    """Type, the time of its newest row, and the rows."""
    [made] = deliveries(DOCUMENTS, block(TopicName.DOCUMENTS, range(3)))
    message = json.loads(made.body)
    assert (message["type"], len(message["data"])) == ("odradek.documents", 3)
    assert datetime.fromisoformat(message["timestamp"]) == NOON + timedelta(seconds=3)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_two_hundreds_are_taken(status: int) -> None:
    """Whatever kind of success it is."""
    assert failure("h", status, None, NOON) is None


@pytest.mark.parametrize("status", [400, 413, 422])
def test_some_answers_speak_against_a_row(status: int) -> None:
    """Smaller deliveries come, down to the bad record."""
    assert isinstance(failure("h", status, None, NOON), NeverValid)


@pytest.mark.parametrize("status", [100, 301, 308, 401, 403, 404, 405, 408, 410, 429, 500, 502, 503, 504, 599])
def test_all_other_answers_are_trouble(status: int) -> None:
    """The records are good: they wait until somebody has mended it."""
    assert isinstance(failure("h", status, None, NOON), RetryLater)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, None),
        ("7", timedelta(seconds=7)),
        (" 0 ", timedelta(0)),
        ("999999", LONGEST_WAIT),
        ("Tue, 01 Dec 2026 12:00:30 GMT", timedelta(seconds=30)),
        ("Tue, 01 Dec 2026 11:00:00 GMT", timedelta(0)),
        ("Tue, 01 Dec 2999 12:00:30 GMT", LONGEST_WAIT),
        ("soon", None),
        ("-3", None),
    ],
)
def test_the_receiver_says_when_to_come_back(said: str | None, meant: timedelta | None) -> None:
    """Seconds or a date, within reason; nonsense says nothing."""
    assert wait(said, NOON) == meant


@given(st.text(max_size=60))
def test_no_word_of_the_receiver_breaks_anything(said: str) -> None:
    """Whatever stands in Retry-After."""
    found = wait(said, datetime(2026, 1, 1, tzinfo=UTC))
    assert found is None or timedelta(0) <= found <= LONGEST_WAIT


def test_the_example_of_the_documentation_verifies_what_we_sign() -> None:
    """What a receiver copies from the page works, and takes nothing that was changed."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "handing-on.md").read_text()
    names: dict[str, Any] = {}
    exec(text.split("```python")[1].split("```")[0], names)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": "1"}
    headers["webhook-signature"] = signature(key(SECRET), "msg_1", 1, b"body")
    assert names["genuine"](SECRET, headers, b"body")
    assert not names["genuine"](SECRET, headers, b"bodY")
