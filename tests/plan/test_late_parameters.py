"""A parameter that a workload gets later changes no id of a case that does not use it."""

from __future__ import annotations

import msgspec

from tare.core.case import Case, Layout
from tare.core.workload import Parameter, ParameterKind
from tare.plan.content import identified

EARLY = Parameter(name="steps", kind=ParameterKind.WHOLE, default=10, summary="")
LATE = Parameter(name="split", kind=ParameterKind.TEXT, default="even", summary="", is_late=True)
CASE = Case(
    id="",
    workload="flow",
    platform="bare",
    layout=Layout(nodes=1, ranks=1, ranks_per_node=1),
    parameters={"steps": 10},
)


def with_split(split: str) -> Case:
    case = msgspec.structs.replace(CASE, parameters={"steps": 10, "split": split})
    return identified(case, "digest", (EARLY, LATE))


def test_a_case_with_its_default_keeps_the_id_that_it_had_before() -> None:
    assert with_split("even").id == identified(CASE, "digest", (EARLY,)).id
    assert with_split("even").parameters["split"] == "even"


def test_a_case_with_another_value_is_another_case() -> None:
    assert len({with_split(one).id for one in ("even", "graph", "none")}) == 3


def test_a_parameter_that_was_always_there_counts_with_its_default() -> None:
    early = msgspec.structs.replace(LATE, is_late=False)
    case = msgspec.structs.replace(CASE, parameters={"steps": 10, "split": "even"})
    assert identified(case, "digest", (EARLY, early)).id != identified(CASE, "digest", (EARLY,)).id
