"""Who may ask the monitor what."""

import dataclasses
from pathlib import Path

import pytest

from infra.errors import UserError
from infra.settings import Settings
from infra.settings.monitor import MonitorSettings
from monitor import endpoint
from monitor.api.guard import Asked, Policy, is_loopback, refusal
from monitor.stage import policy_of

TOKEN = "a-token-of-enough-length"
LOCAL = Policy(TOKEN, frozenset(), open_reading=True)
OPEN = Policy(TOKEN, frozenset({"crawl.example"}), open_reading=False)
READ = Asked(changes=False, host="127.0.0.1:8000", origin=None, authorization=None, content_type="text/plain")
CHANGE = Asked(
    changes=True,
    host="127.0.0.1:8000",
    origin="http://127.0.0.1:8000",
    authorization=f"Bearer {TOKEN}",
    content_type="application/json",
)


def test_who_shows_the_token_may_change() -> None:
    """From our own page, or from a program that names no origin."""
    assert refusal(CHANGE, LOCAL) is None
    assert refusal(dataclasses.replace(CHANGE, origin=None), LOCAL) is None


@pytest.mark.parametrize(
    "shown", [None, "", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN} ", "Bearer \udc80"]
)
def test_without_the_token_nothing_is_changed(shown: str | None) -> None:
    """Whatever is shown instead, also on loopback and from our own page."""
    assert refusal(dataclasses.replace(CHANGE, authorization=shown), LOCAL) == "token"


@pytest.mark.parametrize(
    "origin", ["https://evil.test", "null", "http://127.0.0.1:8001", "http://127.0.0.1:8000.evil.test", "http://[", ""]
)
def test_pages_of_others_may_not_even_read(origin: str) -> None:
    """An origin that is not ours is refused, with the token and without."""
    assert refusal(dataclasses.replace(CHANGE, origin=origin), LOCAL) == "origin"
    assert refusal(dataclasses.replace(READ, origin=origin), LOCAL) == "origin"


@pytest.mark.parametrize("host", ["evil.test", "evil.test:8000", "127.0.0.1.evil.test", "", "[", "crawl.example"])
def test_a_rebound_name_is_refused(host: str) -> None:
    """A name of somebody else that leads to this machine is no name of ours, whatever its page sends."""
    asked = dataclasses.replace(CHANGE, host=host, origin=f"http://{host}")
    assert refusal(asked, LOCAL) == "host"


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:9"])
def test_loopback_reads_freely(host: str) -> None:
    """By any of its names, and without a token."""
    assert refusal(dataclasses.replace(READ, host=host), LOCAL) is None


def test_from_elsewhere_reading_wants_the_token_too() -> None:
    """But the page's own files, which hold no data, are for everybody who may see the login."""
    asked = dataclasses.replace(READ, host="crawl.example")
    assert refusal(asked, OPEN) == "token"
    assert refusal(dataclasses.replace(asked, authorization=f"bearer {TOKEN}"), OPEN) is None
    assert refusal(dataclasses.replace(asked, has_data=False), OPEN) is None


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_form_could_send_changes_nothing(kind: str) -> None:
    """JSON alone is taken: a foreign page needs leave to send that, which nobody gives."""
    assert refusal(dataclasses.replace(CHANGE, content_type=kind), LOCAL) == "content_type"


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("127.9.9.9", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("crawl.example", False),
    ],
)
def test_what_is_loopback(address: str, local: bool) -> None:
    """Only what no other machine reaches."""
    assert is_loopback(address) is local


def settings(tmp_path: Path, **monitor: object) -> Settings:
    """Settings of a monitor."""
    return Settings(data_dir=tmp_path, monitor=MonitorSettings.model_validate(monitor))


def test_nobody_opens_the_door_without_a_token(tmp_path: Path) -> None:
    """An address that others reach needs a token that was set; a made-up one nobody could know."""
    with pytest.raises(UserError, match=r"set monitor\.token"):
        policy_of(settings(tmp_path, address="0.0.0.0"))
    assert not policy_of(settings(tmp_path, address="0.0.0.0", token=TOKEN)).open_reading
    assert policy_of(settings(tmp_path)).open_reading


def test_the_token_comes_from_a_file(tmp_path: Path) -> None:
    """A mounted secret works, a file that is missing, empty or short is refused, and every made-up token is another."""
    file = tmp_path / "token"
    for text in (None, "", "short"):
        if text is not None:
            file.write_text(text)
        with pytest.raises(UserError):
            policy_of(settings(tmp_path, token_file=file))
    file.write_text(f"{TOKEN}\n")
    assert policy_of(settings(tmp_path, token_file=file)).token == TOKEN
    assert policy_of(settings(tmp_path)).token != policy_of(settings(tmp_path)).token


def test_the_endpoint_is_for_its_owner_alone(tmp_path: Path) -> None:
    """The file holds the token, so nobody else may read it; it goes when the monitor does."""
    here = settings(tmp_path)
    endpoint.publish(here, "http://127.0.0.1:1", TOKEN)
    file = tmp_path / endpoint.FILE
    assert file.read_text() == f"http://127.0.0.1:1/#token={TOKEN}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    endpoint.withdraw(here)
    endpoint.withdraw(here)
    assert not file.exists()
