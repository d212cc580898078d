"""The variables by which communication libraries say which transport they chose; nothing else changes."""

from __future__ import annotations

from tare.core.launch import Placement
from tare.plugins.launchers.placing import Fabric, fabric_of


def ask_ucx(placement: Placement) -> dict[str, str]:
    """Return what makes UCX write the lanes of its endpoints into a file of its own (ucx_info -cf)."""
    if placement.words is None:
        return {}
    return {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": f"{placement.words}/ucx-%h-%p"}


def ask_libfabric(placement: Placement) -> dict[str, str]:
    """Return what makes libfabric say its provider and interface on standard error (fi_fabric(7))."""
    if placement.words is None or placement.network is None:
        return {}
    providers = f"core,{placement.network.provider}"
    return {"FI_LOG_LEVEL": "info", "FI_LOG_PROV": providers, "FI_LOG_SUBSYS": "core"}


def ask_mpich(placement: Placement) -> dict[str, str]:
    """Return what makes MPICH's layers say it: both, for only the installation knows which it has."""
    return ask_libfabric(placement) | ask_ucx(placement)


def ask_intelmpi(placement: Placement) -> dict[str, str]:
    """Return what makes libfabric beneath Intel MPI say it, and UCX beneath its provider mlx.

    Intel MPI's own I_MPI_DEBUG writes to the program's standard output, which is not ours to change.
    """
    return ask_mpich(placement) if _fabric(placement) is Fabric.UCX else ask_libfabric(placement)


def ask_openmpi(placement: Placement) -> dict[str, str]:
    """Return what makes Open MPI say it, or the library to which it leaves the network."""
    match _fabric(placement):
        case None:
            return {}
        case Fabric.TCP:  # 20 is the least at which version 4 names the interface
            return {"OMPI_MCA_btl_base_verbose": "20"} if placement.words else {}
        case Fabric.UCX:
            return ask_ucx(placement)
        case Fabric.LIBFABRIC:
            return ask_libfabric(placement)


def _fabric(placement: Placement) -> Fabric | None:
    return fabric_of(placement.network.provider) if placement.network else None
