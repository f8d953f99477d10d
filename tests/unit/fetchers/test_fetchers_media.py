"""What becomes of bodies, by type and size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.media import MediaPolicy, essence, sniff
from infra.settings.fetchers import STORED_MEDIA_TYPES, MediaRule
from schemas.outcomes import Outcome
from schemas.records import Cut
from tests.unit.fetchers.raw_web import fetch_once, request, sending, settings


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["text/html; charset=utf-8"], "text/html"),
        (["text/plain", "Text/HTML"], "text/html"),
        (["text/plain, text/html"], "text/html"),
        (["text/html", "*/*"], "text/html"),
        ([";;;"], None),
        (["text"], None),
        ([], None),
    ],
)
def test_the_last_valid_type_is_in_force(values: list[str], kind: str | None) -> None:
    """As the Fetch Standard extracts it."""
    assert essence(values) == kind


def test_patterns_choose_what_is_stored() -> None:
    """The default stores what holds text, by exact type or by suffix."""
    policy = MediaPolicy((), STORED_MEDIA_TYPES, 100)
    stored = ["text/html", "application/rss+xml", "application/pdf", "application/json"]
    assert {policy.of(kind).what for kind in stored} == {"store"}
    skipped = ["image/png", "image/svg+xml", "video/mp4", "text/css", "application/zip"]
    assert {policy.of(kind).what for kind in skipped} == {"skip"}
    assert MediaPolicy((), (), 100).of("text/html").what == "skip"


def test_the_first_rule_that_fits_counts() -> None:
    """Before the list of stored types, which goes on for what no rule is for."""
    rules = [
        MediaRule(types=("image/gif",), keep="skip"),
        MediaRule(types=("image/*", "Video/*"), keep="head"),
        MediaRule(types=("application/pdf",), max_kib=2, larger="skip"),
        MediaRule(types=("text/csv",), max_kib=1, larger="head"),
        MediaRule(types=("text/plain",), max_kib=1),
    ]
    policy = MediaPolicy(rules, STORED_MEDIA_TYPES, 1_000_000)
    cases = [
        ("image/gif", None, "skip"), ("image/png", None, "head"), ("video/mp4", 9, "head"), ("text/html", 1, "store"),
        ("application/pdf", 2_048, "store"), ("application/pdf", 2_049, "skip"), ("application/pdf", None, "store"),
        ("text/csv", 1_025, "head"), ("text/plain", 5_000, "store"), ("font/woff2", None, "skip"),
    ]  # fmt: skip
    assert [policy.of(kind, length).what for kind, length, _ in cases] == [what for *_, what in cases]
    assert (policy.of("text/plain").max_bytes, policy.of("text/html").max_bytes) == (1_024, 1_000_000)


def test_no_rule_stores_more_than_any_page_may_have() -> None:
    """The limit of all bodies holds for each type."""
    policy = MediaPolicy([MediaRule(types=("a/b",), max_kib=64 * 1_024)], (), 1_000)
    assert policy.of("a/b").max_bytes == 1_000


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        *((b"<html>", "text/html"), (b" \n<!DOCTYPE HTML >", "text/html"), (b"<!-- x", "text/html")),
        *((b"<?xml version", "text/xml"), (b"", "text/plain"), (b"caf\xe9", "text/plain"), (b"<b", "text/plain")),
        *((b"%PDF-1.7\x00", "application/pdf"), (b"\xff\xfeh\x00i\x00", "text/plain")),
        *(
            (b"\x89PNG\r\n\x1a\n\x00", "image/png"),
            (b"GIF89a\x01\x00", "image/gif"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
        ),
        *((b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"), (b"PK\x03\x04", "application/zip")),
        *((b"\x1f\x8b\x08", "application/gzip"), (b"\x00\x00\x00\x20ftypisom", "video/mp4")),
        *((b"\x00\x00\x00\x20ftypavif", "image/avif"), (b"ID3\x04\x00", "audio/mpeg"), (b"wOF2\x00", "font/woff2")),
        *((b"\x00\x01", "application/octet-stream"), (b"text \x07", "application/octet-stream")),
    ],
)
def test_undeclared_bodies_are_sniffed(data: bytes, kind: str) -> None:
    """By their first bytes (MIME Sniffing Standard, 7.1)."""
    assert sniff(data) == kind


@given(st.binary(max_size=2_000))
def test_any_bytes_have_a_type(data: bytes) -> None:
    """One that a policy can be asked about, whatever they are."""
    assert essence([sniff(data)]) == sniff(data)


OK = b"HTTP/1.1 200 OK\r\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(200)
RULES = (
    MediaRule(types=("image/*",), keep="head"),
    MediaRule(types=("text/csv",), max_kib=1, larger="skip"),
    MediaRule(types=("application/json",), max_kib=1, larger="head"),
    MediaRule(types=("application/xml",), max_kib=1),
)


def chunked(body: bytes) -> bytes:
    """A body whose length nobody tells before."""
    return b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize(
    ("answer", "outcome", "body_bytes", "cut"),
    [
        (b"Content-Type: image/png\r\nContent-Length: 999999999\r\n\r\n\x89", Outcome.OK, 0, Cut.LENGTH),
        (b"Content-Type: image/png\r\nContent-Length: 1\r\n\r\nx", Outcome.OK, 0, Cut.LENGTH),
        (b"Content-Type: video/mp4\r\nContent-Length: 999999999\r\n\r\nx", Outcome.SKIPPED, 0, None),
        (b"Content-Length: %d\r\n\r\n" % len(PNG) + PNG, Outcome.OK, 0, Cut.LENGTH),
        (b"Content-Type: text/csv\r\nContent-Length: 1025\r\n\r\n" + b"x" * 1025, Outcome.SKIPPED, 0, None),
        (b"Content-Type: text/csv\r\nContent-Length: 1024\r\n\r\n" + b"x" * 1024, Outcome.OK, 1024, None),
        (b"Content-Type: text/csv\r\n" + chunked(b"x" * 1025), Outcome.SKIPPED, 0, None),
        (b"Content-Type: application/json\r\n" + chunked(b"1" * 1025), Outcome.OK, 0, Cut.LENGTH),
        (b"Content-Type: application/xml\r\n" + chunked(b"x" * 1025), Outcome.OK, 1024, Cut.LENGTH),
        (chunked(b"<html>" + b"x" * 5_000), Outcome.OK, 5_006, None),
    ],
)  # fmt: skip
def test_the_policy_holds_on_the_wire(answer: bytes, outcome: Outcome, body_bytes: int, cut: Cut | None) -> None:
    """By declared type and length, by what comes where no length is declared, and by the first bytes."""
    attempt = fetch_once(sending(OK + answer), configured=settings(media=RULES))
    assert (attempt.outcome, len(attempt.body), attempt.cut) == (outcome, body_bytes, cut)
    page, _ = attempt.records(request("http://127.0.0.1/"), "w")
    assert (page is not None) is (outcome is Outcome.OK)
