"""How long to wait after trouble: pure arithmetic."""

from datetime import timedelta
from email.utils import parsedate_to_datetime

from infra.settings.frontier import FrontierSettings


def retry_after(value: str | None, now_s: float, longest: timedelta) -> timedelta | None:
    """What a Retry-After header asks for (RFC 9110, 10.2.3): seconds or a date; nonsense is ``None``; capped."""
    if value is None:
        return None
    text = value.strip()
    if text.isdecimal() and text.isascii():
        seconds = float(text[:12])
    else:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now_s
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return min(timedelta(seconds=seconds), longest) if 0 <= seconds < 1e9 else None


def backoff(failures: int, settings: FrontierSettings, dice: float) -> timedelta:
    """After ``failures`` in a row (from 1): doubling from the shortest to the longest; ``dice`` in [0, 1) spreads it.

    Never shorter than the nominal wait: jitter only adds, so that it cannot make us faster than promised.
    """
    nominal: timedelta = settings.backoff_shortest * float(2 ** min(failures - 1, 20))
    return min(nominal, settings.backoff_longest) * (1 + dice / 4)
