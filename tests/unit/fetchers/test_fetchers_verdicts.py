"""Each end of an attempt has exactly one outcome."""

import errno
import re
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.faults import BlockedAddress, BrokenProtocol, ConnectFault, Disconnected, DnsFault, Late, NoSuchHost
from fetchers.verdicts import describe, of_exception, of_status
from schemas.outcomes import CONSEQUENCES, HostEffect, Outcome, Retry


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *((200, Outcome.OK), (204, Outcome.OK), (301, Outcome.REDIRECT), (308, Outcome.REDIRECT)),
        *((404, Outcome.CLIENT_ERROR), (410, Outcome.CLIENT_ERROR), (408, Outcome.TIMEOUT)),
        *((429, Outcome.RATE_LIMITED), (500, Outcome.SERVER_ERROR), (503, Outcome.SERVER_ERROR)),
        *((304, Outcome.PROTOCOL_ERROR), (101, Outcome.PROTOCOL_ERROR), (999, Outcome.PROTOCOL_ERROR)),
    ],
)
def test_a_status_has_its_outcome(status: int, outcome: Outcome) -> None:
    """Statuses map by their class, with the exceptions that matter to a crawler."""
    assert of_status(status, conditional=False) is outcome


def test_not_modified_answers_a_condition_alone() -> None:
    """A 304 that nobody asked for is no answer."""
    assert of_status(304, conditional=True) is Outcome.NOT_MODIFIED


@given(st.integers(0, 10_000), st.booleans())
def test_any_status_has_an_outcome(status: int, conditional: bool) -> None:
    """Whatever number a server sends."""
    assert isinstance(of_status(status, conditional=conditional), Outcome)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NoSuchHost("x"), Outcome.NO_SUCH_HOST),
        (DnsFault("x"), Outcome.DNS_ERROR),
        (BlockedAddress("x"), Outcome.BLOCKED_ADDRESS),
        (ConnectFault("x"), Outcome.CONNECT_ERROR),
        (ConnectionRefusedError(111, "x"), Outcome.CONNECT_ERROR),
        (ssl.SSLCertVerificationError("x"), Outcome.TLS_ERROR),
        (ssl.SSLError(1, "x"), Outcome.TLS_ERROR),
        (Late("x"), Outcome.TIMEOUT),
        (TimeoutError(), Outcome.TIMEOUT),
        (Disconnected("x"), Outcome.DISCONNECT),
        (ConnectionResetError(), Outcome.DISCONNECT),
        (BrokenProtocol("x"), Outcome.PROTOCOL_ERROR),
        (UnicodeError("label too long"), Outcome.PROTOCOL_ERROR),
        (ValueError("x"), Outcome.PROTOCOL_ERROR),
        (OSError(errno.EHOSTUNREACH, "x"), Outcome.CONNECT_ERROR),
        (OSError(errno.EMFILE, "too many open files"), Outcome.UNKNOWN),
        (RuntimeError("x"), Outcome.UNKNOWN),
    ],
)
def test_an_exception_has_its_outcome(error: Exception, outcome: Outcome) -> None:
    """Every class that comes over the border maps by one table; what lacks on our side is not the host's fault."""
    assert of_exception(error) is outcome


def test_the_documented_table_is_the_table_in_force() -> None:
    """What becomes of the URL and of the host, outcome by outcome, as the manual says."""
    manual = (Path(__file__).parents[3] / "docs" / "fetchers.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", manual, re.MULTILINE)
    words = {"later": Retry.LATER, "again, not counted": Retry.UNCOUNTED, "again, by a browser": Retry.BROWSER}
    told = {
        name: (next((retry for word, retry in words.items() if url.startswith(word)), Retry.NEVER), effect)
        for name, url, host in rows
        if name in set(Outcome)
        for effect in HostEffect
        if host.startswith({"none": "-", "slow_down": "slows down", "trouble": "trouble"}[effect])
    }
    assert told == {outcome.value: tuple(consequence) for outcome, consequence in CONSEQUENCES.items()}


def test_an_error_is_told_without_secrets_or_surrogates() -> None:
    """The text fits any serialiser, one line, and no user info is in it."""
    text = describe(ValueError("http://user:pw@h.test/\n caf\udce9 " + "x" * 9_999))
    assert "pw" not in text
    assert "\n" not in text
    assert len(text) <= 500
    text.encode("utf-8")
