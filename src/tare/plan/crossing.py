"""Whether anything crosses the networks that a study varies. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tare.core.errors import Fault
from tare.core.plan import Plan
from tare.core.study import Study
from tare.core.workload import Workload
from tare.plan.combinations import all_factors
from tare.plan.gathering import fault_at


def crossing_faults(
    plan: Plan, study: Study, workloads: Mapping[str, Workload]
) -> tuple[list[Fault], list[Fault]]:
    """Return the fault that nothing crosses the networks that vary, and the note on cases for which it is so.

    What ranks of one node send each other crosses none. Cases of workloads whose data are not what ranks send
    each other, such as those of storage, are no concern of this.
    """
    sending = [case for case in plan.cases if workloads[case.workload].needs_transport]
    alone = [case for case in sending if case.layout.nodes == 1]
    if "network" not in plan.varied or not alone:
        return [], []
    levels = (one for factor in all_factors(study) for one in factor.levels if "network" in one.settings)
    origin = next((one.origin for one in levels if one.origin), None)
    if len(alone) == len(plan.cases):
        message = (
            "network varies, and every case has one node: nothing crosses a network; add 'nodes: 2' or more, "
            "or name one network"
        )
        return [fault_at(study, origin, message)], []
    if len({case.network for case in alone}) == 1:
        return [], []
    message = (
        f"{len(alone)} cases have one node: nothing that their ranks send each other crosses the networks in "
        "which they differ"
    )
    return [], [fault_at(study, origin, message)]
