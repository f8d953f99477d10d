"""The closed set of fetch outcomes, and what each means for the URL and for its host: one table."""

from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """How one attempt to fetch one URL ended. Every attempt ends as exactly one of these."""

    OK = "ok"
    NOT_MODIFIED = "not_modified"
    REDIRECT = "redirect"
    BAD_REDIRECT = "bad_redirect"
    CLIENT_ERROR = "client_error"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    DNS_ERROR = "dns_error"
    NO_SUCH_HOST = "no_such_host"
    CONNECT_ERROR = "connect_error"
    TLS_ERROR = "tls_error"
    PROXY_ERROR = "proxy_error"
    TIMEOUT = "timeout"
    DISCONNECT = "disconnect"
    PROTOCOL_ERROR = "protocol_error"
    BLOCKED_ADDRESS = "blocked_address"
    SKIPPED = "skipped"
    NEEDS_BROWSER = "needs_browser"
    UNKNOWN = "unknown"


class Retry(StrEnum):
    """What becomes of the URL."""

    NEVER = "never"
    """The outcome is final."""
    LATER = "later"
    """Another attempt after a back-off, up to the crawl's limit of attempts."""
    UNCOUNTED = "uncounted"
    """Another attempt after a back-off; what was ours to blame does not count as one, up to a limit of its own."""
    BROWSER = "browser"
    """Another attempt, by a browser; what has shown that it needs one does not count."""


class HostEffect(StrEnum):
    """What becomes of the host."""

    NONE = "none"
    SLOW_DOWN = "slow_down"
    """The host answers but wants less: back off, doubling while it lasts; Retry-After when it says so."""
    TROUBLE = "trouble"
    """The host did not answer: back off as well, and count towards its circuit breaker."""


class Consequence(NamedTuple):
    """One row of the table."""

    retry: Retry
    host: HostEffect


CONSEQUENCES: dict[Outcome, Consequence] = {
    Outcome.OK: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.NOT_MODIFIED: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.REDIRECT: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.BAD_REDIRECT: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.CLIENT_ERROR: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.RATE_LIMITED: Consequence(Retry.LATER, HostEffect.SLOW_DOWN),
    Outcome.SERVER_ERROR: Consequence(Retry.LATER, HostEffect.SLOW_DOWN),
    Outcome.DNS_ERROR: Consequence(Retry.LATER, HostEffect.TROUBLE),
    Outcome.NO_SUCH_HOST: Consequence(Retry.LATER, HostEffect.TROUBLE),
    Outcome.CONNECT_ERROR: Consequence(Retry.LATER, HostEffect.TROUBLE),
    Outcome.TLS_ERROR: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.PROXY_ERROR: Consequence(Retry.UNCOUNTED, HostEffect.NONE),
    Outcome.TIMEOUT: Consequence(Retry.LATER, HostEffect.TROUBLE),
    Outcome.DISCONNECT: Consequence(Retry.LATER, HostEffect.TROUBLE),
    Outcome.PROTOCOL_ERROR: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.BLOCKED_ADDRESS: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.SKIPPED: Consequence(Retry.NEVER, HostEffect.NONE),
    Outcome.NEEDS_BROWSER: Consequence(Retry.BROWSER, HostEffect.NONE),
    Outcome.UNKNOWN: Consequence(Retry.LATER, HostEffect.TROUBLE),
}
