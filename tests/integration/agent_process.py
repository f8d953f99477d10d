"""A worker of its own process, for tests that kill it: appends what it handles to a file, then acknowledges it.

python agent_process.py BOOTSTRAP GROUP MARK FILE DATA_DIR
"""

import asyncio
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

import uvloop

from infra.agents import Agent, AgentWorker
from infra.kafka.control import Control
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Producer
from infra.kafka.topics import TopicName
from infra.settings import Settings
from infra.stage import Context


async def work(bootstrap: str, group: str, mark: str, effects: IO[bytes], data: str) -> None:
    """Run until SIGTERM."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    settings = Settings(kafka_bootstrap_servers=bootstrap, data_dir=Path(data))

    async def handle(batch: Sequence[Inbound]) -> None:
        own = [record for record in batch if (record.value or b"").startswith(mark.encode())]
        if own:
            await asyncio.sleep(0.02)
        for record in own:
            effects.write((record.value or b"") + b"\n")

    agent = Agent("test", TopicName.SEEDS, handle, 10, timedelta(milliseconds=20))
    name = Path(effects.name).stem
    context = Context(name, settings, Control(settings, "unused"))
    await AgentWorker(context, group, [agent], Producer(settings, name)).run(stopping)


if __name__ == "__main__":
    bootstrap_servers, group_id, own_mark, effects_file, data_dir = sys.argv[1:]
    with Path(effects_file).open("ab", buffering=0) as file:
        uvloop.run(work(bootstrap_servers, group_id, own_mark, file, data_dir))
