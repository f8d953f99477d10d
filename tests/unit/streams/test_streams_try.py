"""``odradek try`` and Markdown: one page, shown to people and to programs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.cli import build
from infra.errors import UserError
from streams import maintext, markup
from streams.markdown import escaped, markdown

PROSE = "Words in a row make a sentence, and this one is long enough to be taken for text."
PAGE = (
    "<!doctype html><html><title>The title</title><body><nav><a href=/n>n</a></nav><main><h1>Other title\u00b6</h1>"
    f"<p>{PROSE}</p><h2>Use_it</h2><ul><li>one, {PROSE}</li><li>two, {PROSE}</li></ul>"
    f"<pre>a = `1`\n\n  b</pre><blockquote>{PROSE}</blockquote><table><tr><th>Name<th>Value<tr><td>a|b<td>1</table>"
    f"<p>1. {PROSE} *</p><a href=/x>x</a></main>"
)


def run(*arguments: str, stdin: bytes = b"") -> str:
    """The output of the command."""
    result = CliRunner().invoke(build("try"), ["try", *arguments], input=stdin, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_markdown_keeps_what_things_are() -> None:
    """Headings, lists, code, quotes and tables; what would be markup is escaped."""
    tree = markup.parse(PAGE)
    assert markdown(maintext.extract(tree, "The title").blocks).split("\n") == [
        "# Other title", "", PROSE, "", "## Use\\_it", "", f"- one, {PROSE}", f"- two, {PROSE}", "",
        "```", "a = `1`", "", "  b", "```", "", f"> {PROSE}", "",
        "| Name | Value |", "| --- | --- |", "| a\\|b | 1 |", "", f"1\\. {PROSE} \\*",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("# no", "\\# no"),
        ("- no", "\\- no"),
        ("a - b #c", "a - b #c"),
        ("[a](b)", "\\[a\\](b)"),
        ("<b>", "\\<b>"),
        ("2) x", "2\\) x"),
    ],
)
def test_text_is_no_markup(text: str, safe: str) -> None:
    """At the beginning of a line, or anywhere."""
    assert escaped(text) == safe


def test_one_page_is_tried_from_a_file_or_standard_input(tmp_path: Path) -> None:
    """The same document, for people with the source of a field, for programs as JSON."""
    file = tmp_path / "page.html"
    file.write_text(PAGE)
    found = json.loads(run(str(file), "--url", "http://h.test/d/", "--json"))
    assert (found["title"], found["links"]) == ("The title", ["http://h.test/n", "http://h.test/x"])
    assert found["follow"] == found["links"]
    assert found["headings"] == ["# Other title", "## Use_it"]
    assert json.loads(run("-", "--url", "http://h.test/d/", "--json", stdin=PAGE.encode()))["text"] == found["text"]
    shown = run(str(file), "--url", "http://h.test/d/")
    assert "headings      2, first '# Other title'" in shown
    assert run(str(file), "--url", "http://h.test/d/", "--markdown").startswith("# The title\n\n# Other title\n")


def test_what_cannot_be_tried_is_said_in_a_line(tmp_path: Path) -> None:
    """No such file, no such URL."""
    for arguments in ([str(tmp_path / "none"), "--url", "http://h.test/"], ["-", "--url", "ftp://h.test/"]):
        result = CliRunner().invoke(build("try"), ["try", *arguments], input=b"")
        assert isinstance(result.exception, UserError)


def test_the_declared_charset_counts_in_every_form(tmp_path: Path) -> None:
    """As the server sent it, for the document and for Markdown alike."""
    file = tmp_path / "page.html"
    file.write_bytes(
        f"<title>\u041f</title><main><p>\u041f\u0440\u0438\u0432\u0435\u0442 {PROSE}</p></main>".encode("cp1251")
    )
    source = (str(file), "--url", "http://h.test/", "--content-type", "text/html; charset=windows-1251")
    for shape in ((), ("--json",), ("--markdown",)):
        assert "\u041f\u0440\u0438\u0432\u0435\u0442" in run(*source, *shape)
