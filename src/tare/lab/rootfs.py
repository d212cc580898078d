"""Root file systems for the containers of the lab's platforms, built of Debian's packages (mmdebstrap(1))."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tare.errors import InfrastructureError, UsageError

PACKAGES = ("openmpi-bin", "iproute2", "hpcc")
"""What the lab's studies run in containers: an MPI, a look at the network, and the HPC Challenge."""

SUITE = "bookworm"
CURE = "on Debian: apt install mmdebstrap"


class Rootfs(msgspec.Struct, frozen=True, kw_only=True):
    """A root file system: where it lies, its size, and how long it took to build, 0 where it was there."""

    path: Path
    size_bytes: int
    elapsed_s: float


def rootfs_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of root file systems: $TARE_ROOTFS, or share/tare/rootfs of this environment."""
    chosen = environment.get("TARE_ROOTFS")
    return Path(chosen) if chosen else Path(sys.prefix) / "share/tare/rootfs"


def is_built(path: Path) -> bool:
    """Return whether a whole root file system is at `path`: it gets its name when all is in it."""
    return (path / "etc/os-release").exists()


def build(
    name: str = "debian",
    packages: Sequence[str] = PACKAGES,
    suite: str = SUITE,
    folder: Path | None = None,
) -> Rootfs:
    """Build a root file system with `packages` of Debian's `suite`, unless one of that name is there.

    An ordinary user builds it in a user namespace. Raises InfrastructureError with mmdebstrap's own words.
    """
    if not name or "/" in name or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of a folder; use letters, digits and -")
    folder = folder or rootfs_folder()
    path = folder / name
    started = time.monotonic()
    is_new = not is_built(path)
    if is_new:
        if shutil.which("mmdebstrap") is None:
            raise InfrastructureError(f"mmdebstrap is missing; {CURE}")
        _build(path, packages, suite)
    elapsed_s = time.monotonic() - started if is_new else 0.0
    return Rootfs(path=path, size_bytes=size_of(path), elapsed_s=elapsed_s)


def _build(path: Path, packages: Sequence[str], suite: str) -> None:
    """Build it beside `path`, and move it there when it is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InfrastructureError(
            f"cannot write to {path.parent}: {error.strerror}; set TARE_ROOTFS to a folder of yours"
        ) from error
    root = scratch / "root"
    command = ["mmdebstrap", "--quiet", "--variant=essential", f"--include={','.join(packages)}"]
    if os.geteuid() != 0:
        command.append("--mode=unshare")
    try:
        done = subprocess.run(
            [*command, suite, str(root)],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or [
                done.stderr.strip()
            ]
            raise InfrastructureError(f"mmdebstrap builds no root file system: {said[0]}")
        shutil.rmtree(path, ignore_errors=True)
        root.rename(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def size_of(path: Path) -> int:
    """Return how many bytes the files below `path` take up on disk, each once."""
    seen: set[int] = set()
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            status = (Path(folder) / name).lstat()
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                total += status.st_blocks * 512
    return total
