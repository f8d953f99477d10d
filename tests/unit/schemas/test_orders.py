"""What an order means, and which cannot be followed."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.orders import Action, Order, Orders, Subject, fault, key
from schemas.wire import decode, encode

URL = "http://h.test/shop/1"


def order(action: Action, subject: Subject, target: str, amount: float | None = None) -> Order:
    """Somebody's order."""
    return Order(
        action=action, subject=subject, target=target, amount=amount, by="somebody", ordered_at=datetime.now(UTC)
    )


def test_nothing_is_ordered_at_first() -> None:
    """Without orders nothing is paused, refused, slowed, bounded or preferred."""
    none = Orders()
    assert not none.is_paused("c", "h.test")
    assert none.refusal("c", "h.test", URL) is None
    assert (none.delay("c", "h.test"), none.budget("c"), none.priority("c", "h.test", URL)) == (None, None, 0)


def test_an_order_is_about_its_target_alone() -> None:
    """A pause, a stop and a block reach what they name and nothing beside it."""
    orders = Orders(
        [
            order(Action.PAUSE, Subject.CRAWL, "c"),
            order(Action.PAUSE, Subject.HOST, "p.test"),
            order(Action.STOP, Subject.CRAWL, "s"),
            order(Action.BLOCK, Subject.HOST, "b.test"),
            order(Action.BLOCK, Subject.PATTERN, r"/shop/\d+$"),
        ]
    )
    assert [orders.is_paused(*each) for each in (("c", "h.test"), ("d", "h.test"), ("d", "p.test"))] == [
        True,
        False,
        True,
    ]
    assert orders.refusal("s", "h.test", "http://h.test/") == "stopped"
    assert orders.refusal("c", "b.test", "http://b.test/") == "blocked"
    assert orders.refusal("c", "h.test", URL) == "blocked"
    assert orders.refusal("c", "h.test", "http://h.test/shop/one") is None


def test_the_host_s_delay_wins_over_the_crawl_s() -> None:
    """Who orders a delay for a host knows it better."""
    orders = Orders([order(Action.DELAY, Subject.CRAWL, "c", 5), order(Action.DELAY, Subject.HOST, "h.test", 0.5)])
    assert orders.delay("c", "h.test") == timedelta(seconds=0.5)
    assert orders.delay("c", "i.test") == timedelta(seconds=5)


def test_priorities_add_up_within_bounds() -> None:
    """What matches several orders has the sum, at most a hundred."""
    orders = Orders(
        [order(Action.PRIORITY, Subject.HOST, "h.test", 70), order(Action.PRIORITY, Subject.PATTERN, "shop", 70)]
    )
    assert [orders.priority("c", "h.test", url) for url in (URL, "http://h.test/")] == [100, 70]


@pytest.mark.parametrize(
    ("action", "subject", "target", "amount"),
    [
        (Action.STOP, Subject.HOST, "h.test", None),
        (Action.DELAY, Subject.PATTERN, "x", 1.0),
        (Action.DELAY, Subject.HOST, "h.test", -1.0),
        (Action.DELAY, Subject.HOST, "h.test", float("nan")),
        (Action.BUDGET, Subject.CRAWL, "c", 1.5),
        (Action.BUDGET, Subject.CRAWL, "c", None),
        (Action.PAUSE, Subject.CRAWL, "c", 1.0),
        (Action.BLOCK, Subject.PATTERN, "(", None),
        (Action.PRIORITY, Subject.HOST, "h.test", 101.0),
    ],
)
def test_what_cannot_be_followed_is_left_out(
    action: Action, subject: Subject, target: str, amount: float | None
) -> None:
    """A broken order, whoever wrote it, has no effect and breaks nothing."""
    broken = order(action, subject, target, amount)
    assert fault(broken)
    assert Orders([broken]).all == ()


@given(
    st.sampled_from(Action),
    st.sampled_from(Subject),
    st.text(min_size=1, max_size=30),
    st.none() | st.floats(allow_nan=False),
)
def test_any_order_travels_and_never_raises(
    action: Action, subject: Subject, target: str, amount: float | None
) -> None:
    """Whatever an order says, it comes back as it was, has one key, and can be asked for everything."""
    given_order = order(action, subject, target, amount)
    assert decode(Order, encode(given_order)) == given_order
    assert key(given_order).startswith(f"order/{action}/{subject}/")
    orders = Orders([given_order])
    orders.refusal("c", "h.test", URL)
    assert -100 <= orders.priority("c", "h.test", URL) <= 100
