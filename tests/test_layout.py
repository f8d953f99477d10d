"""The house rules that no linter knows."""

import ast
import subprocess
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = ("schemas", "infra", "frontier", "fetchers", "streams", "sinks", "monitor", "benchmarks", "tests")
ALLOWED_AT_THE_TOP = {
    *(
        ".ci",
        ".github",
        ".gitignore",
        ".gitlab-ci.yml",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
    ),
    *("README.md", "benchmarks", "bootstrap.lock", "docs", "fetchers", "frontier", "infra", "k8s", "monitor"),
    *("pyproject.toml", "requirements.lock", "schemas", "sinks", "streams", "tests"),
}
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 50
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


def tracked() -> list[Path]:
    """Every file that git tracks or would."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def modules() -> list[Path]:
    """Every Python module of ours."""
    return [path for path in tracked() if path.suffix == ".py"]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a module, methods and nested ones too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def relative(path: Path) -> str:
    """The path as it reads in a report."""
    return str(path.relative_to(ROOT))


def test_modules_are_short() -> None:
    """No module has more than 300 lines."""
    assert [relative(path) for path in modules() if len(path.read_text().splitlines()) > MAX_MODULE_LINES] == []


def test_functions_are_short() -> None:
    """No function has more than 50 lines."""
    found = [
        f"{relative(path)}:{each.name}"
        for path in modules()
        for each in functions(path)
        if (each.end_lineno or 0) - each.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert found == []


def test_names_are_the_fields() -> None:
    """No module has a name that says nothing, and none is named like a module of the standard library."""
    stdlib = {"http", "logging", "trace", "queue", "select", "signal", "types", "json", "time", "email", "html"}
    assert [relative(path) for path in modules() if path.stem in VAGUE | stdlib] == []


def test_the_top_level_shows_the_architecture() -> None:
    """Nothing stands at the top that the design does not need."""
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} - ALLOWED_AT_THE_TOP == set()


def test_no_package_of_another_has_our_name() -> None:
    """No installed distribution brings a top-level package by one of our generic names."""
    foreign = [
        f"{each.metadata['Name']}: {name}"
        for each in distributions()
        if each.metadata["Name"] != "odradek"
        for name in {path.parts[0].removesuffix(".py") for path in each.files or ()}
        if name in OURS
    ]
    assert foreign == []


def test_every_package_is_listed() -> None:
    """What is installed is what is listed: a package that the list forgets would be missing in an image."""
    listed = (ROOT / "pyproject.toml").read_text()
    packages = {
        relative(path.parent).replace("/", ".")
        for path in modules()
        if path.name == "__init__.py" and not relative(path).startswith(("tests", "benchmarks"))
    }
    assert {name for name in packages if f'"{name}"' not in listed} == set()


@pytest.mark.parametrize("path", [p for p in modules() if p.is_relative_to(ROOT / "tests")], ids=relative)
def test_every_test_says_what_must_hold(path: Path) -> None:
    """Each test has a docstring, so that the suite reads as the specification."""
    tests = [each for each in functions(path) if each.name.startswith("test_")]
    assert [each.name for each in tests if not ast.get_docstring(each)] == []


def test_no_name_of_a_test_holds_bytes(request: pytest.FixtureRequest) -> None:
    """Compressed bytes hold the time: the processes that share the tests would collect different names."""
    named = [
        item.nodeid
        for item in request.session.items
        for value in getattr(getattr(item, "callspec", None), "params", {}).values()
        if isinstance(value, bytes) and not value.isascii() and repr(value)[2:-1] in item.nodeid
    ]
    assert named == []
