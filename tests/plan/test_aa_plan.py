"""An A/A study: the reference against itself, as two cases that differ in name alone."""

from __future__ import annotations

import msgspec

from support.doubles import DoubleWorkload
from tare.core.launch import Invocation, Placement
from tare.core.plan import Plan
from tare.core.site import Platform, Site
from tare.core.study import Factor, Level, Study
from tare.execution.compose import Composer
from tare.plan import make_plan

SITE = Site(name="here", nodes=("n1", "n2"), platforms={"bare": Platform(), "podman": Platform()})
WORKLOADS = {"double": DoubleWorkload(argv=("run", "{work}"))}
STUDY = Study(
    name="s",
    factors=(
        Factor("workload", (Level(settings={"workload": "double"}),)),
        Factor("platform", tuple(Level(settings={"platform": name}) for name in ("bare", "podman"))),
        Factor("size", tuple(Level(settings={"size": size}) for size in (1, 2))),
    ),
    reference={"platform": "bare"},
)


class Nothing:
    """Stands for a launcher and a runtime that change nothing."""

    name = "nothing"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        return program

    def wrap(self, program: Invocation, platform: Platform, folder: str) -> Invocation:
        return program


def twins() -> Plan:
    return make_plan(msgspec.structs.replace(STUDY, is_aa=True), SITE, WORKLOADS)


def test_only_reference_cases_are_run_each_against_itself() -> None:
    plan = twins()
    assert [(case.settings["size"], case.twin, case.platform) for case in plan.cases] == [
        (1, "a", "bare"),
        (2, "a", "bare"),
        (1, "b", "bare"),
        (2, "b", "bare"),
    ]
    assert plan.varied == ("size", "twin")
    pairs = {case.settings["size"]: plan.reference_of(case) for case in plan.cases if case.twin == "b"}
    assert {size: one and (one.settings["size"], one.twin) for size, one in pairs.items()} == {
        1: (1, "a"),
        2: (2, "a"),
    }


def test_the_cases_of_an_aa_pair_have_own_ids_and_the_same_command() -> None:
    plan = twins()
    composer = Composer(SITE, WORKLOADS, lambda _: Nothing(), lambda _: Nothing())
    assert len({case.id for case in plan.cases}) == 4
    first, second = (
        next(case for case in plan.cases if case.twin == name and case.settings["size"] == 2)
        for name in ("a", "b")
    )
    assert composer.compose(first) == composer.compose(second)


def test_a_case_of_no_aa_pair_keeps_the_id_that_it_has_in_older_campaigns() -> None:
    assert [case.id for case in make_plan(STUDY, SITE, WORKLOADS).cases][:1] == ["34bd64c42d9ac03e"]


def test_a_study_without_a_reference_has_all_its_cases_against_themselves() -> None:
    plan = make_plan(msgspec.structs.replace(STUDY, reference={}, is_aa=True), SITE, WORKLOADS)
    assert len(plan.cases) == 8
