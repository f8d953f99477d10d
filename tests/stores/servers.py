"""The servers of a session of tests, each started by the first test that needs it."""

from functools import cached_property
from typing import Protocol

from tests.stores.kafka import KafkaServer
from tests.stores.moto import MotoServer
from tests.stores.postgres import PostgresServer
from tests.stores.redis import RedisServer
from tests.stores.server import Server
from tests.stores.webhook import Receiver


class Removable(Protocol):
    """What is ended with the session."""

    def remove(self) -> None: ...


class Servers:
    """Shared: a test takes a database of its own, and starts a server of its own where it kills it."""

    def __init__(self) -> None:
        self._started: list[Removable] = []

    def _start(self, server: Server) -> None:
        self._started.append(server)
        server.start()

    @cached_property
    def kafka(self) -> KafkaServer:
        """Another Kafka cluster."""
        server = KafkaServer()
        self._started.append(server)
        return server

    @cached_property
    def webhook(self) -> Receiver:
        """Somebody's server for webhooks."""
        receiver = Receiver()
        self._started.append(receiver)
        return receiver

    @cached_property
    def postgres(self) -> PostgresServer:
        """A PostgreSQL."""
        server = PostgresServer()
        self._start(server)
        return server

    @cached_property
    def moto(self) -> MotoServer:
        """Amazon's services."""
        server = MotoServer()
        self._start(server)
        return server

    @cached_property
    def redis(self) -> RedisServer:
        """A Redis."""
        server = RedisServer()
        self._start(server)
        return server

    def remove(self) -> None:
        """End them all."""
        for server in self._started:
            server.remove()
