"""Web Bot Auth: signed by us, verified by others."""

import base64
import json
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, MappingKeyResolver, algorithms
from pydantic import ValidationError

from fetchers.headers import RequestHeaders
from fetchers.signatures import (
    Signer,
    directory,
    new_key,
    public_key,
    read_key,
    signature_base,
    thumbprint,
)
from infra.errors import UserError
from infra.settings import FetcherSettings, Settings
from infra.settings.headers import HeaderSettings, SignatureSettings
from schemas.records import Kind
from schemas.url import canonicalize
from tests.unit.fetchers.raw_web import request

# RFC 9421, B.1.4: test-key-ed25519.
RFC_KEY = Ed25519PrivateKey.from_private_bytes(base64.b64decode("n4Ni+HpISpVObnQMW0wOhCKROaIKqKtW/2ZYb2p9KcU="))
AGENT = "https://bot.example"


@dataclass
class Message:
    """A request as the independent verifier reads it."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)


def message(raw: bytes, url: str) -> Message:
    """What a server would read from the bytes of a request."""
    first, *lines = raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    return Message(first.split(" ")[0], url, dict(line.split(": ", 1) for line in lines))


def verify(asked: Message, key: Ed25519PublicKey, key_id: str) -> str:
    """What the independent verifier says: the tag, or :class:`InvalidSignature`."""
    verifier = HTTPMessageVerifier(
        signature_algorithm=algorithms.ED25519,
        key_resolver=MappingKeyResolver(public_keys={key_id: key}, private_keys={}),
    )
    (found,) = verifier.verify(
        asked, expect_tag="web-bot-auth", require_components=("@authority", "signature-agent"),
        max_age=timedelta(minutes=5),
    )  # fmt: skip
    return str(found.parameters["tag"])


def signing(tmp_path: Path) -> tuple[RequestHeaders, Ed25519PrivateKey]:
    """Headers by settings that sign."""
    path = tmp_path / "key.pem"
    path.write_bytes(new_key())
    signatures = SignatureSettings(key_file=path, agent=AGENT)
    settings = Settings(fetchers=FetcherSettings(headers=HeaderSettings(signatures=signatures)))
    return RequestHeaders(settings), read_key(path)


def test_the_base_and_the_signature_are_those_of_the_rfc() -> None:
    """RFC 9421, B.2.6: the same bytes are signed, and Ed25519 gives one signature for them."""
    covered = [
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("@method", "POST"),
        ("@path", "/foo"),
        ("@authority", "example.com"),
        ("content-type", "application/json"),
        ("content-length", "18"),
    ]
    names = " ".join(f'"{name}"' for name, _ in covered)
    base = signature_base(covered, f'({names});created=1618884473;keyid="test-key-ed25519"')
    expected = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    assert base64.b64encode(RFC_KEY.sign(base)).decode() == expected


def test_a_key_is_named_as_the_draft_names_it() -> None:
    """The thumbprint of the RFC's key, as the architecture draft prints it; the public half as the RFC prints it."""
    assert public_key(RFC_KEY)["x"] == "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
    assert thumbprint(public_key(RFC_KEY)) == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


@pytest.mark.parametrize("url", ["http://a.test/", "https://a.test:8443/x?y=1", "http://[2001:db8::1]/"])
@pytest.mark.parametrize("kind", list(Kind))
def test_every_request_is_signed(tmp_path: Path, url: str, kind: Kind) -> None:
    """Pages and robots.txt, on any port: an independent verifier with the directory's key agrees."""
    headers, key = signing(tmp_path)
    asked = message(headers.of(canonicalize(url), request(url, kind=kind)).raw, url)
    assert verify(asked, key.public_key(), thumbprint(public_key(key))) == "web-bot-auth"
    assert asked.headers["Signature-Agent"] == f'"{AGENT}"'


