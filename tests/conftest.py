"""What every tier shares: where the broker comes from, and saying so."""

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

from infra.devstack.kafka import EmbeddedKafka
from infra.kafka.admin import Topics
from infra.settings import KafkaSettings, Settings
from tests.stores.servers import Servers

# How fast the machine is, is no property of what is tested.
hypothesis.settings.register_profile("odradek", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("odradek")

CASES = Path(__file__).resolve().parents[1] / ".." / "shared" / "cases"
PARTITIONS = 4


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    return subprocess.run([docker, "info"], capture_output=True, check=False, timeout=20).returncode == 0


def _broker() -> str:
    """Which broker the tests use: one that is named, else a container, else the embedded one."""
    if os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        return "named by KAFKA_BOOTSTRAP_SERVERS"
    return "testcontainers" if _docker_answers() else "embedded"


def pytest_report_header() -> str:
    """Say what was found, so that a log tells what was really tested."""
    return f"kafka: {_broker()}; cases: {'present' if CASES.is_dir() else 'missing, their tests skip'}"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """No bytes in the name of a test: compressed ones hold the time, and two processes must collect the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """A test that configures the logs leaves them writing to a stream that pytest closes."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running broker."""
    found = _broker()
    if found == "testcontainers":
        from testcontainers.kafka import KafkaContainer  # noqa: PLC0415  # asks for a Docker engine when imported

        with KafkaContainer("apache/kafka:4.3.0").with_kraft() as container:
            yield container.get_bootstrap_server()
    elif found == "embedded":
        with EmbeddedKafka(tmp_path_factory.mktemp("kafka")) as broker:
            yield broker.bootstrap_servers
    else:
        yield os.environ["KAFKA_BOOTSTRAP_SERVERS"]


@pytest.fixture(scope="session")
def kafka_settings(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings that name a running broker on which every topic exists. Tests share it: use unique names."""
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        kafka=KafkaSettings(partitions=PARTITIONS),
        kafka_bootstrap_servers=kafka_bootstrap,
    )
    Topics(settings).create()
    return settings


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Servers of stores, each started when a test first asks for it."""
    made = Servers()
    yield made
    made.remove()


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of standard cases; tests that need it skip where it is missing."""
    if not CASES.is_dir():
        pytest.skip("the folder ../shared/cases of standard cases is not here")
    return CASES


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where everything can be had, a test that skips for want of something has failed."""
    report = yield
    if report.skipped and os.environ.get("ODRADEK_TESTS_SKIP_NOTHING"):
        report.outcome = "failed"
        report.longrepr = f"skipped, where nothing may be: {report.longrepr}"
    return report
