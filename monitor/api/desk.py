"""All that the endpoints read from and write to."""

from dataclasses import dataclass, field
from datetime import timedelta

from infra.kafka.control import Control
from infra.settings import Settings
from infra.steering import Steering
from monitor.documents import NewestDocuments
from monitor.findings import Busy, Finding
from monitor.hosts import HostTable
from monitor.letters import Letters
from monitor.looking import Looking
from monitor.picture import Picture


@dataclass
class Desk:
    """One monitor's."""

    settings: Settings
    control: Control
    steering: Steering
    looking: Looking
    picture: Picture
    hosts: HostTable
    letters: Letters
    documents: NewestDocuments
    findings: list[Finding] = field(default_factory=list)
    busy: list[Busy] = field(default_factory=list)
    """The hosts with most URLs waiting, as of the last look."""
    patience: timedelta = timedelta(seconds=10)
    """With which an order is waited for to come back from ``control``."""
