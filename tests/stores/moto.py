"""Amazon's services as moto serves them, in memory."""

import sys
from urllib.error import URLError
from urllib.request import Request, urlopen
from uuid import uuid4

from tests.stores.server import Server


class MotoServer(Server):
    """Killed, it forgets everything."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    @property
    def endpoint(self) -> str:
        """For clients of any service."""
        return f"http://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        try:
            with urlopen(f"{self.endpoint}/moto-api/data.json", timeout=5):
                return True
        except (URLError, OSError):
            return False

    def dsn(self, bucket: str, options: str = "") -> str:
        """A place in a bucket, for the sink of objects."""
        given = f"endpoint={self.endpoint}&region=us-east-1&access_key_id=test&secret_access_key=hush{options}"
        return f"s3://{bucket}/some/prefix?{given}"

    def dynamodb(self, prefix: str) -> str:
        """Tables of this prefix, for the sink of DynamoDB."""
        return f"dynamodb://test:hush@us-east-1/{prefix}?endpoint={self.endpoint}"

    def new_bucket(self, name: str | None = None) -> str:
        """The name of an empty bucket."""
        name = name or f"test-{uuid4().hex[:12]}"
        with urlopen(Request(f"{self.endpoint}/{name}", method="PUT"), timeout=10):
            return name
