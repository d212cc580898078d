"""Check that the reference of a study exists, and which cases have no reference. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.case import Case
from tare.core.errors import Fault
from tare.core.plan import Plan
from tare.core.study import Study
from tare.plan.gathering import fault_at

_MOST_NAMED = 3


def reference_faults(plan: Plan, study: Study) -> tuple[list[Fault], list[Fault]]:
    """Return the faults and the notes about the reference.

    It is a fault that no case is the reference, or that no case has one. Cases without a reference, where
    others have one, are a note.
    """
    if not plan.reference:
        return [], []
    origin = study.origins.get("reference")
    wanted = " ".join(f"{name}={plan.written(name, value)}" for name, value in plan.reference.items())
    references = [case for case in plan.cases if plan.is_reference(case)]
    if not references:
        found = "; ".join(_levels(plan, name) for name in plan.reference)
        return [fault_at(study, origin, f"no case is the reference {wanted}; {found}")], []
    strange = [name for name, common, _ in plan.across_workloads() if not common]
    if strange:
        workload = plan.reference["workload"]
        message = (
            f"{strange[0]} has no figure of the same name and unit as {workload}, so that nothing of the two "
            "could be compared; give both such a figure, or leave one out"
        )
        return [fault_at(study, origin, message)], []
    contenders = [case for case in plan.cases if not plan.is_reference(case)]
    across = [fault_at(study, origin, text) for text in across_workloads(plan)]
    alone = [case for case in contenders if plan.reference_of(case) is None]
    if not alone:
        return [], across
    shown = "; ".join(_words(plan, case) for case in alone[:_MOST_NAMED])
    more = f"; and {len(alone) - _MOST_NAMED} more" if len(alone) > _MOST_NAMED else ""
    if len(alone) == len(contenders):
        message = (
            f"nothing could be compared: no other case is like one of the reference {wanted} in all else "
            f"({shown}{more}); name a 'reference' from which other cases differ in nothing but its settings"
        )
        return [fault_at(study, origin, message)], []
    what = "1 case has" if len(alone) == 1 else f"{len(alone)} cases have"
    message = f"{what} no reference, so they are measured and not compared: {shown}{more}"
    return [], [*across, fault_at(study, origin, message)]


def across_workloads(plan: Plan) -> Iterator[str]:
    """Yield what is compared between different workloads: figures of the same name and unit."""
    for name, common, others in plan.across_workloads():
        rest = f"; {', '.join(others)} of one alone cannot be compared" if others else ""
        yield (
            f"{name} is held against {plan.reference['workload']} in figures of the same name and unit: "
            f"{', '.join(common)}{rest}"
        )


def _levels(plan: Plan, name: str) -> str:
    rows = [case.settings for case in plan.cases]
    levels = dict.fromkeys(plan.written(name, row[name]) for row in rows if name in row)
    return f"{name} is {' or '.join(levels)}" if levels else f"no case has {name}"


def _words(plan: Plan, case: Case) -> str:
    names = [name for name in plan.varied if name in case.settings and name != "workload"]
    told = (f"{name}={plan.written(name, case.settings[name], case.workload)}" for name in names)
    return " ".join([case.workload, *told])
