"""docs/sinks.md says what is so."""

import re
import tomllib

from infra.settings import SinkSettings
from sinks.stores import KINDS
from sinks.tables import TABLES
from tests.contracts.sink_subjects import EXAMPLE, GUIDE


def test_a_sink_is_less_than_sixty_lines() -> None:
    """The example, which passes the whole contract, with its imports and docstrings."""
    assert len(EXAMPLE.splitlines()) < 60


def test_every_kind_of_store_is_told() -> None:
    """Every scheme that a DSN can begin with stands in the guide, and no other in its table of stores."""
    rows = GUIDE[GUIDE.index("## Stores") : GUIDE.index("## While it runs")]
    told = set(re.findall(r"`([a-z0-9+]+):", rows))
    assert told - {"odradek"} == set(KINDS)


def test_the_settings_that_are_shown_can_be_set() -> None:
    """The TOML of the guide is taken as it stands."""
    first, second = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    assert SinkSettings.model_validate(tomllib.loads(first)["sinks"]).stores["archive"].crawls == ("news",)
    assert SinkSettings.model_validate({"stores": tomllib.loads(second)}).stores["search"].topics == ("documents",)


def test_the_keys_that_are_told_are_those_of_the_tables() -> None:
    """Topic, key and version of each table."""
    for topic, table in TABLES.items():
        key = ", ".join(f"`{name}`" for name in table.key)
        assert f"| `{table.name}` | `{topic}` | {key} | `{table.version}` |" in GUIDE
