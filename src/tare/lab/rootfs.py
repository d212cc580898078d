"""Root file systems for the containers of the lab's platforms, built of Debian's packages (mmdebstrap(1))."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from tare.core.errors import InfrastructureError, LabError, UsageError

PACKAGES = ("openmpi-bin", "iproute2", "hpcc")
"""What the lab's studies run in containers: an MPI, a look at the network, and the HPC Challenge."""

SUITE = "bookworm"
CURE = "on Debian: apt install mmdebstrap"

_RECIPE = "etc/tare-rootfs"
"""The file in it that says what it was built of."""
_IDS_CURE = (
    "an ordinary user needs newuidmap (apt install uidmap) and user ids of their own; as root: usermod "
    "--add-subuids 100000-165535 --add-subgids 100000-165535 $USER"
)


class Rootfs(msgspec.Struct, frozen=True, kw_only=True):
    """A root file system: where it lies, its size, and how long it took to build, 0 where it was there."""

    path: Path
    size_bytes: int
    elapsed_s: float


def require_built(folders: Collection[str]) -> None:
    """Raise LabError, with the cure, where one of `folders` is a root file system that is not built."""
    home = rootfs_folder()
    missing = sorted(one for one in folders if Path(one).parent == home and not Path(one).is_dir())
    if missing:
        name = Path(missing[0]).name
        named = "" if name == "debian" else f" --name {name}"
        raise LabError(f"no root file system is in {missing[0]}; build it with: tare lab rootfs{named}")


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
    """Build a root file system with `packages` of Debian's `suite`, unless just that one is there.

    One that was not built here is left alone. An ordinary user builds it in a user namespace, and owns all
    that is in it. Raises InfrastructureError with mmdebstrap's own words.
    """
    if not name or "/" in name or name.startswith("."):
        raise UsageError(f"{name!r} cannot be the name of a folder; use letters, digits and -")
    folder = folder or rootfs_folder()
    path = folder / name
    recipe = _recipe(packages, suite)
    started = time.monotonic()
    is_new = not is_built(path) or _recipe_of(path) not in {recipe, None}
    if is_new:
        if shutil.which("mmdebstrap") is None:
            raise InfrastructureError(f"mmdebstrap is missing; {CURE}")
        _build(path, packages, suite, recipe)
    elapsed_s = time.monotonic() - started if is_new else 0.0
    return Rootfs(path=path, size_bytes=size_of(path), elapsed_s=elapsed_s)


def _recipe(packages: Sequence[str], suite: str) -> str:
    return f"{suite} {' '.join(sorted(packages))}\n"


def _recipe_of(path: Path) -> str | None:
    """Return what the root file system was built of; None where it does not say, as others' do not."""
    try:
        return (path / _RECIPE).read_text()
    except OSError:
        return None


def _build(path: Path, packages: Sequence[str], suite: str, recipe: str) -> None:
    """Build it beside `path`, and move it there when it is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InfrastructureError(
            f"cannot write to {path.parent}: {error.strerror}; set TARE_ROOTFS to a folder of yours"
        ) from error
    root = scratch / "root"
    root.mkdir()
    command = ["mmdebstrap", "--quiet", "--variant=essential", f"--include={','.join(packages)}"]
    try:
        if os.geteuid() == 0:
            _run([*command, suite, str(root)])
        else:
            _run_unpacking([*command, "--mode=unshare", "--format=tar", suite, "-"], root)
        (root / _RECIPE).write_text(recipe)
        root.chmod(0o755)
        shutil.rmtree(path, ignore_errors=True)
        root.rename(path)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise _failure(done.stderr)


def _run_unpacking(command: Sequence[str], root: Path) -> None:
    """Unpack what `command` prints: the files in it belong to other users of its user namespace.

    Nobody else may make devices; containers have those of their hosts.
    """
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as building:
        unpack = ["tar", "-C", str(root), "--no-same-owner", "--exclude=./dev/*", "-xf", "-"]
        unpacked = subprocess.run(unpack, stdin=building.stdout, capture_output=True, text=True, check=False)
        _, said = building.communicate()
    if building.returncode != 0:
        raise _failure(said)
    if unpacked.returncode != 0:
        raise InfrastructureError(f"the root file system cannot be unpacked: {unpacked.stderr.strip()}")


def _failure(said: str) -> InfrastructureError:
    """Return an error with the words of mmdebstrap that matter, and the cure for want of user ids."""
    errors = [line for line in said.splitlines() if line.startswith("E:")] or [said.strip()]
    wants_ids = any(word in errors[0] for word in ("/etc/subuid", "newuidmap", "unshare"))
    cure = f"; {_IDS_CURE}" if wants_ids and os.geteuid() != 0 else ""
    return InfrastructureError(f"mmdebstrap builds no root file system: {errors[0]}{cure}")


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
