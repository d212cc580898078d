"""Run commands on a lab's hosts and find programs, for the services of a lab."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tare.core.errors import LabError

_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # often not in an ordinary user's PATH


class Hosts(Protocol):
    """The part of a lab that its services need; see lab.Lab."""

    @property
    def folder(self) -> Path:
        """Return its folder; the path is the same inside and outside."""
        ...

    def command(self, host: str, argv: Sequence[str]) -> list[str]:
        """Return the command that runs exactly `argv` on `host`."""
        ...


def find_program(name: str) -> str | None:
    """Return the path of a program; folders for administrators are searched too."""
    return shutil.which(name) or shutil.which(name, path=":".join(_SBIN))


def run(lab: Hosts, host: str, argv: Sequence[str], text: str = "") -> str:
    """Run a command on a host with `text` as its input; return its output. Raises LabError when it fails."""
    done = subprocess.run(
        lab.command(host, argv), input=text, capture_output=True, check=False, text=True, cwd="/"
    )
    if done.returncode != 0:
        why = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        raise LabError(f"{Path(argv[0]).name} on {host}: {why}")
    return done.stdout.strip()


def write(lab: Hosts, host: str, path: Path, text: str, *, mode: str = "644") -> None:
    """Write a file at a path of the host. Raises LabError."""
    run(lab, host, ["sh", "-c", 'umask 077; cat >"$1" && chmod "$2" "$1"', "sh", str(path), mode], text)
