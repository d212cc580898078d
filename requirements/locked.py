"""The lock files: what pip would install of them, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;]+)(?:\s*;\s*(?P<marker>.*?))?"
    r"(?P<hashes>(?:\s+--hash=sha256:[0-9a-f]{64})+)"
)


class LockError(Exception):
    """A line of a lock is not one package at one version, with hashes."""


class Pin(NamedTuple):
    """One package at one version: where it is for, and the SHA-256 of each file that may be it."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    def __str__(self) -> str:
        """Return it as pip reads it."""
        marker = f" ; {self.marker}" if self.marker else ""
        return f"{self.name}=={self.version}{marker} " + " ".join(
            f"--hash=sha256:{one}" for one in self.hashes
        )


def read(path: Path) -> Iterator[Pin]:
    """Yield what `path` pins. Raises LockError for any line that is more or less than a pin."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        found = _PIN.fullmatch(line.strip())
        if found is None:
            raise LockError(f"{path}: this is not a package at one version, with hashes: {line.strip()[:80]}")
        hashes = tuple(found["hashes"].replace("--hash=sha256:", " ").split())
        yield Pin(found["name"], found["version"], (found["marker"] or "").strip(), hashes)


def distinct(paths: Iterable[Path]) -> list[Pin]:
    """Return each package at each version once, of all files, in the order of their names."""
    pins = {(one.name, one.version): one._replace(marker="") for path in paths for one in read(path)}
    return [pins[key] for key in sorted(pins)]
