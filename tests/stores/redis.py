"""A real Redis for tests."""

from collections.abc import Sequence
from typing import Any

from redis import Redis, exceptions

from tests.stores.server import Server, program

PASSWORD = "s3cret pass/word"
QUOTED = "s3cret%20pass%2Fword"


class RedisServer(Server):
    """Asks for a password, and keeps what it was told."""

    def __init__(self, *options: str) -> None:
        self.binary = program("redis-server", "redis-server")
        super().__init__()
        self.options: Sequence[str] = options or ("--appendonly", "yes")

    def command(self) -> list[str]:
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory), "--save", ""]
        return [str(self.binary), *place, "--requirepass", PASSWORD, *self.options]

    def client(self) -> Any:
        """For reading and for making trouble."""
        return Redis.from_url(self.dsn().partition("?")[0], socket_timeout=10, decode_responses=True)

    def answers(self) -> bool:
        try:
            self.client().ping()
        except exceptions.BusyLoadingError:
            return True
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            return False
        return True

    def dsn(self, prefix: str = "odradek:", password: str = QUOTED) -> str:
        """As a user writes it."""
        return f"redis://:{password}@127.0.0.1:{self.port}/0?prefix={prefix}"

    def keys(self, pattern: str) -> list[str]:
        """The keys that match."""
        return sorted(self.client().scan_iter(pattern, count=10_000))
