"""A broker that wants to know who its clients are, with certificates of an authority of our own."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.devstack.kafka import EmbeddedKafka, free_port
from infra.devstack.properties import Guard
from infra.kafka.admin import Topics
from infra.settings import KafkaSettings, Settings
from infra.settings.security import SecuritySettings

PASSWORD = "correct-horse"


class Authority:
    """Issues certificates by openssl."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True)
        self.file, self._key = self.issue("authority", itself=True)

    def issue(self, name: str, *, itself: bool = False, expired: bool = False) -> tuple[Path, Path]:
        """Certificate and key of a subject, good for loopback."""
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        request = self._directory / f"{name}.csr"
        extensions = self._directory / f"{name}.ext"
        extensions.write_text(
            "basicConstraints=critical,CA:TRUE\n" if itself else "subjectAltName=IP:127.0.0.1,DNS:localhost\n"
        )
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
        self._openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        signer = ["-signkey", key] if itself else ["-CA", self.file, "-CAkey", self._key, "-CAcreateserial"]
        # Days before today make one that was good once.
        days = "-1" if expired else "2"
        self._openssl(
            "x509", "-req", "-in", request, *signer, "-days", days, "-extfile", extensions, "-out", certificate
        )
        return certificate, key

    def chain(self, name: str) -> Path:
        """Key and certificate in one file, as the broker reads them."""
        certificate, key = self.issue(name)
        together = self._directory / f"{name}-chain.pem"
        together.write_text(key.read_text() + certificate.read_text())
        return together

    @staticmethod
    def _openssl(*arguments: object) -> None:
        try:
            subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("openssl is not here: apt-get install openssl")


class GuardedKafka:
    """The broker, whoever may use it, and settings for each of its doors."""

    def __init__(self, directory: Path, *components: str) -> None:
        self.authority = Authority(directory / "authority")
        self._directory = directory
        users = {f"odradek-{component}": PASSWORD for component in (*components, "nobody")}
        self.guard = Guard(
            self.authority.chain("localhost"), self.authority.file, free_port(), free_port(), users=users
        )
        self.broker = EmbeddedKafka(directory / "kafka", guard=self.guard)

    def start(self) -> None:
        """Start it, with every topic, and the rights of each component."""
        self.broker.start()
        admin = Topics(self.settings(self.broker.bootstrap_servers, SecuritySettings()))
        admin.create()
        users = [name for name in self.guard.users if name != "odradek-nobody"]
        admin.grant({name.removeprefix("odradek-"): name for name in users})

    def with_password(self, user: str, password: str = PASSWORD, **more: Any) -> Settings:
        """As a user of SCRAM over TLS."""
        file = self._directory / f"{user}-{password}"
        file.write_text(password + "\n")
        security = SecuritySettings(
            protocol="sasl_ssl",
            username=f"odradek-{user}",
            password_file=file,
            **({"ca_file": self.authority.file} | more),
        )
        return self.settings(self.guard.sasl_servers, security)

    def with_certificate(self, name: str, *, expired: bool = False) -> Settings:
        """By a certificate of this name."""
        certificate, key = self.authority.issue(name, expired=expired)
        security = SecuritySettings(
            protocol="ssl", ca_file=self.authority.file, certificate_file=certificate, key_file=key
        )
        return self.settings(self.guard.tls_servers, security)

    def settings(self, servers: str, security: SecuritySettings) -> Settings:
        """For a client of this broker."""
        return Settings(
            data_dir=self._directory / "data",
            kafka=KafkaSettings(partitions=2, security=security),
            kafka_bootstrap_servers=servers,
        )

    def environment(self, settings: Settings) -> dict[str, str]:
        """The same for a process of its own."""
        security = settings.kafka.security.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        flat = {name: value for name, value in security.items() if name != "oauth"}
        flat |= {f"OAUTH__{name}": value for name, value in security.get("oauth", {}).items()}
        return {
            "KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers or "",
            "ODRADEK_DATA_DIR": str(settings.data_dir),
            "ODRADEK_KAFKA__PARTITIONS": "2",
            "ODRADEK_LOG_FORMAT": "json",
        } | {f"ODRADEK_KAFKA__SECURITY__{name.upper()}": str(value) for name, value in flat.items()}
