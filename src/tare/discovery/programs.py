"""The programs for which Tare has workloads, by the names that Spack and module systems give them."""

from __future__ import annotations

from collections.abc import Sequence

PACKAGES = (
    "osu-micro-benchmarks",
    "intel-mpi-benchmarks",
    "gromacs",
    "lammps",
    "namd",
    "openfoam",
    "wrf",
    "specfem3d-globe",
    "hpcc",
    "hpcg",
    "hpl",
    "ior",
    "fio",
    "elbencho",
    "babelstream",
    "stream",
    "iperf3",
    "qperf",
    "netperf",
)
"""Names of Spack's packages."""

MODULES = (*PACKAGES, "osu", "imb")
"""Names of modules, which sites write in capital letters, too: GROMACS/2024.4-foss-2023b."""

_MOST_NAMED = 8


def first_names(names: Sequence[str]) -> str:
    """Return the first of `names`, and how many there are more."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
