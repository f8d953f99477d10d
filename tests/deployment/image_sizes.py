"""How large each image is, from the files that it would hold: ``python -m tests.deployment.image_sizes``.

No Docker is needed: each environment is installed as the Dockerfile does it, from the same lock files, tried, and
measured. The base is measured as its parts: Debian's essential packages and Python's own tree. What a registry shows is
compressed, about a third of this.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.deployment.closures import BEGINNINGS, CLI, IMAGES, ROOT, path_of

MB = 1e6
LARGE = (CLI, "renderers")
"""What embeds a database, or drives a browser (which is not measured: Debian's is some 400 MB more)."""
LIMIT_MB = 380.0
"""The seed's own figure for its one image."""


def main() -> None:
    """Print a table; exit code 1 when a slim image is too large."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        wheel = build_wheel(directory)
        too_large: list[str] = []
        base = debian_mb() + python_mb()
        sys.stdout.write(f"{'base':10} {base:7.0f} MB (Debian {debian_mb():.0f}, Python {python_mb():.0f})\n")
        for image in (*BEGINNINGS, CLI):
            environment = install(image, wheel, directory)
            own = size_mb(environment)
            says = tried(image, environment)
            sys.stdout.write(f"{image:10} {base + own:7.0f} MB ({own:.0f} of it its own): {says}\n")
            shutil.rmtree(environment)
            if image not in LARGE and base + own > LIMIT_MB:
                too_large.append(image)
        if too_large:
            raise SystemExit(f"larger than {LIMIT_MB:.0f} MB: {', '.join(too_large)}")


def build_wheel(directory: Path) -> Path:
    """The project's wheel, made as in the image: without isolation, by the tools that are locked."""
    source = directory / "src"
    tracked = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT).split("\0")
    for name in filter(None, tracked):
        if name.startswith(("tests/", "benchmarks/", "docs/")) or not (ROOT / name).is_file():
            continue
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    uv("build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", directory / "dist", source)
    [wheel] = (directory / "dist").glob("*.whl")
    return wheel


def install(image: str, wheel: Path, directory: Path) -> Path:
    """The environment of one target."""
    environment = directory / image
    python = environment / "bin" / "python"
    uv("venv", "--python", sys.executable, environment)
    uv("pip", "sync", "--python", python, "--require-hashes", path_of(image))
    uv("pip", "install", "--python", python, "--no-deps", wheel)
    if image != CLI:
        run(["sh", str(IMAGES / "prune.sh"), str(environment)], ROOT)
    return environment


def tried(image: str, environment: Path) -> str:
    """What the installed command says where no Kafka is: everything that the stage begins with could be imported."""
    beginnings = BEGINNINGS.get(image, ("infra.cli",))
    imports = "; ".join(f"import {module}" for module in (*beginnings, "infra.cli.run", "infra.cli.topics"))
    run([str(environment / "bin" / "python"), "-c", imports], environment)
    stage = "frontier" if image == CLI else image
    done = subprocess.run(
        [environment / "bin" / "odradek", "run", stage],
        cwd=environment,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 2 or "no Kafka is named" not in done.stderr:
        raise SystemExit(f"{image} does not start: {done.stdout}{done.stderr}")
    return "starts"


def size_mb(directory: Path) -> float:
    """Bytes of the regular files, as an image's layer holds them; no compiled files, as in the image."""
    files = (path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if "__pycache__" not in path.parts) / MB


def python_mb() -> float:
    """Python's tree without its own tests, as the official image keeps it."""
    left_out = {"test", "tests", "idlelib", "__pycache__", "site-packages", "config-3.11-x86_64-linux-gnu"}
    library = Path(sysconfig.get_path("stdlib"))
    files = (
        path for path in library.rglob("*") if path.is_file() and not left_out & set(path.relative_to(library).parts)
    )
    shared = [*Path(sys.base_prefix, "lib").glob("libpython3.*"), Path(sys.base_prefix, "bin", "python3").resolve()]
    return sum(stripped_bytes(path) for path in [*files, *shared]) / MB


def stripped_bytes(path: Path) -> int:
    """Of a file; without the symbols of one that was compiled, which the official image leaves out."""
    if ".so" not in path.name and path.parent.name != "bin":
        return path.stat().st_size
    with tempfile.NamedTemporaryFile() as smaller:
        done = subprocess.run(["strip", "-o", smaller.name, path], capture_output=True, check=False)
        return Path(smaller.name).stat().st_size if done.returncode == 0 else path.stat().st_size


def debian_mb() -> float:
    """The essential and required packages and what Python's image adds to them, by Debian's own figures."""
    wanted = ["-W", "-f", "${Essential} ${Priority} ${Package} ${Installed-Size}\n"]
    total_kib = 0
    added = {
        "ca-certificates",
        "netbase",
        "tzdata",
        "libssl3",
        "libsqlite3-0",
        "libreadline8",
        "libncursesw6",
        "openssl",
    }
    for line in run(["dpkg-query", *wanted], ROOT).splitlines():
        parts = line.split()
        essential, priority, package, size = parts if len(parts) == 4 else ["no", *parts]
        if essential == "yes" or priority == "required" or package in added:
            total_kib += int(size)
    return total_kib * 1024 / MB


def uv(*arguments: object) -> None:
    """Run uv of the project's environment."""
    run([str(Path(sys.executable).with_name("uv")), *map(str, arguments), "--quiet"], ROOT)


def run(command: Sequence[str], directory: Path) -> str:
    """What a command prints; it must not fail."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
