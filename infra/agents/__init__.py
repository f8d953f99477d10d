"""Faust agents in the one shape that loses nothing.

A stage gives a handler for a batch of raw records (:class:`Agent`); what follows its failure is decided here alone:

1. take up to ``max_records`` without acknowledging them (``worker``);
2. call the handler; it returns when all effects are durable (``settling``);
3. :class:`~infra.errors.RetryLater`: wait, longer each time, and go to 2 with the same batch, for ever;
4. :class:`~infra.errors.NeverValid`, or an exception nobody expected: halve the batch and handle the halves, down to
   the one bad record, which becomes a dead letter; a handler that knows the bad ones says so by :class:`Unusable`;
5. acknowledge every record; Faust commits the lowest contiguous offsets.

No exception leaves an agent, since Faust would acknowledge the record that raised it. Above a share of dead letters
the worker stops loudly, because then it is the stage that is broken. At the end the batch in hand is finished first. A
batch whose partition goes to another worker meanwhile is finished too: its effect is repeated there, its offsets are
not committed here. Giving it up could acknowledge a later record of the partition before an earlier one.

``app`` makes a Faust app without all that Faust does beside consuming. ``worker`` runs one in the stage's own event
loop, replaces it when it crashes (Faust gives up when the broker goes away for long), and looks at the group's lag from
outside, since a consumer that died silently tells nobody. ``direct`` runs the same agents, settled by the same rules,
on librdkafka alone: for a stage that only hands records on, where Faust costs more than the work.
"""

from infra.agents.agent import Agent, Handle, Unusable
from infra.agents.direct import DirectWorker
from infra.agents.worker import AgentWorker

__all__ = ["Agent", "AgentWorker", "DirectWorker", "Handle", "Unusable"]
