"""A real PostgreSQL for tests."""

import os
import pwd
import subprocess
from pathlib import Path
from uuid import uuid4

import psycopg

from tests.stores.server import Server, program

USER, PASSWORD = "crawler", "s3cret pass/word"
QUOTED = "s3cret%20pass%2Fword"
_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)


class PostgresServer(Server):
    """Asks for passwords. PostgreSQL refuses to run as root: then it runs as the user ``postgres``."""

    def __init__(self) -> None:
        self.binary = program("postgres", "postgresql-15", *_PLACES)
        super().__init__()
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.directory, account.pw_uid, account.pw_gid)
            self._as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        secret = self.directory / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8", "--no-sync"]
        command = [*self._as_user, str(self.binary.with_name("initdb")), "-D", str(self._data), *options]
        subprocess.run([*command, "--no-locale"], check=True, capture_output=True, timeout=60, cwd=self.directory)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def command(self) -> list[str]:
        places = ["-p", str(self.port), "-h", "127.0.0.1", "-k", "", "-c", "max_connections=40"]
        return [*self._as_user, str(self.binary), "-D", str(self._data), *places]

    def answers(self) -> bool:
        try:
            self.ask("postgres", "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def dsn(self, database: str, password: str = QUOTED) -> str:
        """As a user writes it."""
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The name of a database of its own."""
        name = f"test_{uuid4().hex}"
        self.ask("postgres", f"CREATE DATABASE {name}")
        return name

    def ask(self, database: str, sql: str) -> list[tuple[object, ...]]:
        """The rows of the answer, if it has any."""
        with psycopg.connect(self.dsn(database), autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []
