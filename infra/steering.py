"""Give orders about running crawls and take them back: the one way, whoever asks for it."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from infra.errors import UserError
from infra.kafka.control import Control, order_record, withdrawal
from infra.kafka.producer import Outbound, Producer
from infra.settings import Settings
from schemas.orders import Action, Order, Subject, fault
from schemas.url import InvalidUrl, canonicalize

SEND_WITHIN = timedelta(seconds=30)


class Wish(NamedTuple):
    """What somebody wants ordered."""

    action: Action
    subject: Subject
    target: str
    """A host in its canonical form (see :func:`named`)."""
    amount: float | None = None
    reason: str | None = None


class Steering:
    """Orders as records of ``control``. ``followed`` is started, and tells what is known and in force."""

    def __init__(self, settings: Settings, followed: Control) -> None:
        self._settings = settings
        self._followed = followed

    def give(self, wish: Wish, by: str) -> Order:
        """The order, once Kafka has it. Raises :class:`UserError` when nobody could follow it."""
        order = Order(**wish._asdict(), by=by, ordered_at=datetime.now(UTC))
        if (wrong := fault(order)) is not None:
            raise UserError(wrong)
        if order.subject is Subject.CRAWL and order.target not in self._followed.known():
            known = ", ".join(sorted(self._followed.known())) or "none"
            raise UserError(f"there is no crawl {order.target!r}; there are: {known}")
        self._produce(order_record(order))
        return order

    def withdraw(self, wish: Wish, by: str) -> Order:
        """The order that is taken back, once Kafka knows. Raises :class:`UserError` when there is none."""
        about = (wish.action, wish.subject, wish.target)
        found = [each for _, each in self._followed.ordered() if (each.action, each.subject, each.target) == about]
        if not found:
            raise UserError(f"no such order is in force: {wish.action} {wish.subject}:{wish.target}")
        self._produce(withdrawal(found[0], by))
        return found[0]

    def _produce(self, record: Outbound) -> None:
        missing = Producer(self._settings, "odradek-control").send_all([record], SEND_WITHIN)
        if missing:
            raise UserError(f"Kafka did not take the order: {missing[0]}")


def parsed(target: str) -> tuple[Subject, str]:
    """What ``SUBJECT:TARGET`` names. Raises :class:`UserError`."""
    word, colon, name = target.partition(":")
    if not colon or word not in set(Subject) or not name:
        raise UserError(f"{target!r} is not crawl:NAME, host:NAME or pattern:REGEX")
    return Subject(word), named(Subject(word), name)


def named(subject: Subject, name: str) -> str:
    """The name as records have it: a host in its canonical form. Raises :class:`UserError`."""
    if subject is not Subject.HOST:
        return name
    try:
        return canonicalize(f"https://{name}/").host
    except InvalidUrl as error:
        raise UserError(f"{name!r} is no host: {error}") from None
