"""Doubles of the workloads and sites that the studies under test speak of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.doubles import DoubleWorkload
from tare.core.errors import FileFaults
from tare.core.site import Network, Platform, Site
from tare.core.study import Study
from tare.core.values import Scalar, Settings
from tare.core.workload import InlineDefinition, Parameter, ParameterKind, Workload


class NamedDouble(DoubleWorkload, frozen=True, kw_only=True):
    """A workload of any name and parameters, which derives the names that it is told to."""

    derived: tuple[str, ...] = ()
    is_broken: bool = False

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        if self.is_broken:
            raise RuntimeError("this double is broken")
        return dict.fromkeys(self.derived, 1)


def whole(name: str, default: int | None = 1) -> Parameter:
    return Parameter(name=name, kind=ParameterKind.WHOLE, default=default, summary="", minimum=1)


def of_kind(name: str, kind: ParameterKind, default: Scalar | None = None) -> Parameter:
    return Parameter(name=name, kind=kind, default=default, summary="")


_MPI = of_kind("mpi", ParameterKind.TEXT, "distribution")
_DURATION = of_kind("duration", ParameterKind.SECONDS, 10.0)

DOUBLES: tuple[NamedDouble, ...] = (
    NamedDouble(name="imb.pingpong", parameters=(of_kind("max_bytes", ParameterKind.BYTES, 4194304),)),
    NamedDouble(name="imb.alltoall", parameters=(of_kind("max_bytes", ParameterKind.BYTES, 4194304),)),
    NamedDouble(name="osu.alltoall", parameters=(_MPI,)),
    NamedDouble(name="hpcg", parameters=(whole("nx", 104), _MPI)),
    NamedDouble(name="hpcc", parameters=(of_kind("memory", ParameterKind.FRACTION, 0.5),)),
    NamedDouble(name="iperf", parameters=(_DURATION,)),
    NamedDouble(
        name="qperf",
        parameters=(
            _DURATION,
            Parameter(
                name="test",
                kind=ParameterKind.TEXT,
                default="rc_lat",
                summary="",
                choices=("rc_lat", "rc_bi_bw"),
            ),
        ),
    ),
    NamedDouble(name="gromacs.water", parameters=(whole("size", 768),)),
    NamedDouble(name="specfem3d_globe", parameters=(whole("nex", None),), derived=("nproc_xi",)),
    NamedDouble(name="elbencho.read", parameters=(of_kind("block", ParameterKind.BYTES, 4096),)),
    NamedDouble(name="wrf.conus-2.5km", parameters=()),
    NamedDouble(name="namd.stmv", parameters=()),
    NamedDouble(name="openfoam.motorbike", parameters=(whole("cells", 350000),)),
    NamedDouble(name="flagged", parameters=(of_kind("fast", ParameterKind.FLAG, False),)),
    NamedDouble(name="scaled", parameters=(of_kind("max_bytes", ParameterKind.NUMBER, 1.0),)),
)


def double_catalogue(declared: Sequence[InlineDefinition]) -> Mapping[str, Workload]:
    """Stand for the catalogue of plug-ins."""
    own = [NamedDouble(name=one.name, parameters=one.parameters) for one in declared]
    return {one.name: one for one in (*DOUBLES, *own)}


DOUBLE_SITE = Site(
    name="double",
    nodes=("n1", "n2", "n3", "n4"),
    platforms={name: Platform() for name in ("bare", "docker", "no", "4.10")},
    networks={name: Network(interface=f"{name}0") for name in ("host", "overlay", "macvlan")},
    storage={"direct": "/direct", "gateway": "/gateway"},
)


def read_study(text: str) -> Study:
    """Read a study with the doubles."""
    from tare.config import study_from_text

    return study_from_text(text, "study.yaml", double_catalogue, DOUBLE_SITE)


def faults_of(text: str) -> list[str]:
    """Return the messages of a study's faults."""
    try:
        read_study(text)
    except FileFaults as error:
        return [str(fault) for fault in error.faults]
    return []
