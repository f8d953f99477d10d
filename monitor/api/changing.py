"""The endpoints that change something, or cost something: each wants the token."""

import asyncio
from collections.abc import Sequence

from infra.dead_letters.redrive import Redrive, Report
from infra.errors import UserError
from infra.query import ask
from infra.steering import Wish, named
from infra.telemetry.event import emit
from infra.telemetry.vocabulary.monitor import LettersResolved, OrderGiven, OrderWithdrawn
from monitor.api import answers, contents, questions
from monitor.api.desk import Desk
from monitor.api.reading import orders
from schemas.letters import LetterState

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


async def requeue(desk: Desk, question: questions.LettersMeant) -> contents.Redriven:
    """Send the records of dead letters again to the topics that they came from, each once."""
    return await _redrive(desk, question, LetterState.REQUEUED)


async def drop(desk: Desk, question: questions.LettersMeant) -> contents.Redriven:
    """Write down that nobody wants these dead letters."""
    return await _redrive(desk, question, LetterState.DROPPED)


async def _redrive(desk: Desk, question: questions.LettersMeant, state: LetterState) -> contents.Redriven:
    ids = list(dict.fromkeys(question.ids))
    report = await asyncio.to_thread(_resolve, desk, ids, state)
    done = [*report.done, *report.sent_before]
    emit(LettersResolved(state, len(done), BY))
    return contents.Redriven(done=done, ended=report.ended, busy=report.busy, impossible=report.impossible)


def _resolve(desk: Desk, ids: Sequence[str], state: LetterState) -> Report:
    redrive = Redrive(desk.settings, BY)
    found = [redrive.ledger.get(each) for each in ids]
    if unknown := [letter_id for letter_id, each in zip(ids, found, strict=True) if each is None]:
        raise UserError(f"there is no dead letter {unknown[0]}")
    return redrive.resolve([each for each in found if each is not None], state)


async def sql(desk: Desk, question: questions.Statement) -> contents.Rows:
    """Ask ClickHouse; statements that read alone are taken."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    table = await asyncio.to_thread(ask, desk.settings, question.sql, question.limit)
    return contents.Rows(
        columns=list(table.columns),
        types=list(table.types),
        rows=[list(row) for row in table.rows],
        cut=table.cut,
        took_s=loop.time() - began_s,
    )
