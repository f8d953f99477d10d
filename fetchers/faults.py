"""What can go wrong between a request and its answer. Each class is one outcome.

Fault
├── BlockedAddress   blocked_address   the name leads where nothing may be dialled
├── NoSuchHost       no_such_host      DNS says that there is no such name
├── DnsFault         dns_error         DNS says nothing, or not now
├── ConnectFault     connect_error     no address takes a connection
├── Late             timeout           time was up
├── Disconnected     disconnect        the connection ended before the answer did
└── BrokenProtocol   protocol_error    what came is no HTTP
"""

from typing import ClassVar

from schemas.outcomes import Outcome


class Fault(Exception):
    """An attempt ended without a usable answer."""

    outcome: ClassVar[Outcome] = Outcome.UNKNOWN


class BlockedAddress(Fault):
    """Every address is one that must not be dialled."""

    outcome = Outcome.BLOCKED_ADDRESS


class NoSuchHost(Fault):
    """The name does not exist, or has no address."""

    outcome = Outcome.NO_SUCH_HOST


class DnsFault(Fault):
    """The name could not be looked up."""

    outcome = Outcome.DNS_ERROR


class ConnectFault(Fault):
    """No connection could be made."""

    outcome = Outcome.CONNECT_ERROR


class ProxyFault(Fault):
    """No proxy is fit, or the one that was taken failed."""

    outcome = Outcome.PROXY_ERROR


class Late(Fault):
    """Time was up."""

    outcome = Outcome.TIMEOUT


class Disconnected(Fault):
    """The connection ended too early."""

    outcome = Outcome.DISCONNECT


class BrokenProtocol(Fault):
    """The server sent what is no HTTP, or what two readers could understand differently."""

    outcome = Outcome.PROTOCOL_ERROR
