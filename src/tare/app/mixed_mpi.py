"""Find platforms whose ranks are started by the MPI of the host, and run with another version in a container.

Open MPI starts ranks of another release by PMIx without a word, so a run succeeds, and is of neither. The
MPI of a root file system is read from its list of packages (Debian, Ubuntu).
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from tare.core.containers import ContainerShape
from tare.core.site import Platform
from tare.plugins.collectors.images import DPKG, installed_mpis

_OWN = "Open MPI"
_STARTS = re.compile(r"^\S*run \((?:Open MPI|OpenRTE)\) ([0-9]+\.[0-9]+(?:\.[0-9]+)?)", re.MULTILINE)
_BEGIN = "packages:"


class MixedMpi(NamedTuple):
    """The fault of a platform that mixes MPIs, and its cure; a note if both are of the same series."""

    fault: str
    cure: str
    is_note: bool


def is_candidate(platform: Platform) -> bool:
    """Return whether mpirun of the host starts ranks of `platform` with the Open MPI of a root file system.

    With an own MPI bound into the container, ranks use that one.
    """
    box = platform.container
    if box is None or box.rootfs is None or box.shape is not ContainerShape.RANK:
        return False
    is_bound = any(bind.partition(":")[0] == platform.prefix for bind in box.binds)
    return platform.launcher.startswith("openmpi") and not is_bound


def script(platform: Platform, starter: str) -> str:
    """Return a shell script that prints the version of `starter` and the packages of the root file system."""
    root = platform.container.rootfs if platform.container else None
    status = shlex.quote(f"{(root or '').rstrip('/')}{DPKG}")
    return (
        f"{shlex.quote(starter)} --version 2>/dev/null; echo {_BEGIN}; "
        f"grep -E '^(Package|Status|Version): ' {status} 2>/dev/null; true"
    )


def find_mixed(platform: Platform, output: str) -> MixedMpi | None:
    """Return how the host's mpirun and the root file system's Open MPI differ; None if they do not.

    `output` is that of `script`. None also if one of them is unknown, such as in an image without dpkg.
    """
    starter, _, packages = output.partition(_BEGIN)
    host = _STARTS.search(starter)
    inside = [
        name.removeprefix(f"{_OWN} ")
        for name in installed_mpis(packages.splitlines())
        if name.startswith(_OWN)
    ]
    if host is None or not inside or host[1] in inside:
        return None
    is_series = _series(host[1]) in map(_series, inside)
    return MixedMpi(
        f"mpirun of the host is Open MPI {host[1]}, and its ranks would run with Open MPI "
        f"{' and '.join(inside)} of the container",
        "to measure the container's own MPI, let it start there too ('shape: node'), or let Slurm start the "
        "ranks (launcher srun); to measure the host's, bind its folder into the container ('binds')",
        is_series,
    )


def _series(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])
