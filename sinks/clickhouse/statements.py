"""Which statements only read: a pure decision over the text of SQL.

ClickHouse's ``readonly = 1`` refuses writes, but the embedded engine still lets through ``SYSTEM``, ``KILL QUERY`` and
``INTO OUTFILE``, and runs several statements that stand in one text. So only a single statement of a known kind passes.
"""

import re

READING = frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "CHECK", "FROM"})
"""First words of statements that read."""

_SKIPPED = re.compile(
    r"""
      --[^\n]*            # comments, three kinds
    | \#[!\ ][^\n]*
    | /\*.*?(?:\*/|\Z)
    | '(?:[^'\\]|\\.|'')*(?:'|\Z)   # text
    | "(?:[^"\\]|\\.|"")*(?:"|\Z)   # names
    | `(?:[^`\\]|\\.|``)*(?:`|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_WRITES = re.compile(r"\bINTO\s+OUTFILE\b|\bPARALLEL\s+WITH\b", re.IGNORECASE)
_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*(?:SETTINGS\b.*)?;?\s*\Z", re.IGNORECASE | re.DOTALL)
_HEREDOC = re.compile(r"\$\w*\$")
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _bare(sql: str) -> str:
    """The text with every comment, string and quoted name replaced by a placeholder of no meaning."""
    return _SKIPPED.sub(lambda match: " " if match[0][0] in "-#/" else " x ", sql).strip()


def refusal(sql: str) -> str | None:
    """Why ``sql`` is more than reading, in words for its author; ``None`` when it only reads."""
    if _HEREDOC.search(sql):
        return "$...$ strings are not taken here"
    bare = _bare(sql).rstrip(";").rstrip()
    if not bare:
        return "there is no statement"
    if ";" in bare:
        return "one statement at a time"
    first = re.split(r"[^A-Za-z_]", bare.lstrip("( \n\t\r"), maxsplit=1)[0].upper()
    if first not in READING:
        return f"{first or 'this'} begins no statement that reads; taken are {', '.join(sorted(READING))}"
    if _WRITES.search(bare):
        return "INTO OUTFILE and PARALLEL WITH are not for reading"
    return None


def format_of(sql: str) -> str | None:
    """The format that a ``FORMAT`` clause at the end asks for."""
    match = _FORMAT.search(_bare(sql))
    return match[1] if match else None


def setting_name(name: str) -> str:
    """``name``, if it can be the name of a setting. Raises :class:`ValueError`."""
    if not _SETTING.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a setting")
    return name


def literal(text: str) -> str:
    """A string literal of ClickHouse's SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
