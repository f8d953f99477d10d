"""Every client against a broker with TLS, users and access rules: what is right works, what is wrong is told once."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from infra.agents.app import make_app, raw_topic
from infra.errors import UserError
from infra.kafka.admin import Topics
from infra.kafka.producer import Outbound, Producer
from infra.kafka.rights import COMPONENTS
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.settings.security import OAuthSettings, SecuritySettings
from tests.integration.guarded_kafka import GuardedKafka

STAGES = ("frontier", "fetchers", "streams", "sinks", "monitor")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """One broker for all of them."""
    kafka = GuardedKafka(tmp_path_factory.mktemp("guarded"), *COMPONENTS)
    kafka.start()
    try:
        yield kafka
    finally:
        kafka.broker.stop()


def run(kafka: GuardedKafka, settings: Settings, stage: str) -> "subprocess.Popen[str]":
    """The stage as an orchestrator starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "infra.cli", "run", stage],
        env={**os.environ, **kafka.environment(settings)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> tuple[int, list[str]]:
    """Exit code and what was said."""
    out, _ = process.communicate(timeout=60)
    return process.returncode, out.splitlines()


def consumed(settings: Settings, group: str, value: bytes) -> bool:
    """Whether a Faust app of this group reads the value from ``pages``."""

    async def read() -> bool:
        app = make_app(settings, group, f"{group}-test")
        found = asyncio.Event()

        async def agent(stream: object) -> None:
            async for events in stream.noack_take(10, within=0.2):  # type: ignore[attr-defined]
                if any(event.message.value == value for event in events):
                    found.set()
                for event in events:
                    await stream.ack(event)  # type: ignore[attr-defined]

        app.agent(raw_topic(app, TopicName.PAGES), name=f"{group}.pages", concurrency=1)(agent)
        await app.start()
        try:
            await asyncio.wait_for(found.wait(), 30)
        finally:
            await app.stop()
        return True

    return asyncio.run(read())


def produce(settings: Settings, topic: TopicName, value: bytes) -> list[str]:
    """What went wrong."""
    return Producer(settings, "test").send_all([Outbound(topic, b"k", value)], timedelta(seconds=20))


def test_users_of_scram_do_their_work_with_both_clients(guarded: GuardedKafka) -> None:
    """Over TLS with a password, librdkafka writes what Faust then reads, each as the component it is."""
    assert produce(guarded.with_password("fetchers"), TopicName.PAGES, b"by scram") == []
    assert consumed(guarded.with_password("streams"), "odradek-streams", b"by scram")


def test_certificates_do_for_both_clients(guarded: GuardedKafka) -> None:
    """With mutual TLS the subject's name is the user: its rights hold, for librdkafka and for Faust."""
    assert produce(guarded.with_certificate("odradek-fetchers"), TopicName.PAGES, b"by certificate") == []
    assert consumed(guarded.with_certificate("odradek-streams"), "odradek-streams", b"by certificate")


class _Issuer(BaseHTTPRequestHandler):
    """A token endpoint that gives whoever knows the secret a token of the user it asks for, unsigned (RFC 7519, 6)."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        asked = self.rfile.read(length).decode() + self.headers.get("Authorization", "")
        now = int(time.time())
        user = "odradek-fetchers" if "fetchers" in asked + self.path else "odradek-streams"
        parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + 300})
        token = ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        body = json.dumps({"access_token": f"{token}.", "token_type": "Bearer", "expires_in": 300}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_tokens_do_for_both_clients(guarded: GuardedKafka, tmp_path: Path) -> None:
    """With OAuth each client has a token from the issuer that the settings name, and its subject is the user."""
    secret = tmp_path / "secret"
    secret.write_text("s")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Issuer) as issuer:
        threading.Thread(target=issuer.serve_forever, daemon=True).start()

        def settings(user: str) -> Settings:
            oauth = OAuthSettings.model_validate(
                {
                    "token_url": f"http://127.0.0.1:{issuer.server_port}/{user}",
                    "client_id": user,
                    "client_secret_file": secret,
                }
            )
            security = SecuritySettings(
                protocol="sasl_ssl", ca_file=guarded.authority.file, mechanism="OAUTHBEARER", oauth=oauth
            )
            return guarded.settings(guarded.guard.sasl_servers, security)

        assert produce(settings("fetchers"), TopicName.PAGES, b"by token") == []
        assert consumed(settings("streams"), "odradek-streams", b"by token")
        issuer.shutdown()


@pytest.mark.parametrize("stage", STAGES)
def test_stages_work_with_the_rights_of_their_component_alone(guarded: GuardedKafka, stage: str) -> None:
    """Each stage gets ready with its own user, says nothing of refusals, and ends cleanly."""
    process = run(guarded, guarded.with_password(stage), stage)
    assert process.stdout is not None
    lines: list[str] = []
    try:
        for line in process.stdout:
            lines.append(line)
            if '"ready changed"' in line and '"ready": true' in line:
                break
        process.send_signal(signal.SIGTERM)
        code, rest = ended(process)
    finally:
        process.kill()
    said = "".join(lines) + "\n".join(rest)
    assert code == 0, said
    assert "uthoriz" not in said
    assert '"level": "error"' not in said
    assert '"level": "warning"' not in said


def test_a_wrong_password_is_told_once(guarded: GuardedKafka) -> None:
    """A stage whose password is wrong says so in one line, shows no password, and ends with exit code 2."""
    code, lines = ended(run(guarded, guarded.with_password("streams", "mistaken"), "streams"))
    assert (code, len(lines)) == (2, 1), lines
    assert "refuses us" in lines[0]
    assert "invalid credentials" in lines[0]
    assert "mistaken" not in lines[0]


def test_an_expired_certificate_is_told_once(guarded: GuardedKafka) -> None:
    """A stage whose certificate is over says that the broker refuses it, in one line, with exit code 2."""
    code, lines = ended(run(guarded, guarded.with_certificate("odradek-streams", expired=True), "streams"))
    assert (code, len(lines)) == (2, 1), lines
    assert "refuses us" in lines[0]
    assert "certificate" in lines[0]


def test_a_broker_that_nobody_vouches_for_is_not_believed(guarded: GuardedKafka) -> None:
    """Without its authority the broker's certificate is refused by us, in one line, with exit code 2."""
    code, lines = ended(run(guarded, guarded.with_password("streams", ca_file=None), "streams"))
    assert (code, len(lines)) == (2, 1), lines
    assert "certificate verify failed" in lines[0]


def test_a_missing_right_is_told_once(guarded: GuardedKafka) -> None:
    """A stage that may not do its work says what it lacks and who grants it, in one line, with exit code 2."""
    code, lines = ended(run(guarded, guarded.with_password("nobody"), "fetchers"))
    assert (code, len(lines)) == (2, 1), lines
    assert "READ urls" in lines[0]
    assert "WRITE pages" in lines[0]
    assert "odradek topics grant" in lines[0]


def test_rights_are_no_wider_than_the_component(guarded: GuardedKafka) -> None:
    """Nobody writes or reads what the topics file does not say: the user of one stage cannot do another's work."""
    for user, topic in (("fetchers", TopicName.DOCUMENTS), ("sinks", TopicName.SEEDS), ("streams", TopicName.URLS)):
        with pytest.raises(UserError, match=f"does not let us write topic {topic}"):
            asyncio.run(_deliver(guarded.with_password(user), topic))
    seen = set(Topics(guarded.with_password("fetchers")).partition_counts())
    assert seen == {"urls", "pages", "fetches", "control", "heartbeats", "dead-letters"}


async def _deliver(settings: Settings, topic: TopicName) -> None:
    await Producer(settings, "test").deliver([Outbound(topic, b"k", b"v")])


def test_a_refusal_while_it_runs_ends_the_stage(tmp_path: Path) -> None:
    """A broker that comes back and trusts its clients no more is told once, with exit code 2, not retried for ever."""
    kafka = GuardedKafka(tmp_path / "guarded", "streams")
    kafka.start()
    try:
        process = run(kafka, kafka.with_certificate("odradek-streams"), "streams")
        assert process.stdout is not None
        for line in process.stdout:
            if '"ready changed"' in line and '"ready": true' in line:
                break
        kafka.broker.stop()
        stranger = tmp_path / "stranger"
        kafka.guard.truststore.write_text(type(kafka.authority)(stranger).file.read_text())
        kafka.broker.start()
        code, lines = ended(process)
    finally:
        kafka.broker.stop()
    failures = [json.loads(line) for line in lines if '"stage failed"' in line]
    assert code == 2, lines
    assert len(failures) == 1, lines
    assert "Kafka refuses us" in failures[0]["error"]
