"""A reference is what contenders are held against: what follows from its settings follows."""

from __future__ import annotations

import msgspec
import pytest

from support.doubles import DoubleWorkload
from tare.core.case import Case
from tare.core.errors import FileFaults
from tare.core.plan import Plan
from tare.core.site import Network, Platform, Site
from tare.core.study import Factor, Level, Origin, Study
from tare.core.values import Scalar, Settings
from tare.core.workload import Parameter, ParameterKind, Stage
from tare.plan import make_plan

SITE = Site(
    name="here",
    nodes=tuple(f"n{number}" for number in range(1, 9)),
    slots_per_node=8,
    platforms={"bare": Platform(launcher="mpich"), "box": Platform(launcher="mpich")},
    networks={"host": Network(interface="fab0"), "overlay": Network(interface="eth0")},
)
MPI = (Stage(argv=("app",)),)


def factor(name: str, *values: Scalar) -> Factor:
    return Factor(name, tuple(Level(settings={name: value}) for value in values))


def coupled(name: str, *levels: Settings) -> Factor:
    return Factor(name, tuple(Level(settings=settings) for settings in levels))


def plan(reference: Settings, *factors: Factor, cases: tuple[Level, ...] = (), **common: Scalar) -> Plan:
    study = Study(
        name="s",
        factors=factors,
        cases=cases,
        common={"workload": "double", **common},
        reference=reference,
        origins={"reference": Origin("study.yaml", 3, 12, "reference")},
    )
    return make_plan(study, SITE, {"double": DoubleWorkload(stage_list=MPI)})


def held(made: Plan, *names: str) -> list[tuple[tuple[Scalar | None, ...], tuple[Scalar | None, ...]]]:
    """Return each contender and its reference by the settings `names`."""

    def row(case: Case) -> tuple[Scalar | None, ...]:
        return tuple(case.settings.get(name) for name in names)

    pairs = made.contenders()
    assert pairs == [(case, made.reference_of(case)) for case in made.cases if not made.is_reference(case)]
    assert all(reference is not None for _, reference in pairs)
    return [(row(case), row(reference)) for case, reference in pairs if reference is not None]


def test_ranks_follow_nodes_and_ranks_per_node() -> None:
    made = plan({"ranks_per_node": 1}, factor("nodes", 2, 4), factor("ranks_per_node", 1, 2))
    assert held(made, "nodes", "ranks") == [((2, 4), (2, 2)), ((4, 8), (4, 4))]
    made = plan({"nodes": 2}, factor("nodes", 2, 4), factor("ranks_per_node", 1, 2))
    assert held(made, "nodes", "ranks") == [((4, 4), (2, 2)), ((4, 8), (2, 4))]


def test_nodes_follow_where_ranks_are_given() -> None:
    made = plan({"ranks_per_node": 1}, factor("ranks", 4, 8), factor("ranks_per_node", 1, 2))
    assert held(made, "ranks", "nodes") == [((4, 2), (4, 4)), ((8, 4), (8, 8))]
    made = plan({"nodes": 1}, factor("nodes", 1, 2, 4), ranks=4)
    assert held(made, "nodes", "ranks_per_node") == [((2, 2), (1, 4)), ((4, 1), (1, 4))]


