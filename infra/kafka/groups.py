"""Who is in each consumer group, and what each member owns: as the group's coordinator tells it."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from infra.kafka.clients import common_config
from infra.kafka.lag import Place
from infra.settings import Settings


class Member(NamedTuple):
    """One member of a group."""

    client: str
    host: str
    places: tuple[Place, ...]


class Group(NamedTuple):
    """One group. ``state`` is Kafka's word for it, ``unknown`` when its coordinator does not answer."""

    state: str
    members: tuple[Member, ...]


class GroupReader:
    """Asks for groups; keeps its connection open."""

    def __init__(self, settings: Settings, names: Iterable[str]) -> None:
        self._admin = AdminClient(common_config(settings, "odradek-groups"))
        self._names = list(names)

    def read(self, timeout: timedelta = timedelta(seconds=5)) -> Mapping[str, Group]:
        """Every group by name; one whose coordinator does not answer is no error."""
        futures = self._admin.describe_consumer_groups(self._names, request_timeout=timeout.total_seconds())
        found: dict[str, Group] = {}
        for name, future in futures.items():
            try:
                told = future.result()
            except KafkaException:
                found[name] = Group("unknown", ())
                continue
            members = (
                Member(
                    each.client_id,
                    each.host.lstrip("/"),
                    tuple(sorted((place.topic, place.partition) for place in each.assignment.topic_partitions)),
                )
                for each in told.members
            )
            found[name] = Group(told.state.name.lower(), tuple(sorted(members)))
        return found
