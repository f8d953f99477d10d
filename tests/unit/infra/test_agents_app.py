"""How librdkafka's security settings become Faust's."""

import faust
import pytest

from infra.agents.app import credentials
from infra.errors import UserError


def test_plaintext_needs_nothing() -> None:
    """Without security settings there are no credentials; tuning of librdkafka is none of Faust's business."""
    assert credentials({}) is None
    assert credentials({"security.protocol": "PLAINTEXT", "socket.timeout.ms": "1000"}) is None


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl_is_passed_on(mechanism: str) -> None:
    """User, password, mechanism and TLS reach Faust, and no password is in what it shows of itself."""
    client = {"security.protocol": "sasl_ssl", "sasl.mechanism": mechanism, "sasl.username": "u"}
    made = credentials(client | {"sasl.password": "secret", "ssl.endpoint.identification.algorithm": "https"})
    assert isinstance(made, faust.SASLCredentials)
    assert (made.username, made.password, made.mechanism.value) == ("u", "secret", mechanism)
    assert made.ssl_context is not None
    assert made.ssl_context.check_hostname
    assert "secret" not in repr(made)


def test_tls_checks_the_broker() -> None:
    """TLS without SASL verifies certificate and name."""
    made = credentials({"security.protocol": "ssl"})
    assert isinstance(made, faust.SSLCredentials)
    assert made.context.check_hostname


@pytest.mark.parametrize(
    "client",
    [
        {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"},
        {"security.protocol": "nonsense"},
        {"ssl.endpoint.identification.algorithm": "none"},
        {"security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"},
        {"security.protocol": "ssl", "ssl.key.password": "secret"},
    ],
)
def test_what_faust_cannot_follow_is_refused(client: dict[str, str]) -> None:
    """A setting that would silently not hold is an error that names it and shows no secret."""
    with pytest.raises(UserError, match=r"kafka\.client") as caught:
        credentials(client)
    assert "secret" not in str(caught.value)
