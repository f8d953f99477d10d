"""One typed settings tree. In force, from weakest to strongest: defaults, the file, the environment, flags.

The file is TOML, named by ``ODRADEK_CONFIG``; where that is a folder, its ``base.toml`` and then the file that
``ODRADEK_ENVIRONMENT`` names: ``dev``, ``test``, ``prod``. Environment variables are ``ODRADEK_`` and the path with
``__`` between its parts: ``ODRADEK_FETCHERS__CONCURRENCY=64``. ``KAFKA_BOOTSTRAP_SERVERS``, ``SCHEMA_REGISTRY_URL`` and
``CLICKHOUSE_URL`` work as they do everywhere else. Durations are ISO 8601 (``PT10S``), in the file also a number of
seconds.
"""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from infra.errors import UserError
from infra.registry import use
from infra.settings.fetchers import FetcherSettings
from infra.settings.files import CONFIG_FILE, files
from infra.settings.frontier import FrontierSettings
from infra.settings.group import Group
from infra.settings.identity import IdentitySettings
from infra.settings.kafka import KafkaSettings
from infra.settings.monitor import MonitorSettings
from infra.settings.rendering import RenderingSettings
from infra.settings.sinks import SinkSettings
from infra.settings.streams import StreamSettings
from infra.settings.traps import TrapSettings

__all__ = [
    "CONFIG_FILE",
    "FetcherSettings",
    "FrontierSettings",
    "Group",
    "IdentitySettings",
    "KafkaSettings",
    "MonitorSettings",
    "RenderingSettings",
    "Settings",
    "SinkSettings",
    "StreamSettings",
    "TrapSettings",
    "load",
    "read",
]


class Settings(BaseSettings):
    """The tree. Every part has a default that works on one machine."""

    model_config = SettingsConfigDict(env_prefix="ODRADEK_", env_nested_delimiter="__", extra="forbid", frozen=True)

    data_dir: Path = Path(".odradek")
    """Where state lives that is not in Kafka: the frontier's files, the embedded servers' data, logs."""
    spool: Path | str | None = Field(default=None, repr=False)
    """Where bodies lie that no Kafka record can hold: a folder that fetchers and stream workers share, or a bucket as
    ``s3://bucket/prefix?option=value``; ``None`` takes ``spool`` in :attr:`data_dir`."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """``auto``: readable on a terminal, JSON otherwise."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    health_address: str = "127.0.0.1"
    health_port: int = Field(default=0, ge=0, le=65_535)
    """Of ``/livez``, ``/readyz`` and ``/metrics``; 0 takes a free one, which the heartbeat names."""
    identity: IdentitySettings = IdentitySettings()
    kafka: KafkaSettings = KafkaSettings()
    frontier: FrontierSettings = FrontierSettings()
    fetchers: FetcherSettings = FetcherSettings()
    rendering: RenderingSettings = RenderingSettings()
    streams: StreamSettings = StreamSettings()
    sinks: SinkSettings = SinkSettings()
    monitor: MonitorSettings = MonitorSettings()
    kafka_bootstrap_servers: str | None = Field(
        default=None, validation_alias=AliasChoices("KAFKA_BOOTSTRAP_SERVERS", "kafka_bootstrap_servers")
    )
    clickhouse_url: str | None = Field(
        default=None, validation_alias=AliasChoices("CLICKHOUSE_URL", "clickhouse_url"), repr=False
    )

    schema_registry_url: str | None = Field(
        default=None, validation_alias=AliasChoices("SCHEMA_REGISTRY_URL", "schema_registry_url"), repr=False
    )
    """Where schemas have numbers; then records are written in Confluent's framing."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, environment, file: the strongest first."""
        del dotenv_settings, file_secret_settings
        toml = TomlConfigSettingsSource(settings_cls, toml_file=files(), deep_merge=True)
        return init_settings, env_settings, toml


def load(**flags: object) -> Settings:
    """The settings in force, and records framed as they say, in the whole process.

    Raises :class:`UserError` naming each wrong setting and what it should be.
    """
    settings = read(**flags)
    use(settings.schema_registry_url)
    return settings


def read(**flags: object) -> Settings:
    """The settings as they would be in force; nothing else happens. Raises :class:`UserError` as :func:`load` does."""
    try:
        return Settings(**flags)  # type: ignore[arg-type]  # pydantic validates what the flags hold
    except ValidationError as error:
        lines = (f"  {'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_input=False))
        raise UserError("these settings are wrong:\n" + "\n".join(lines)) from None
    except (SettingsError, ValueError, OSError) as error:
        raise UserError(f"the settings cannot be read: {error}") from None
