"""Plan the profiled runs: each case with MPI once more in each block, with the profiling library. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.workload import Workload
from tare.plan.content import identified


def profiled_plan(plan: Plan, workloads: Mapping[str, Workload]) -> Plan:
    """Return `plan` with a profiled case for each case with MPI in what is measured; notes name the rest."""
    profiled = tuple(
        identified(
            msgspec.structs.replace(case, profile_of=case.id),
            workloads[case.workload].digest,
        )
        for case in plan.cases
        if _uses_mpi(case, workloads[case.workload])
    )
    known = {case.profile_of for case in profiled}
    rest = sorted({case.workload for case in plan.cases if case.id not in known})
    notes = [f"{name} is not profiled, because its program does not use MPI" for name in rest]
    return msgspec.structs.replace(
        plan, is_profiled=True, profiled=profiled, notes=tuple(dict.fromkeys((*plan.notes, *notes)))
    )


def _uses_mpi(case: Case, workload: Workload) -> bool:
    measured = workload.stages(case)[-1]
    return measured.is_mpi and not measured.is_pair
