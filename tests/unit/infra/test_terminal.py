"""Text from the web on a terminal."""

from infra.terminal import printable


def test_a_terminal_is_shown_nothing_that_it_would_obey() -> None:
    """Escape sequences, bells and direction overrides are replaced; line breaks stay."""
    assert printable("a\x1b[2Jb\x07\u202ec\nd") == "a\ufffd[2Jb\ufffd\ufffdc\nd"
