"""Build root file systems for the containers of the lab's platforms from Debian packages (mmdebstrap(1))."""

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
"""Packages for the lab's studies in containers: an MPI, network tools, and the HPC Challenge."""

SUITE = "bookworm"

RELEASE_PACKAGES = ("openmpi-bin", "libopenmpi-dev", "gcc", "iproute2")
"""Packages for comparing releases: each has its own Open MPI, and compiles programs with it."""

CLUSTER = "cluster"
CLUSTER_PACKAGES = (*PACKAGES, "openssh-server", "openssh-client", "iperf", "qperf")
"""The root file system of the containers of a cluster, and its packages (see lab.cluster)."""
CURE = "on Debian: apt install mmdebstrap"

RELEASES = ("bullseye", "bookworm", "trixie")
"""Releases of Debian whose keys Debian 12 and later have; they have Open MPI 4.1.0, 4.1.4 and 5.0.7."""

_RECIPE = "etc/tare-rootfs"
"""The file in a root file system that lists what it was built from."""
_IDS_CURE = (
    "an ordinary user needs newuidmap (apt install uidmap) and user ids of their own; as root: usermod "
    "--add-subuids 100000-165535 --add-subgids 100000-165535 $USER"
)


class Rootfs(msgspec.Struct, frozen=True, kw_only=True):
    """A root file system: its path, its size, and the build time in seconds (0 if it existed already)."""

    path: Path
    size_bytes: int
    elapsed_s: float


def require_built(folders: Collection[str]) -> None:
    """Raise LabError, with the cure, if one of `folders` is a root file system that is not built."""
    home = rootfs_folder()
    missing = sorted(one for one in folders if Path(one).parent == home and not Path(one).is_dir())
    if missing:
        name = Path(missing[0]).name
        named = "" if name == "debian" else f" --release {name}" if name in RELEASES else f" --name {name}"
        raise LabError(f"no root file system is in {missing[0]}; build it with: tare lab rootfs{named}")


def rootfs_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of root file systems: $TARE_ROOTFS, or share/tare/rootfs of this environment.

    It has no symbolic links, since runc(8) refuses a root file system behind one.
    """
    return Path(environment.get("TARE_ROOTFS") or Path(sys.prefix) / "share/tare/rootfs").resolve()


def default_packages(name: str, *, is_release: bool = False) -> tuple[str, ...]:
    """Return the packages of the root file system `name`, unless a user names others."""
    if is_release:
        return RELEASE_PACKAGES
    return CLUSTER_PACKAGES if name == CLUSTER else PACKAGES


def is_built(path: Path) -> bool:
    """Return whether `path` has a root file system; it is moved there only when it is complete."""
    return (path / "etc/os-release").exists()


def build(
    name: str = "debian",
    packages: Sequence[str] = PACKAGES,
    suite: str = SUITE,
    folder: Path | None = None,
) -> Rootfs:
    """Build a root file system with `packages` of Debian's `suite`, unless the same one exists.

    One that Tare did not build is not replaced. An ordinary user builds it in a user namespace, and owns all
    files in it. Raises InfrastructureError with mmdebstrap's message.
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
    """Return what a root file system was built from; None for one that Tare did not build."""
    try:
        return (path / _RECIPE).read_text()
    except OSError:
        return None


def _build(path: Path, packages: Sequence[str], suite: str, recipe: str) -> None:
    """Build it beside `path`, and move it there when it is complete."""
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
    """Unpack the archive that `command` prints; in it, files belong to other users of its user namespace.

    An ordinary user may not create devices, so they are left out; containers have those of their hosts.
    """
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as building:
        unpack = ["tar", "-C", str(root), "--no-same-owner", "--exclude=./dev/*", "-xf", "-"]
        unpacked = subprocess.run(unpack, stdin=building.stdout, capture_output=True, text=True, check=False)
        _, output = building.communicate()
    if building.returncode != 0:
        raise _failure(output)
    if unpacked.returncode != 0:
        raise InfrastructureError(f"the root file system cannot be unpacked: {unpacked.stderr.strip()}")


def _failure(output: str) -> InfrastructureError:
    """Return an error with mmdebstrap's relevant message, and the cure if user ids are missing."""
    errors = [line for line in output.splitlines() if line.startswith("E:")] or [output.strip()]
    wants_ids = any(word in errors[0] for word in ("/etc/subuid", "newuidmap", "unshare"))
    cure = f"; {_IDS_CURE}" if wants_ids and os.geteuid() != 0 else ""
    return InfrastructureError(f"mmdebstrap builds no root file system: {errors[0]}{cure}")


def size_of(path: Path) -> int:
    """Return the size on disk of the files below `path`, in bytes; hard links count once."""
    seen: set[int] = set()
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            status = (Path(folder) / name).lstat()
            if status.st_ino not in seen:
                seen.add(status.st_ino)
                total += status.st_blocks * 512
    return total
