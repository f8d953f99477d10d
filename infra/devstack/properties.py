"""What a broker of ours is configured with: alone or one of several, open or guarded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Member(NamedTuple):
    """One node of a cluster: broker and controller in one process."""

    number: int
    port: int
    controller_port: int


@dataclass(frozen=True)
class Guard:
    """TLS, users and access rules, beside the plain listener, whose clients may do everything.

    ``keystore`` holds the broker's key and certificate chain, ``truststore`` whoever vouches for clients: PEM files.
    """

    keystore: Path
    truststore: Path
    sasl_port: int
    """TLS, then a user of SCRAM-SHA-512 or a token."""
    tls_port: int
    """TLS with a certificate of the client; its subject is the principal."""
    users: Mapping[str, str] = field(default_factory=dict)
    """Password by name."""

    @property
    def sasl_servers(self) -> str:
        """Where clients with a password or a token go."""
        return f"127.0.0.1:{self.sasl_port}"

    @property
    def tls_servers(self) -> str:
        """Where clients with a certificate go."""
        return f"127.0.0.1:{self.tls_port}"

    def scram(self) -> list[str]:
        """Arguments that make the users when the storage is formatted."""
        return [
            argument
            for name, password in self.users.items()
            for argument in ("--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]")
        ]


def properties(me: Member, members: Sequence[Member], data: Path, guard: Guard | None) -> dict[str, str]:
    """The broker's file. Where there are three or more members, what is acknowledged is on two of them."""
    copies = min(3, len(members))
    safe = str(max(1, copies - 1))
    return {
        "process.roles": "broker,controller",
        "node.id": str(me.number),
        "controller.quorum.voters": ",".join(f"{each.number}@127.0.0.1:{each.controller_port}" for each in members),
        "listeners": f"PLAINTEXT://127.0.0.1:{me.port},CONTROLLER://127.0.0.1:{me.controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{me.port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "offsets.topic.replication.factor": str(copies),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": safe,
        "share.coordinator.state.topic.replication.factor": str(copies),
        "share.coordinator.state.topic.min.isr": safe,
        "min.insync.replicas": safe,
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "auto.create.topics.enable": "false",
        "message.max.bytes": str(16 * 2**20),
        "replica.fetch.max.bytes": str(16 * 2**20),
        "log.cleaner.dedupe.buffer.size": str(32 * 2**20),
        "num.network.threads": "2",
        "num.io.threads": "4",
    } | ({} if guard is None else _guarded(me, guard))


def _guarded(me: Member, guard: Guard) -> dict[str, str]:
    listeners = {"PLAINTEXT": me.port, "SASL": guard.sasl_port, "TLS": guard.tls_port}
    advertised = ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())
    login = "org.apache.kafka.common.security"
    return {
        "listeners": f"{advertised},CONTROLLER://127.0.0.1:{me.controller_port}",
        "advertised.listeners": advertised,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,TLS:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(guard.keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(guard.truststore),
        "listener.name.tls.ssl.client.auth": "required",
        # The name of a certificate's subject is the name of the user.
        "listener.name.tls.ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/",
        "listener.name.sasl.sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
        # Takes unsigned tokens: it is our clients that are tried with it, not an issuer.
        "listener.name.sasl.oauthbearer.sasl.jaas.config": (
            f'{login}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "false",
    }
