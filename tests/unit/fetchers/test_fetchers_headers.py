"""What is sent with a request."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from fetchers.headers import RequestHeaders
from infra.settings import FetcherSettings, Settings
from infra.settings.headers import HeaderSettings, Profile
from schemas.url import canonicalize
from tests.unit.fetchers.raw_web import request

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
HINTS = {
    "sec-ch-ua": '"Chromium";v="141", "Not A(Brand";v="8"',
    "sec-ch-ua-mobile": "?0",
    "sec-ch-ua-platform": '"Linux"',
}


def raw(host: str, **wanted: Any) -> str:
    """A request for a page of a host."""
    headers = RequestHeaders(Settings(fetchers=FetcherSettings(headers=HeaderSettings(**wanted))))
    href = f"http://{host}/x?y"
    return headers.of(canonicalize(href), request(href)).raw.decode()


def test_the_default_is_honest_and_bare() -> None:
    """Our name, what we can read, nothing else."""
    assert raw("h.test") == (
        "GET /x?y HTTP/1.1\r\nHost: h.test\r\nUser-Agent: Odradek/0.1 (crawler)\r\n"
        "Accept: text/html,application/xhtml+xml;q=0.9,application/xml;q=0.8,*/*;q=0.5\r\n"
        "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
    )


def test_a_host_always_meets_the_same_profile() -> None:
    """And all profiles are used, each whole."""
    profiles = [Profile(user_agent=f"A/{n}", accept_language=f"l{n}", more={"X": f"x{n}"}) for n in range(3)]

    def seen(host: str) -> tuple[str, ...]:
        return tuple(re.findall(r"(?:User-Agent: A/|Accept-Language: l|X: x)(\d)", raw(host, profiles=profiles)))

    met = {host: seen(host) for host in (f"h{n}.test" for n in range(50))}
    assert set(met.values()) == {("0",) * 3, ("1",) * 3, ("2",) * 3}
    assert all(seen(host) == profile for host, profile in met.items())


@pytest.mark.parametrize(
    ("agent", "hints"),
    [
        (CHROME, {"sec-ch-ua": '"Chromium";v="120"'}),
        (CHROME, {"sec-ch-ua-mobile": "?1"}),
        (CHROME, {"sec-ch-ua-platform": '"Windows"'}),
        (CHROME, {"X": "a\r\nY: b"}),
        ("caf\xe9", {}),
        (CHROME, {"Host": "x"}),
        (CHROME, {"Accept-Encoding": "dcb"}),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(agent: str, hints: dict[str, str]) -> None:
    """So is one that would break the request."""
    assert Profile(user_agent=CHROME, more=HINTS).headers["sec-ch-ua-mobile"] == "?0"
    with pytest.raises(ValidationError):
        Profile(user_agent=agent, more=hints)


def test_a_rule_adds_headers_for_its_hosts_alone() -> None:
    """The longest pattern counts; what it names again is replaced; nothing of it shows in the settings' text."""
    rules = {"*.h.test": {"Authorization": "Bearer t0ken"}, "b.h.test": {"user-agent": "B", "Cookie": "a=b"}}
    assert "Authorization: Bearer t0ken\r\n" in raw("a.h.test", hosts=rules)
    assert "Authorization" not in raw("h.test", hosts=rules)
    special = raw("b.h.test", hosts=rules)
    assert "Authorization" not in special
    assert "user-agent: B\r\nCookie: a=b\r\n" in special
    assert "User-Agent" not in special
    assert "t0ken" not in str(HeaderSettings(hosts=rules))
    with pytest.raises(ValidationError):
        HeaderSettings(hosts={"h.test": {"X": "a\nb"}})
