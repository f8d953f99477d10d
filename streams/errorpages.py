"""Pages that came with 200 and are none: they say that something is missing, broken, forbidden, or not for programs.

All of them are short, and say so in the title or in the first line; an article about such pages is long.
"""

import re

_SHORT_CHARS = 1_500
_FIRST_LINE_CHARS = 200
_SHELL_CHARS = 300

_MISSING = re.compile(
    r"\b(?:error )?404\b|\b(?:page|file|document|article|resource|content) (?:was |is |could |can )?"
    r"(?:not (?:be )?found|unavailable|no longer (?:exists|available))|\bdoes(?:n['\u2019]t| not) exist\b"
    r"|seite (?:wurde )?nicht gefunden|page (?:introuvable|non trouv\u00e9e)|p\u00e1gina no (?:encontrada|existe)"
    r"|p\u00e1gina n\u00e3o encontrada|pagina non trovata|pagina niet gevonden"
    r"|\u043d\u0435 \u043d\u0430\u0439\u0434\u0435\u043d\u0430",
    re.IGNORECASE,
)
_BLOCKED = re.compile(
    r"^just a moment\.\.\.|^attention required!|\baccess (?:to this page (?:has been|is) )?denied\b"
    r"|^(?:error )?403\b|^forbidden$|\b(?:are you|you are not) a (?:robot|human)\b|\bnot a robot\b"
    r"|\bverify(?:ing)? (?:that )?you(?: are|'re|\u2019re) (?:a )?human\b|^security check\b|\bunusual traffic\b"
    r"|\bbot (?:detected|protection|verification)\b|^captcha\b|^request blocked\b|\byou have been blocked\b"
    r"|^(?:please )?(?:log|sign) ?in(?: to (?:continue|view|see)\b.*| required)?$",
    re.IGNORECASE,
)
_BROKEN = re.compile(
    r"^(?:(?:http )?error )?50[0-9]\b|\binternal server error\b|\bbad gateway\b|\bgateway time-?out\b"
    r"|^service (?:temporarily )?unavailable\b|\b(?:site|website|service) is (?:temporarily )?(?:down|unavailable)\b"
    r"|\b(?:under|down for|scheduled) maintenance\b|\berror establishing a database connection\b"
    r"|\b(?:an? |some(?:thing)? )(?:unexpected |application )?error (?:has )?occurred\b|^something went wrong\b"
    r"|^(?:fatal|parse) error: |^(?:uncaught )?exception in thread\b|^traceback \(most recent call last\)",
    re.IGNORECASE,
)
_SHELL = re.compile(
    r"\b(?:enable|activate|turn on|requires?|without|need) java ?script\b|\bjava ?script (?:is|must be|to be) (?:not )?"
    r"(?:enabled|disabled|required|turned o[nf]+|available)\b",
    re.IGNORECASE,
)
_KINDS = (("soft_404", _MISSING), ("blocked_page", _BLOCKED), ("error_page", _BROKEN))


def mark(title: str | None, text: str, visible: str = "") -> str | None:
    """``soft_404``, ``blocked_page``, ``error_page`` or ``needs_javascript``; ``None`` for a page that is one.

    ``visible`` is what the page tells a reader without scripts, where that is not in ``text``.
    """
    if len(text) > _SHORT_CHARS:
        return None
    lines = [each.strip() for each in (title or "", text[:_FIRST_LINE_CHARS].partition("\n")[0])]
    for name, pattern in _KINDS:
        if any(map(pattern.search, lines)):
            return name
    shell = len(text) < _SHELL_CHARS and _SHELL.search(f"{text}\n{visible[:_SHORT_CHARS]}")
    return "needs_javascript" if shell else None
