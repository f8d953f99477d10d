"""Definitions of crawls and orders about them, followed from the ``control`` topic by every node that decides."""

import threading
import time
from datetime import UTC, datetime, timedelta
from operator import itemgetter

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from infra.errors import RetryLater
from infra.kafka.clients import consumer_config
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName
from infra.settings import Settings
from schemas.orders import Order, Orders, key
from schemas.records import Crawl, Proxies
from schemas.wire import Undecodable, decode, encode

_CRAWL = "crawl/"
_ORDER = "order/"
_PROXIES = "proxies"


def definition(crawl: Crawl) -> Outbound:
    """The record that defines (or redefines) a crawl."""
    return Outbound(TopicName.CONTROL, f"{_CRAWL}{crawl.name}".encode(), encode(crawl))


def order_record(order: Order) -> Outbound:
    """The record that gives an order, or replaces what was ordered about the same."""
    return Outbound(TopicName.CONTROL, key(order).encode(), encode(order))


def withdrawal(order: Order, by: str) -> Outbound:
    """The record that takes an order back; its header ``by`` tells who did, as long as Kafka keeps it."""
    return Outbound(TopicName.CONTROL, key(order).encode(), None, [("by", by.encode())])


def proxies_record(proxies: Proxies | None) -> Outbound:
    """The record that sets the proxies of all fetchers, or takes them back."""
    return Outbound(TopicName.CONTROL, _PROXIES.encode(), None if proxies is None else encode(proxies))


class Control:
    """A live copy of the topic. Thread-safe; one small consumer without a group, in a thread of its own."""

    def __init__(self, settings: Settings, client_id: str) -> None:
        config = consumer_config(settings, client_id, group=f"{client_id}-control")
        self._consumer = Consumer(config)
        # A consumer that one thread polls without end never lets another in: the ends are asked for by a second one.
        self._looker = Consumer(config)
        self._partition = TopicPartition(TopicName.CONTROL, 0, OFFSET_BEGINNING)
        self._crawls: dict[str, Crawl] = {}
        self._orders: dict[str, tuple[int, Order]] = {}
        self._in_force = Orders()
        self._proxies: str | None = None
        self._position = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._follow, name="control", daemon=True)

    def start(self, timeout: timedelta = timedelta(seconds=30)) -> None:
        """Begin to follow; returns when all that the topic held is known. Raises :class:`RetryLater`."""
        self._consumer.assign([self._partition])
        self._thread.start()
        self.catch_up(timeout)

    def stop(self) -> None:
        """Stop following."""
        self._stopping = True
        self._thread.join(5)
        self._consumer.close()
        self._looker.close()

    def crawl(self, name: str) -> Crawl:
        """The definition of a crawl. One that nobody defined has the defaults of :class:`Crawl`.

        A seed may overtake its crawl's definition, which another topic carries; so before it calls a crawl undefined,
        this reads the topic to its end of this moment. Raises :class:`RetryLater` when Kafka does not answer.
        """
        known = self._crawls.get(name)
        if known is None:
            self.catch_up(timedelta(seconds=30))
            with self._changed:
                known = self._crawls.setdefault(name, Crawl(name=name, created_at=datetime.now(UTC)))
        return known

    def known(self) -> dict[str, Crawl]:
        """Every crawl that is defined now."""
        return dict(self._crawls)

    def orders(self) -> Orders:
        """What is ordered now: the same object until anything changes."""
        return self._in_force

    def ordered(self) -> list[tuple[int, Order]]:
        """What is ordered now with the version of each, oldest first: a version is an offset of the topic."""
        return sorted(self._orders.values(), key=itemgetter(0))

    def proxies(self) -> str | None:
        """The proxies that are set for all fetchers, as text; ``None`` when none are."""
        return self._proxies

    def catch_up(self, timeout: timedelta) -> None:
        """Return when every record that the topic holds at this moment has been applied."""
        try:
            _, end = self._looker.get_watermark_offsets(self._partition, timeout=timeout.total_seconds())
        except Exception as error:
            raise RetryLater(f"the control topic cannot be read: {error}") from None
        deadline = time.monotonic() + timeout.total_seconds()
        with self._changed:
            while self._position < end:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise RetryLater("the control topic could not be read to its end in time")

    def _follow(self) -> None:
        while not self._stopping:
            message = self._consumer.poll(0.5)
            if message is None:
                continue
            if message.error():
                continue
            with self._changed:
                self._apply(message.offset() or 0, message.key(), message.value())
                self._position = (message.offset() or 0) + 1
                self._changed.notify_all()

    def _apply(self, offset: int, key: object, value: object) -> None:
        name = key.decode(errors="replace") if isinstance(key, bytes) else ""
        payload = value if isinstance(value, bytes) else None
        try:
            if name.startswith(_CRAWL):
                self._define(name.removeprefix(_CRAWL), payload)
            elif name.startswith(_ORDER):
                self._order(offset, name, payload)
            elif name == _PROXIES:
                self._proxies = None if payload is None else decode(Proxies, payload).text
        except Undecodable:
            # What is broken is refused and the old one stays; whoever wrote it sees no effect.
            return

    def _define(self, name: str, payload: bytes | None) -> None:
        if payload is None:
            self._crawls.pop(name, None)
        else:
            self._crawls[name] = decode(Crawl, payload)

    def _order(self, offset: int, name: str, payload: bytes | None) -> None:
        if payload is None:
            self._orders.pop(name, None)
        else:
            self._orders[name] = (offset, decode(Order, payload))
        self._in_force = Orders(order for _, order in self._orders.values())
