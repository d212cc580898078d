"""Write a bill of materials of what is locked, as CycloneDX: python -m requirements.sbom LOCK…

It needs no network: names, versions and hashes are those of the locks.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from requirements.locked import distinct

TARGET = Path("artefacts/sbom.cdx.json")


def main(arguments: Sequence[str]) -> int:
    """Write the bill of the locks named."""
    pins = distinct(map(Path, arguments))
    TARGET.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "--pyproject", "pyproject.toml"]
    command += ["--output-reproducible", "--output-format", "JSON", "--output-file", str(TARGET), "-"]
    done = subprocess.run(command, input="".join(f"{one}\n" for one in pins), text=True, check=False)
    if done.returncode == 0:
        print(f"sbom: {TARGET}: {len(pins)} packages")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
