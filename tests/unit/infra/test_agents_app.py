"""How the one group of security settings reaches librdkafka and Faust alike."""

import asyncio
from pathlib import Path
from typing import Any

import faust
import pytest
from pydantic import ValidationError

from infra.agents.credentials import Tokens, credentials
from infra.errors import UserError
from infra.kafka.security import security_config
from infra.settings import KafkaSettings
from infra.settings.security import OAuthSettings, SecuritySettings


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    """A password as an orchestrator or an editor leaves it."""
    path = tmp_path / "password"
    path.write_text("secret\n")
    return path


def test_plaintext_needs_nothing() -> None:
    """Without security settings there are no credentials and nothing but the protocol is said."""
    assert credentials(SecuritySettings()) is None
    assert security_config(SecuritySettings()) == {"security.protocol": "plaintext"}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_is_the_same_for_both(mechanism: Any, secret_file: Path) -> None:
    """User, password, mechanism and TLS with a check of the name reach both; no secret is in what is shown of them."""
    security = SecuritySettings(protocol="sasl_ssl", mechanism=mechanism, username="u", password_file=secret_file)
    made = credentials(security)
    assert isinstance(made, faust.SASLCredentials)
    assert (made.username, made.password, made.mechanism.value) == ("u", "secret", mechanism)
    assert made.ssl_context is not None
    assert made.ssl_context.check_hostname
    assert "secret" not in repr(made) + repr(KafkaSettings(security=security))
    config = security_config(security)
    assert config["sasl.mechanism"] == mechanism
    assert (config["sasl.username"], config["sasl.password"]) == ("u", "secret")
    assert config["ssl.endpoint.identification.algorithm"] == "https"


def test_tls_checks_the_broker() -> None:
    """TLS without SASL verifies certificate and name, and is no older than 1.2."""
    made = credentials(SecuritySettings(protocol="ssl"))
    assert isinstance(made, faust.SSLCredentials)
    assert made.context.check_hostname
    assert made.context.minimum_version.name == "TLSv1_2"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"protocol": "nonsense"}, "protocol"),
        ({"protocol": "sasl_ssl"}, "needs username and password_file"),
        ({"protocol": "sasl_ssl", "mechanism": "OAUTHBEARER"}, "needs oauth"),
        ({"protocol": "ssl", "certificate_file": __file__}, "go together"),
        ({"protocol": "ssl", "ca_file": "/nowhere/ca.pem"}, "does not point to a file"),
        ({"protocol": "ssl", "password": "x"}, "Extra inputs"),
    ],
)
def test_settings_that_could_not_hold_are_refused(wrong: dict[str, Any], told: str) -> None:
    """What is incomplete, misspelt or missing on disk is an error that says so, not a weaker connection."""
    with pytest.raises(ValidationError, match=told):
        SecuritySettings.model_validate(wrong)


def test_security_has_one_door() -> None:
    """Librdkafka's own names for security are refused: Faust would not follow them."""
    with pytest.raises(ValidationError, match=r"sasl\.password: use kafka\.security"):
        KafkaSettings(client={"sasl.password": "secret"})


def test_unusable_files_are_told_without_what_is_in_them(secret_file: Path) -> None:
    """A file that is no certificate is an error of the user's, and shows nothing of its content."""
    with pytest.raises(UserError, match=r"kafka\.security") as caught:
        credentials(SecuritySettings(protocol="ssl", ca_file=secret_file))
    assert "secret" not in str(caught.value).replace("security", "")


def test_a_token_is_used_while_most_of_its_life_is_left(secret_file: Path) -> None:
    """One question to the issuer serves until four fifths of the token's life are over; then another is had."""
    now = [0.0]
    asked: list[str] = []

    def fetch(oauth: OAuthSettings) -> dict[str, Any]:
        asked.append(oauth.client_id)
        return {"access_token": f"token-{len(asked)}", "expires_in": 100}

    oauth = OAuthSettings.model_validate(
        {"token_url": "http://127.0.0.1/token", "client_id": "c", "client_secret_file": secret_file}
    )
    tokens = Tokens(oauth, fetch, lambda: now[0])
    given = []
    for now[0] in (0.0, 79.0, 81.0):
        given.append(asyncio.run(tokens.token()))
    assert given == ["token-1", "token-1", "token-2"]
