"""The endpoints that change something, or cost something: each wants the token."""

import asyncio

from infra.query import ask
from infra.steering import Wish, named
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.monitor import OrderGiven, OrderWithdrawn
from monitor.api import answers, questions
from monitor.api.desk import Desk
from monitor.api.reading import orders

BY = "monitor"
"""Who gave an order, in its record: whoever shows the token."""


async def give(desk: Desk, question: questions.Ordered) -> answers.Orders:
    """Give an order; answers with all that are in force."""
    target = named(question.subject, question.target)
    wish = Wish(question.action, question.subject, target, question.amount, question.reason)
    await asyncio.to_thread(desk.steering.give, wish, BY)
    emit(OrderGiven(wish.action, wish.subject, target, wish.amount, BY))
    return await _as_it_is_now(desk)


async def withdraw(desk: Desk, question: questions.Withdrawn) -> answers.Orders:
    """Take an order back; answers with all that are in force."""
    wish = Wish(question.action, question.subject, named(question.subject, question.target))
    await asyncio.to_thread(desk.steering.withdraw, wish, BY)
    emit(OrderWithdrawn(wish.action, wish.subject, wish.target, BY))
    return await _as_it_is_now(desk)


async def _as_it_is_now(desk: Desk) -> answers.Orders:
    await asyncio.to_thread(desk.control.catch_up, desk.patience)
    return await orders(desk, questions.Nothing())


async def sql(desk: Desk, question: questions.Statement) -> answers.Rows:
    """Ask ClickHouse; statements that read alone are taken."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    table = await asyncio.to_thread(ask, desk.settings, question.sql, question.limit)
    return answers.Rows(
        columns=list(table.columns),
        types=list(table.types),
        rows=[list(row) for row in table.rows],
        cut=table.cut,
        took_s=loop.time() - began_s,
    )
