"""What a stage says about one of its agents."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from infra.errors import Failure, NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.topics import TopicName

Handle = Callable[[Sequence[Inbound]], Awaitable[None]]
"""Returns when every effect of the batch is durable. May be called again with the same records, or a part of them."""


class Unusable(Failure):
    """Some records of the batch can never succeed, and all the others have had their effect.

    A handler that knows which need not be called again for the halves of a batch: a flood of rubbish costs little.
    """

    def __init__(self, records: Sequence[tuple[Inbound, NeverValid]]) -> None:
        super().__init__(f"{len(records)} records cannot be used")
        self.records = records


@dataclass(frozen=True)
class Agent:
    """What one agent reads, and what it does with it."""

    name: str
    topic: TopicName
    handle: Handle
    max_records: int
    within: timedelta
    """The longest a record waits for its batch to fill."""
    limit_dead_letters: bool = True
    """Off for a topic that anybody may write to: a flood of rubbish there is no fault of ours."""
