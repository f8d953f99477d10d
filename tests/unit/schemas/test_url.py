"""URL identity: standard cases, reported faults and properties."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.url import MAX_URL_LENGTH, InvalidUrl, Url, canonicalize, join, registrable_domain, split, url_id


def rows(cases: Path, name: str) -> list[dict[str, dict[str, str]]]:
    """The rows of one file of standard cases."""
    return [json.loads(line) for line in (cases / name).read_text().splitlines()]


def test_join_agrees_with_the_url_standard(cases: Path) -> None:
    """For http and https our join has the validity, host, port, path and query that the WPT vectors expect."""
    checked = 0
    for row in rows(cases, "wpt_url.jsonl"):
        url, base, expected = row["input"]["url"], row["input"].get("base"), row["expected"]
        ours = join(base or "about:blank", url)
        if expected is None:
            assert ours is None or ours.startswith("about:"), (url, base, ours)
        elif expected["protocol"] in ("http:", "https:"):
            assert ours == expected["href"], (url, base)
        else:
            continue
        checked += 1
    assert checked > 150


def test_relative_references_resolve_as_crawler_commons_expects(cases: Path) -> None:
    """Relative references resolve as the vectors of crawler-commons say."""
    for row in rows(cases, "crawlercommons_url_resolve.jsonl"):
        base = row["input"]["base"].strip('"')
        expected = str(row["expected"]).strip('"')
        found = join(base or "about:blank", row["input"]["url"])
        assert found == expected, row["input"]


@pytest.mark.parametrize(
    ("base", "reference", "right"),
    [
        ("http://h.test/", "../download/", "http://h.test/download/"),
        ("http://h.test/", "\n http://o.test/a_0.shtml \n", "http://o.test/a_0.shtml"),
        (None, "http://h.test/x%E2%84%A2-y", "http://h.test/x%E2%84%A2-y"),
        (None, "http://h.test/_/90%+of+it", "http://h.test/_/90%25+of+it"),
        (None, "http://h.test/w?key=%252fx", "http://h.test/w?key=%252fx"),
        (None, "http://h.test/p#top", "http://h.test/p"),
        (None, "http://h.test/p#", "http://h.test/p"),
        ("http://h.test/", "/a b 2015.pdf", "http://h.test/a%20b%202015.pdf"),
        (None, "http://h.test/nb%5Cx.nsf", "http://h.test/nb%5Cx.nsf"),
        (None, "http://h.test\\a", "http://h.test/a"),
        (None, "http://h.test/cmp/Dia%25", "http://h.test/cmp/Dia%25"),
        (None, "http://user:secret@h.test/", "http://h.test/"),
        (None, "HTTP://H.Test.:80/%7eme?%e2", "http://h.test/~me?%E2"),
        (None, "https://h.test:443/", "https://h.test/"),
        (None, "http://h.test:8080/", "http://h.test:8080/"),
        (None, "http://127.1/", "http://127.0.0.1/"),
        (None, "http://[::FFFF:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        (None, "http://bücher.test/", "http://xn--bcher-kva.test/"),
    ],
)
def test_the_canonical_form(base: str | None, reference: str, right: str) -> None:
    """Faults that users of other crawlers reported do not happen, and the form is the expected one."""
    assert canonicalize(reference, base).href == right


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("http://xn--/", "malformed"),
        ("http://h..test/", "host"),
        ("http://h.test/\ud800", "malformed"),
        ("http://h.test/" + "a" * 2_000_000, "too_long"),
        ("http://h.test/" + "a" * MAX_URL_LENGTH, "too_long"),
        ("ftp://h.test/", "scheme"),
        ("javascript:alert(1)", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("http://", "malformed"),
        ("h.test", "malformed"),
        ("http://h.test:22/", "port"),
        ("http://127.0.0.1%2f@example.com:25/", "port"),
    ],
)
def test_what_cannot_be_crawled_is_refused_with_its_fault(text: str, fault: str) -> None:
    """A text that is no crawlable URL is refused at the border, by name."""
    with pytest.raises(InvalidUrl) as caught:
        canonicalize(text)
    assert caught.value.reason == fault


def test_credentials_before_an_at_sign_do_not_hide_the_host() -> None:
    """The host is what a browser connects to, whatever stands before the last @."""
    assert canonicalize("http://example.com@127.0.0.1/").host == "127.0.0.1"
    assert canonicalize("http://example.com\\@evil.test/").host == "example.com"


@given(st.text(max_size=80))
def test_canonicalizing_never_raises_anything_else(text: str) -> None:
    """Whatever the text: a canonical URL or InvalidUrl."""
    try:
        url = canonicalize(text)
    except InvalidUrl:
        return
    assert url.scheme in ("http", "https")


@given(st.sampled_from(["http://h.test/", "https://h.test:8443/?", "http://h.test/a/"]), st.text(max_size=60))
def test_the_canonical_form_is_idempotent(prefix: str, text: str) -> None:
    """Canonicalizing a canonical URL changes nothing, and taking it apart gives the same parts."""
    try:
        once = canonicalize(prefix + text)
    except InvalidUrl:
        return
    assert canonicalize(once.href) == once
    assert split(once.href) == once
    assert url_id(once.href) == url_id(canonicalize(once.href).href)


@given(st.from_regex(r"[a-z]{1,10}(\.[a-z]{1,10}){0,2}", fullmatch=True), st.integers(1, 65_535))
def test_host_name_and_port_are_the_parts_of_the_host(name: str, port: int) -> None:
    """The host is the name with a port only where it is not the scheme's own."""
    try:
        url = canonicalize(f"http://{name}:{port}/x?y")
    except InvalidUrl:
        return
    assert (url.name, url.port, url.path) == (name, port, "/x?y")
    assert url.host == (name if port == 80 else f"{name}:{port}")


def test_registrable_domains_follow_the_public_suffix_list() -> None:
    """One label more than the public suffix; addresses are their own."""
    assert registrable_domain("a.b.example.co.uk:8080") == "example.co.uk"
    assert registrable_domain("me.github.io") == "me.github.io"
    assert registrable_domain("127.0.0.1") == "127.0.0.1"
    assert registrable_domain("[::1]:80") == "[::1]"


def test_ids_have_16_bytes_and_differ() -> None:
    """Two URLs have two ids of 16 bytes."""
    one, other = url_id("http://h.test/a"), url_id("http://h.test/b")
    assert len(one) == len(other) == 16
    assert one != other
    assert isinstance(canonicalize("http://h.test/"), Url)