def test_what_a_page_asks_for_is_signed_too(tmp_path: Path) -> None:
    """With its body and method; the page cannot put a signature of its own beside ours."""
    headers, key = signing(tmp_path)
    url = "https://a.test/api"
    forged = {"signature": "sig1=:AA==:", "signature-input": "sig1=()", "signature-agent": '"https://evil.test"'}
    raw = headers.of_part(canonicalize(url), "c", "POST", forged, b"{}")
    assert raw.count(b"Signature") == 3
    assert verify(message(raw, url), key.public_key(), thumbprint(public_key(key))) == "web-bot-auth"


@pytest.mark.parametrize(
    "change",
    [
        lambda asked: setattr(asked, "url", "http://b.test/"),
        lambda asked: asked.headers.update({"Signature-Agent": '"https://evil.test"'}),
        lambda asked: asked.headers.update({"Signature-Input": asked.headers["Signature-Input"].replace("nonce", "x")}),
    ],
)
def test_a_signature_is_of_no_use_elsewhere(tmp_path: Path, change: object) -> None:
    """For another host, another agent or with other parameters it does not verify."""
    headers, key = signing(tmp_path)
    asked = message(headers.of(canonicalize("http://a.test/"), request("http://a.test/")).raw, "http://a.test/")
    assert callable(change)
    change(asked)
    with pytest.raises(InvalidSignature):
        verify(asked, key.public_key(), thumbprint(public_key(key)))


def test_a_signature_ends() -> None:
    """After its lifetime nobody takes it any more."""
    key = RFC_KEY
    url = "http://a.test/"
    for age_s, is_good in ((0, True), (120, False)):
        lines = Signer(key, AGENT, timedelta(minutes=1)).lines("a.test", time.time() - age_s, b"n" * 16)
        asked = message(f"GET / HTTP/1.1\r\nHost: a.test\r\n{lines}\r\n".encode(), url)
        if is_good:
            assert verify(asked, key.public_key(), thumbprint(public_key(key)))
        else:
            with pytest.raises(InvalidSignature):
                verify(asked, key.public_key(), thumbprint(public_key(key)))


def test_no_two_requests_share_a_nonce(tmp_path: Path) -> None:
    """A site that remembers them can tell a request from its repeat."""
    headers, _ = signing(tmp_path)
    url = canonicalize("http://a.test/")
    assert len({headers.of(url, request(url.href)).raw for _ in range(100)}) == 100


def test_the_directory_holds_the_public_halves_alone() -> None:
    """Each key by its thumbprint; nothing of a private half is in it."""
    keys = [RFC_KEY, Ed25519PrivateKey.generate()]
    text = directory(keys)
    held = json.loads(text)["keys"]
    assert [each["kid"] for each in held] == [thumbprint(public_key(key)) for key in keys]
    assert all(set(each) == {"kty", "crv", "x", "kid", "use"} for each in held)


def test_keys_are_made_and_listed_by_a_command(tmp_path: Path) -> None:
    """Readable by its owner alone, never written over, and the directory on standard output."""
    path = tmp_path / "bot.pem"

    def odradek(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "infra.cli", "signatures", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert odradek("key", str(path)).returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    again = odradek("key", str(path))
    assert (again.returncode, path.read_bytes()) == (2, before)
    listed = odradek("directory", str(path))
    assert json.loads(listed.stdout)["keys"][0]["x"] == public_key(read_key(path))["x"]


def test_a_key_that_is_none_is_refused_without_showing_it(tmp_path: Path) -> None:
    """A missing file, a file of something else, a key of another kind."""
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for name, content in (("none", None), ("text", b"s3cret"), ("other", other)):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(UserError) as told:
            read_key(path)
        assert "s3cret" not in str(told.value)


def test_a_key_without_its_directory_is_no_setting() -> None:
    """Nobody could verify it; and an address without a key would be a claim without proof."""
    for wrong in ({"key_file": "k"}, {"agent": AGENT}, {"key_file": "k", "agent": "http://plain.test"}):
        with pytest.raises(ValidationError):
            SignatureSettings.model_validate(wrong)
