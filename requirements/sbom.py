"""Write a bill of materials of what is locked, as CycloneDX: python -m requirements.sbom LOCK…

It needs no network: names, versions and hashes are those of the locks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from requirements.locked import distinct

TARGET = Path("artefacts/sbom.cdx.json")
SOURCE = Path("src/tare/__init__.py")


def main(arguments: Sequence[str]) -> int:
    """Write the bill of the locks named."""
    pins = distinct(map(Path, arguments))
    TARGET.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "--pyproject", "pyproject.toml"]
    command += ["--output-reproducible", "--output-format", "JSON", "--output-file", str(TARGET), "-"]
    done = subprocess.run(command, input="".join(f"{one}\n" for one in pins), text=True, check=False)
    if done.returncode == 0:
        _add_version()
        print(f"sbom: {TARGET}: {len(pins)} packages")
    return done.returncode


def _add_version() -> None:
    """Give Tare's own version, which pyproject.toml leaves to the code."""
    (version,) = re.findall(r'^__version__ = "(.+)"$', SOURCE.read_text(), re.MULTILINE)
    body = json.loads(TARGET.read_text())
    body["metadata"]["component"]["version"] = version
    TARGET.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
