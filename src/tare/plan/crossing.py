"""Check that data crosses the networks that a study varies. Pure."""

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
    """Return a fault where no case sends data over the varied networks, or a note where only some do.

    Ranks on one node send each other nothing over a network. Only workloads whose data are what ranks send
    each other are checked; storage workloads, for example, are not.
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
