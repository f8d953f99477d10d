"""Dates as pages write them for programs: ISO 8601 and the date of mails; never one in the future."""

from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

_FIRST_YEAR = 1980
_MOST_CHARS = 64
# A date without a zone may be tomorrow's where the sun rises first.
_AHEAD = timedelta(hours=14)


def read(text: str, fetched_at: datetime) -> str | None:
    """``text`` in ISO 8601, as exact as it is and with the zone that it names, or none; ``None`` for no date.

    A date after ``fetched_at`` is not when a page was written: an expiry, or a mistake.
    """
    text = text.strip()
    if not 8 <= len(text) <= _MOST_CHARS:
        return None
    if len(text) == 10:
        return _day(text, fetched_at)
    moment = _iso(text) or _mail(text)
    if moment is None or moment.year < _FIRST_YEAR:
        return None
    try:
        instant = moment if moment.tzinfo else moment.replace(tzinfo=UTC) - _AHEAD
        return moment.isoformat() if instant <= fetched_at else None
    except OverflowError:
        return None


def _day(text: str, fetched_at: datetime) -> str | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day.isoformat() if day.year >= _FIRST_YEAR and day <= (fetched_at + _AHEAD).date() else None


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace(" +", "+").replace(" Z", "Z").replace(" UTC", "Z"))
    except ValueError:
        return None


def _mail(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
