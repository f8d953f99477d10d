"""What differs between a page and its former version: pure, and linear in its text.

Lines of the main text are compared as a heap, not as a sequence: what only moved is no change, and no page can make
the comparison take long. A minimal edit script would need time that grows with the square of the lines.
"""

import json
from collections import Counter

from schemas.records import Document
from schemas.versions import Change, Version

# Says nothing about the page: it was not read as it should, or something stood before it.
_NOT_COMPARED = frozenset(("blocked_page", "error_page", "cleaner_died", "cut_coding"))
_COMPARED = ("title", "author", "published", "modified", "language", "site_name", "description", "canonical")
_MOST_TEXT_CHARS = 100_000
_MOST_VALUE_CHARS = 1_000
_MOST_LINES = 20
_MOST_LINE_CHARS = 300


def comparable(document: Document) -> bool:
    """Whether a change of it would be a change of the page: it came whole, and is the page."""
    return document.cut is None and _NOT_COMPARED.isdisjoint(document.flags)


def version_of(document: Document) -> Version:
    """What is remembered of it."""
    return Version(
        crawl=document.crawl,
        url=document.url,
        url_id=document.url_id,
        visit=document.visit,
        fetch_id=document.fetch_id,
        fetched_at=document.fetched_at,
        status=document.status,
        cleaner=f"{document.cleaner} {document.rules or ''}".rstrip(),
        content_hash=document.content_hash,
        text=document.text[:_MOST_TEXT_CHARS],
        fields=_fields(document),
    )


def change(former: Version, now: Version, host: str) -> Change | None:
    """What differs; ``None`` when nothing that counts does, or when ``now`` is a repeat of what was compared before."""
    if former.fetch_id == now.fetch_id or former.visit > now.visit:
        return None
    before, after = _different(former.fields, now.fields), _different(now.fields, former.fields)
    if former.status != now.status:
        before["status"], after["status"] = str(former.status), str(now.status)
    names = sorted(before.keys() | after.keys())
    if former.content_hash != now.content_hash:
        names.append("text")
    if not names:
        return None
    old, new = former.text.split("\n"), now.text.split("\n")
    added, removed = _beyond(new, old), _beyond(old, new)
    chars = sum(map(len, old)) + sum(map(len, new))
    differing = sum(map(len, added)) + sum(map(len, removed))
    return Change(
        crawl=now.crawl,
        url=now.url,
        url_id=now.url_id,
        host=host,
        visit=now.visit,
        fetch_id=now.fetch_id,
        fetched_at=now.fetched_at,
        former_visit=former.visit,
        former_fetch_id=former.fetch_id,
        former_fetched_at=former.fetched_at,
        fields=names,
        before=before,
        after=after,
        similarity=round(1 - differing / chars, 4) if chars else 1.0,
        lines_added=len(added),
        lines_removed=len(removed),
        added=[line[:_MOST_LINE_CHARS] for line in added[:_MOST_LINES]],
        removed=[line[:_MOST_LINE_CHARS] for line in removed[:_MOST_LINES]],
    )


def _fields(document: Document) -> dict[str, str]:
    fields = {name: value[:_MOST_VALUE_CHARS] for name in _COMPARED if (value := getattr(document, name))}
    if document.extracted != "{}":
        for name, value in json.loads(document.extracted).items():
            told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            fields[f"extracted.{name}"] = told[:_MOST_VALUE_CHARS]
    return fields


def _different(these: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in these.items() if others.get(name) != value}


def _beyond(lines: list[str], others: list[str]) -> list[str]:
    """The lines that ``others`` has not, or fewer times, in order."""
    left = Counter(others)
    found: list[str] = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        elif line:
            found.append(line)
    return found
