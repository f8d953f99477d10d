"""Which bodies are worth a page."""

import pytest

from fetchers.media import StoragePolicy, essence, looks_like_text
from infra.settings.fetchers import STORED_MEDIA_TYPES


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
    policy = StoragePolicy(STORED_MEDIA_TYPES)
    assert all(map(policy.stores, ["text/html", "application/rss+xml", "application/pdf", "application/json"]))
    assert not any(map(policy.stores, ["image/png", "image/svg+xml", "video/mp4", "text/css", "application/zip"]))
    assert not StoragePolicy(()).stores("text/html")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        *((b"<html>", True), (b"", True), (b"caf\xe9", True), (b"%PDF-1.7\x00", True), (b"\xff\xfeh\x00i\x00", True)),
        *(
            (b"\x89PNG\r\n\x1a\n\x00", False),
            (b"GIF89a\x01\x00", False),
            (b"PK\x03\x04", False),
            (b"\x1f\x8b\x08", False),
        ),
    ],
)
def test_undeclared_bodies_are_sniffed(data: bytes, text: bool) -> None:
    """Bytes that no text holds make a body binary (MIME Sniffing Standard, 7.1)."""
    assert looks_like_text(data) is text
