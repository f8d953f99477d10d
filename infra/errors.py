"""Ways to fail. A handler says which; the runner alone knows what follows.

::

    UserError                 told to the user as one line; exit code 2
    Failure                   of a handler, while it works on records
    ├── RetryLater            nothing is wrong with the record: pause, back off, try the same again, for ever
    └── NeverValid            the record can never succeed: it becomes a dead letter and its offset moves
    Fatal                     the stage cannot keep its promises: it stops loudly and is started again from outside
"""

from datetime import timedelta


class UserError(Exception):
    """Something the user can mend. The message says what is wrong and what to do; no traceback is shown."""


class Failure(Exception):
    """A handler could not do its work on one batch."""


class RetryLater(Failure):
    """A store, a broker or the network is in trouble; the records are good.

    ``after`` is when to come back, where whoever refused them has told; otherwise the runner backs off by itself.
    """

    def __init__(self, error: str, after: timedelta | None = None) -> None:
        super().__init__(error)
        self.after = after


class NeverValid(Failure):
    """At least one record of the batch can never succeed. ``reason`` is a name from a small closed set."""

    def __init__(self, reason: str, error: str) -> None:
        super().__init__(error)
        self.reason = reason


class Fatal(Exception):
    """Going on would lose or double records; the process ends with exit code 1, nothing committed past the effect."""
