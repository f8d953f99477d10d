"""The sink that writes to DynamoDB."""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, NoRegionError

from infra.errors import UserError
from infra.settings import Settings
from sinks.blocking import BlockingSink
from sinks.dynamodb import errors
from sinks.dynamodb.items import KEY, Item, items
from sinks.judging import Verdict
from sinks.sink import Block
from sinks.tables import TABLES, Table

CONNECT_WITHIN = timedelta(seconds=3)
ANSWER_WITHIN = timedelta(seconds=10)
WRITE_WITHIN = timedelta(seconds=12)
"""A write that takes longer is begun again; what it stored is found then, so it comes further each time."""
MADE_WITHIN = timedelta(seconds=15)
"""For a table to be made; it goes on being made when it takes longer."""
AT_ONCE = 16
PREFIX = "odradek_"


class DynamoDBSink(BlockingSink):
    """Writes to the tables of the region that ``dsn`` names, a conditional put for each row."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        super().__init__(settings, dsn)
        self.options, self.prefix = client_options(dsn)
        self._client: Any = None
        self._pool = ThreadPoolExecutor(AT_ONCE)

    def connect(self) -> Mapping[str, int]:
        """Make a client, and the tables that are missing."""
        if self._client is None:
            self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="dynamodb")
            config = Config(
                connect_timeout=CONNECT_WITHIN.total_seconds(),
                read_timeout=ANSWER_WITHIN.total_seconds(),
                max_pool_connections=AT_ONCE,
                # What follows a failure is decided in one place, and not here.
                retries={"total_max_attempts": 1},
                user_agent_extra="odradek",
            )
            try:
                self._client = boto3.session.Session().client("dynamodb", config=config, **self.options)
            except (ValueError, NoRegionError):
                # The error's text may repeat the endpoint.
                raise UserError("the DSN of a store names no region or endpoint: dynamodb://REGION/PREFIX") from None
        for table in TABLES.values():
            self._make(f"{self.prefix}{table.name}")
        return {}

    def _make(self, name: str) -> None:
        """Make the table if it is missing, and wait until it can be written to."""
        deadline_s = time.monotonic() + MADE_WITHIN.total_seconds()
        while (status := self._status(name)) != "ACTIVE":
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the table {name} is {status} for long")
            time.sleep(0.2)

    def _status(self, name: str) -> str:
        try:
            return str(self._client.describe_table(TableName=name)["Table"]["TableStatus"])
        except ClientError as error:
            if errors.code_of(error) != "ResourceNotFoundException":
                raise
        try:
            self._client.create_table(
                TableName=name,
                AttributeDefinitions=[{"AttributeName": KEY, "AttributeType": "S"}],
                KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
                BillingMode="PAY_PER_REQUEST",
            )
        except ClientError as error:
            # Another writer was faster.
            if errors.code_of(error) != "ResourceInUseException":
                raise
        return "CREATING"

    def insert(self, table: Table, blocks: Sequence[Block]) -> None:
        """Put every record under its key, where no newer one is."""
        deadline_s = time.monotonic() + WRITE_WITHIN.total_seconds()
        waiting = items(table, blocks)
        while portion := list(islice(waiting, 4 * AT_ONCE)):
            self._put(table, portion)
            if time.monotonic() > deadline_s:
                raise TimeoutError("DynamoDB takes less than a write in its time; smaller ones (max_records) may do")

    def _put(self, table: Table, portion: Iterable[Item]) -> None:
        def put(item: Item) -> None:
            try:
                self._client.put_item(
                    TableName=f"{self.prefix}{table.name}",
                    Item=item,
                    ConditionExpression=f"attribute_not_exists({KEY}) OR #version < :version",
                    ExpressionAttributeNames={"#version": table.version},
                    ExpressionAttributeValues={":version": item[table.version]},
                )
            except ClientError as error:
                if errors.code_of(error) != "ConditionalCheckFailedException":
                    raise

        futures = [self._pool.submit(put, item) for item in portion]
        # No portion is left half way: what fails is told when none of it is on its way any more.
        wait(futures)
        for each in futures:
            each.result()

    def lose(self) -> None:
        """Keep the client, which has no connection of its own; look for the tables again."""
        self._connected = False

    def disconnect(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._pool.shutdown()
            self._client.close()
            self._client = None

    def judge(self, error: Exception) -> Verdict:
        """By the code of DynamoDB's error."""
        return errors.judge(error)


def client_options(dsn: str) -> tuple[dict[str, str], str]:
    """What boto3's client is given, and the prefix of the tables."""
    parts = urlsplit(dsn)
    user, _, region = parts.netloc.rpartition("@")
    key, _, secret = user.partition(":")
    given = {
        "region_name": region,
        "aws_access_key_id": unquote(key),
        "aws_secret_access_key": unquote(secret),
        "endpoint_url": parse_qs(parts.query).get("endpoint", [""])[0],
    }
    return {name: value for name, value in given.items() if value}, parts.path.strip("/") or PREFIX
