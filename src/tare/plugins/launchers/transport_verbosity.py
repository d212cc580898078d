"""Variables that make communication libraries report which transport they chose, without other effects."""

from __future__ import annotations

from tare.core.launch import Placement
from tare.plugins.launchers.placing import Fabric, fabric_of


def ask_ucx(placement: Placement) -> dict[str, str]:
    """Return variables that make UCX write its endpoints' lanes into a file of its own (ucx_info -cf)."""
    if placement.reports_folder is None:
        return {}
    return {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": f"{placement.reports_folder}/ucx-%h-%p"}


def ask_libfabric(placement: Placement) -> dict[str, str]:
    """Return variables that make libfabric print its provider and interface to stderr (fi_fabric(7))."""
    if placement.reports_folder is None or placement.network is None:
        return {}
    providers = f"core,{placement.network.provider}"
    return {"FI_LOG_LEVEL": "info", "FI_LOG_PROV": providers, "FI_LOG_SUBSYS": "core"}


def ask_mpich(placement: Placement) -> dict[str, str]:
    """Return variables for both layers below MPICH, because only the installation knows which one it has."""
    return ask_libfabric(placement) | ask_ucx(placement)


def ask_intelmpi(placement: Placement) -> dict[str, str]:
    """Return variables for libfabric below Intel MPI, and for UCX below its provider mlx.

    Intel MPI's own I_MPI_DEBUG is not used: it prints to the program's standard output, which Tare must not
    change.
    """
    return ask_mpich(placement) if _fabric(placement) is Fabric.UCX else ask_libfabric(placement)


def ask_openmpi(placement: Placement) -> dict[str, str]:
    """Return variables for Open MPI, or for the library that it uses for the network."""
    match _fabric(placement):
        case None:
            return {}
        case Fabric.TCP:  # 20 is the lowest level at which version 4 prints the interface
            return {"OMPI_MCA_btl_base_verbose": "20"} if placement.reports_folder else {}
        case Fabric.OPENIB:
            return {}
        case Fabric.UCX:
            return ask_ucx(placement)
        case Fabric.LIBFABRIC:
            return ask_libfabric(placement)


def _fabric(placement: Placement) -> Fabric | None:
    return fabric_of(placement.network.provider) if placement.network else None
