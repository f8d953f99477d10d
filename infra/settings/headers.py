"""Settings of what the fetchers send besides the URL."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from infra.settings.group import Group

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What the client itself answers for: another value would break the exchange, or claim what cannot be decoded.
_OURS = frozenset(
    {
        *("host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade"),
        *("signature", "signature-input", "signature-agent"),
    }
)
_BRAND_VERSION = re.compile(r'"(?:Chromium|Google Chrome|Microsoft Edge)";v="(\d+)"')


def is_header_value(text: str) -> bool:
    """Whether the text can be sent: a line break in it would be a header of somebody else's choice."""
    return text.isascii() and text.isprintable()


def is_header_name(name: str) -> bool:
    """Whether the field is one that somebody may set beside the client, which answers for some itself."""
    return _NAME.fullmatch(name) is not None and name.lower() not in _OURS


def checked(headers: dict[str, str]) -> dict[str, str]:
    """The headers, if they can be sent."""
    for name, value in headers.items():
        if not is_header_name(name):
            raise ValueError(f"{name!r} is no header that can be set")
        if not is_header_value(value):
            raise ValueError(f"the value of {name} is not printable ASCII")
    return headers


class Profile(Group):
    """A set of headers that go together, as one browser on one machine sends them."""

    user_agent: str = Field(min_length=1)
    accept: str = "text/html,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.5"
    accept_language: str | None = None
    more: dict[str, str] = {}
    """In this order: client hints and the like."""

    @property
    def headers(self) -> dict[str, str]:
        """All of them, in the order in which they are sent."""
        language = {"Accept-Language": self.accept_language} if self.accept_language else {}
        return {"User-Agent": self.user_agent, "Accept": self.accept} | language | self.more

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        checked(self.headers)
        hints = {name.lower(): value for name, value in self.more.items()}
        versions = set(_BRAND_VERSION.findall(hints.get("sec-ch-ua", "")))
        if versions and not any(re.search(rf"/{version}\b", self.user_agent) for version in versions):
            raise ValueError("sec-ch-ua names another version than the user agent")
        if "sec-ch-ua-mobile" in hints and (hints["sec-ch-ua-mobile"] == "?1") != ("Mobile" in self.user_agent):
            raise ValueError("sec-ch-ua-mobile and the user agent disagree")
        platform = hints.get("sec-ch-ua-platform", "").strip('"').replace("macOS", "Mac OS")
        if platform and platform.split(" ")[0].lower() not in self.user_agent.lower():
            raise ValueError("sec-ch-ua-platform and the user agent disagree")
        return self


class SignatureSettings(Group):
    """Web Bot Auth: each request signed, so that sites can tell us from those who only say they are us."""

    key_file: Path | None = None
    """An Ed25519 private key as PEM (PKCS 8); without one nothing is signed."""
    agent: str = Field(default="", pattern=r"^(https://[!-~]+)?$")
    """Where the directory of our keys is served, for the Signature-Agent header."""
    lifetime: timedelta = Field(default=timedelta(minutes=1), ge=timedelta(seconds=1), le=timedelta(days=1))
    """How long a signature may be believed; clocks differ, and a proxy may hold a request up."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.key_file is None) != (not self.agent) or set(self.agent) & set('"\\'):
            raise ValueError("a key and the https:// address of its directory belong together")
        return self


class HeaderSettings(Group):
    """Honest by default: who we are, and nothing else. robots.txt is asked by the identity's token in any case."""

    profiles: tuple[Profile, ...] = ()
    """Instead of our own name; each host gets the same one always."""
    hosts: dict[str, dict[str, str]] = Field(default={}, repr=False)
    """More headers for some hosts, by name or ``*.suffix``: the longest that fits. They may be secrets."""
    cookies: bool = False
    """Whether cookies are kept, for each crawl and site apart and in this process alone, and sent back."""
    cookie_sites: int = Field(default=10_000, ge=1)
    """Sites whose cookies are remembered; the one used longest ago goes first."""
    cookies_per_site: int = Field(default=50, ge=1, le=1_000)

    signatures: SignatureSettings = SignatureSettings()

    @field_validator("hosts")
    @classmethod
    def _can_be_sent(cls, hosts: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        return {name.lower(): checked(headers) for name, headers in hosts.items()}
