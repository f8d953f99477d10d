"""What authors' names for parts of a page say: this is the text itself, this surrounds it, these are comments.

``class``, ``id`` and a few other attributes are read word by word. The words are those that content management systems
and style guides share; none is there for the sake of one site.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

# Bits of what a part is by its names. Plain numbers: an enum's operators would take longer than all else here.
TEXT = 1
AROUND = 2
"""Navigation, sharing, teasers, captions, small print."""
COMMENTS = 4
HIDDEN = 8

_MOST_CHARS = 200
_MOST_WORDS = 40
"""Of a name: what has more is a list of style rules, or is meant to cost time."""


def _words(*words: str) -> re.Pattern[str]:
    """Any of ``words``, each beginning with a letter, between spaces, hyphens or underscores."""
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word[1:])
    # Grouped by the first letter, so that most words of a name are refused by one comparison.
    choices = "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    return re.compile(rf"(?:^|[\s_-])(?:{choices})(?:$|[\s_-])", re.IGNORECASE)


_COMMENTS_WORDS = _words("comment-?(?:s|list|section|area|form|respond)?", "disqus", "replies", "respond", "discussion")
_COMMENTS_ENDING = re.compile(r"comments(?:$|[\s_-])", re.IGNORECASE)
_AROUND_ANYWHERE = re.compile("side-?bar", re.IGNORECASE)
_AROUND_WORDS = _words(
    *("ads?", r"advert\w*", r"sponsor\w*", r"promo\w*", "banner", "outbrain", "taboola"),
    *(r"nav\w*", r"menu\w*", "breadcrumbs?", "pagination", "pager", "paging", "skip", "toc", r"tool-?bar\w*", "tools"),
    *("aside", "footer", "foot", "masthead", "site-?header", r"widget\w*", "utility", "print"),
    *(r"shar(?:e|ing)\w*", "sharedaddy", r"addthis\w*", r"social\w*", r"follow\w*"),
    *(r"subscri\w+", r"newsletter\w*", "sign-?up", "login", "register"),
    *(r"related\w*", r"recirc\w*", r"recommend\w*", "more-?(?:stories|from|on|news)", "read-?(?:more|next|also)"),
    *("popular", "trending", "most-?read", "also-?like", "up-?next", "see-?also", "next-?(?:post|article)", r"prev\w*"),
    *(
        r"by-?line\w*",
        r"author\w*",
        r"contributor\w*",
        "bio",
        "post-?meta",
        "entry-?meta",
        "meta",
        "metadata",
        "dateline",
    ),
    *("timestamp", r"tags?(?=\s|_|$)", "tag-?list", "keywords", "topics", "categories", "category-list", "votes?"),
    *(r"caption\w*", r"credit\w*", "wp-caption", r"gallery\w*", r"slide-?show\w*", r"carousel\w*", "lightbox"),
    *("copyright", "disclaimer", "legal", "cookies?", "consent", "gdpr", "modal", "pop-?up", "overlay", "tooltip"),
    *(r"visually-?hidden", "sr-only", r"screen-reader\w*", r"teaser\w*", r"jp-\w+", "infobox", "navbox", "player"),
    *("twitter-tweet", "instagram-media"),
)
_TEXT_WORDS = re.compile(
    r"(?:^|[\s_-])(?:article|story|post|entry|news|blog|page|main|body|content)[_-]*"
    r"(?:body|content|text|main|entry|copy)(?:$|[\s_-])|articlebody|storybody|postbody",
    re.IGNORECASE,
)
# WAI-ARIA 1.2, landmarks.
_LANDMARKS = frozenset(("navigation", "complementary", "banner", "contentinfo", "search", "dialog"))
_TEXT_PROPERTIES = frozenset(("articleBody", "text"))


def role(attributes: Mapping[str, str | None]) -> int:
    """What an element is by its attributes: any of the bits, or none."""
    style = attributes.get("style")
    if "hidden" in attributes or (style and "display:none" in style.replace(" ", "")):
        return HIDDEN
    found = _named(f"{attributes.get('class') or ''} {attributes.get('id') or ''}")
    if attributes.get("role") in _LANDMARKS:
        found |= AROUND
    if attributes.get("itemprop") in _TEXT_PROPERTIES:
        found |= TEXT
    return found


@lru_cache(maxsize=16_384)
def _named(names: str) -> int:
    found = 0
    names = names[:_MOST_CHARS]
    if sum(map(names.count, " -_")) > _MOST_WORDS:
        return found
    if _TEXT_WORDS.search(names):
        found |= TEXT
    if _AROUND_WORDS.search(names) or _AROUND_ANYWHERE.search(names):
        found |= AROUND
    if _COMMENTS_WORDS.search(names) or _COMMENTS_ENDING.search(names):
        found |= COMMENTS
    return found