def test_what_one_factor_sets_together_follows() -> None:
    hybrid = coupled("how", {"ranks_per_node": 4, "threads": 1}, {"ranks_per_node": 1, "threads": 4})
    made = plan({"threads": 1}, hybrid, factor("nodes", 1, 2))
    assert held(made, "nodes", "threads", "ranks") == [((1, 4, 1), (1, 1, 4)), ((2, 4, 2), (2, 1, 8))]
    cases = tuple(Level(settings={"ranks": ranks, "threads": 8 // ranks}) for ranks in (8, 2))
    assert held(plan({"threads": 1}, cases=cases), "threads", "ranks") == [((4, 2), (1, 8))]
    setups = coupled(
        "setup", {"platform": "bare", "network": "host"}, {"platform": "box", "network": "overlay"}
    )
    assert held(plan({"platform": "bare"}, setups), "platform", "network") == [
        (("box", "overlay"), ("bare", "host"))
    ]


def test_the_binding_follows_where_it_is_the_default() -> None:
    made = plan({"ranks_per_node": 4}, factor("ranks_per_node", 4, 16), nodes=2)
    assert held(made, "ranks_per_node", "bind") == [((16, "none"), (4, "core"))]


def test_references_are_found_without_holding_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    n_each = 200
    known = {"double": DoubleWorkload(stage_list=MPI, parameters=(whole("number", 0),))}
    study = Study(
        name="s",
        factors=(factor("nodes", 1, 2), factor("number", *range(n_each))),
        common={"workload": "double", "ranks": 4},
        reference={"nodes": 1},
    )
    made = make_plan(study, SITE, known)
    assert len(made.cases) == 2 * n_each, "each contender follows its reference: their ranks per node differ"
    fresh, n_rows, row = msgspec.structs.replace(made), 0, vars(Case)["settings"].fget

    def counted(case: Case) -> dict[str, Scalar]:
        nonlocal n_rows
        n_rows += 1
        settings: dict[str, Scalar] = row(case)
        return settings

    monkeypatch.setattr(Case, "settings", property(counted))
    found = [fresh.reference_of(case) for case in fresh.cases]
    assert n_rows < 20 * len(fresh.cases)
    assert [one and one.parameters["number"] for one in found] == [*[None] * n_each, *range(n_each)]


@pytest.mark.parametrize(
    "name", ["workload", "network", "nodes", "ranks", "bind", "size", "storage", "other"]
)
def test_a_case_has_what_its_settings_say(name: str) -> None:
    case = Case(id="1", workload="w", platform="p", network="host", parameters={"size": 4})
    unknown = msgspec.structs.replace(case, unknown=("network", "ranks"))
    for one in (case, unknown):
        value = one.settings.get(name)
        assert not one.has({name: "else"})
        assert value is None or one.has({name: value, "workload": "w"})


def whole(name: str, default: int) -> Parameter:
    return Parameter(name=name, kind=ParameterKind.WHOLE, default=default, summary="")


class Plain(DoubleWorkload, frozen=True, kw_only=True):
    """A double that derives nothing."""

    def derive(self, settings: Settings) -> dict[str, Scalar]:
        return {}


def test_one_workload_is_held_against_another() -> None:
    known = {
        "plain": Plain(name="plain", stage_list=MPI, parameters=(whole("size", 1),)),
        "wrapped": Plain(name="wrapped", stage_list=MPI, parameters=(whole("size", 1), whole("layers", 3))),
    }
    study = Study(
        name="s",
        factors=(factor("workload", "plain", "wrapped"), factor("size", 1, 2), factor("nodes", 1, 2)),
        reference={"workload": "plain"},
    )
    made = make_plan(study, SITE, known)
    assert held(made, "workload", "size", "nodes") == [
        (("wrapped", size, nodes), ("plain", size, nodes)) for size in (1, 2) for nodes in (1, 2)
    ]


def test_a_plan_without_a_reference_has_no_contenders() -> None:
    made = plan({}, factor("nodes", 1, 2))
    assert made.contenders() == []
    assert made.reference_ids == frozenset()


def test_a_reference_that_no_case_has_is_a_fault_at_its_line() -> None:
    with pytest.raises(
        FileFaults, match=r"study.yaml:3:12: reference: no case is the reference threads=2; threads is 1"
    ):
        plan({"threads": 2}, factor("nodes", 1, 2))
    with pytest.raises(FileFaults, match=r"threads is 1 or 2 or .* or 12 or one of 8 more$"):
        plan({"threads": 99}, factor("threads", *range(1, 21)))


def test_a_reference_that_nothing_is_like_is_a_fault() -> None:
    cases = (
        Level(settings={"network": "host", "nodes": 1}),
        Level(settings={"network": "overlay", "nodes": 2}),
    )
    made = plan({"network": "host"}, cases=cases)
    assert made.notes == (), "what is listed together is held together"
    factors = (factor("network", "host", "overlay"), factor("nodes", 1, 2))
    study = Study(
        name="s",
        factors=factors,
        common={"workload": "double"},
        reference={"network": "host"},
        exclude=(Same(1),),
        origins={"reference": Origin("study.yaml", 3, 12, "reference")},
    )
    with pytest.raises(FileFaults, match=r"study\.yaml:3:12: reference: nothing could be compared"):
        make_plan(study, SITE, {"double": DoubleWorkload(stage_list=MPI)})


def test_a_study_of_nothing_but_its_reference_is_told_that_it_compares_nothing() -> None:
    (note,) = plan({"threads": 1}, factor("nodes", 1, 2)).notes
    assert str(note) == (
        "study.yaml:3:12: reference: all 2 cases are the reference threads=1, so they are measured and "
        "nothing is compared; vary threads in 'factors', or name a reference of what varies"
    )
    (note,) = plan({"threads": 1}).notes
    assert "the only case is the reference threads=1, so it is measured and nothing is compared" in str(note)


class Same:
    """A condition that holds where host has `nodes`, or overlay has another number of them."""

    text = "same"

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    def holds(self, settings: Settings) -> bool | None:
        return (settings["network"] == "host") == (settings["nodes"] == self.nodes)


def test_cases_without_a_reference_are_reported() -> None:
    made = plan(
        {"network": "host"},
        factor("network", "host", "overlay"),
        coupled("where", {"nodes": 1}, {"nodes": 2}),
    )
    kept = tuple(case for case in made.cases if (case.network, case.layout.nodes) != ("host", 2))
    from tare.plan.checks import check_reference

    left = msgspec.structs.replace(made, cases=kept)
    study = Study(name="s", origins={"reference": Origin("study.yaml", 3, 12, "reference")})
    faults, (note,) = check_reference(left, study)
    assert faults == []
    assert str(note).startswith(
        "study.yaml:3:12: reference: 1 case has no reference, so it is measured and not compared: "
    )
    assert "network=overlay nodes=2" in str(note)
