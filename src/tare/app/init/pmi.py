"""Choose the type of Slurm's MPI plug-in with which srun starts ranks of an MPI. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tare.discovery.facts import Found, Partition

PMI = {"openmpi4": "pmix", "openmpi5": "pmix", "mpich": "pmi2"}
"""The type of Slurm's MPI plug-in that a launcher's MPI usually speaks."""
PMI_OF_CRAY = ("cray_shasta", "cray", "pmi2", "pmix")
"""The types that Cray's MPI speaks, the likeliest first."""


def mpi_types(found: Found, partition: Partition | None) -> tuple[str, ...] | None:
    """Return the types of MPI with which Slurm starts ranks; None where runs are not in its jobs."""
    return found.slurm.mpi_types if found.slurm and partition else None


def pmi_of_cray(types: Sequence[str]) -> str | None:
    """Return the type of Slurm's MPI plug-in with which it starts ranks of Cray's MPI; None without any."""
    return next((one for one in PMI_OF_CRAY if one in types), None)
