"""From a study to its cases."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.doubles import DoubleWorkload
from tare.core.errors import FileFaults
from tare.core.plan import Plan
from tare.core.site import Network, Platform, Site
from tare.core.study import Factor, Level, Origin, Repeats, Study
from tare.core.values import Scalar, Settings
from tare.core.workload import InlineDefinition, Input, Parameter, ParameterKind
from tare.plan import make_plan

SITE = Site(
    name="here",
    nodes=("n1", "n2", "n3", "n4"),
    platforms={"bare": Platform(), "box": Platform()},
    networks={"host": Network(interface="fab0"), "overlay": Network(interface="eth0")},
)


def factor(name: str, *values: Scalar) -> Factor:
    return Factor(name, tuple(Level(settings={name: value}) for value in values))


def plan(*factors: Factor, workload: DoubleWorkload | None = None, **study: Any) -> Plan:
    made = Study(**{"name": "s", "common": {"workload": "double"}, "factors": factors, **study})
    return make_plan(made, SITE, {"double": workload or DoubleWorkload()})


def column(made: Plan, name: str) -> list[Scalar | None]:
    return [case.settings.get(name) for case in made.cases]


def test_factors_multiply_with_the_last_one_fastest() -> None:
    made = plan(factor("network", "host", "overlay"), factor("nodes", 1, 2))
    assert column(made, "network") == ["host", "host", "overlay", "overlay"]
    assert column(made, "nodes") == [1, 2, 1, 2]
    assert made.varied == ("network", "nodes", "ranks")


def test_coupled_cases_are_listed_instead_of_multiplied() -> None:
    cases = tuple(Level(settings={"nodes": nodes, "size": nodes * 10}) for nodes in (1, 3))
    made = plan(factor("network", "host", "overlay"), cases=cases)
    assert column(made, "size") == [10, 30, 10, 30]
    assert column(made, "nodes") == [1, 3, 1, 3]


def test_the_most_special_level_takes_effect() -> None:
    inner: Settings = {"workload": "double", "nodes": 4}
    made = plan(
        Factor("workload", (Level(settings=inner),)),
        Factor("setup", (Level(settings={"nodes": 3, "platform": "box", "size": 7}),)),
        factor("nodes", 1),
        common={"size": 5, "nodes": 1},
    )
    assert column(made, "nodes") == [4]
    assert column(made, "platform") == ["box"]
    assert column(made, "size") == [7]


def test_a_workload_of_few_ranks_takes_fewer_nodes_than_the_study() -> None:
    few = Level(settings={"workload": "double", "ranks": 2})
    (case,) = plan(Factor("workload", (few,)), common={"nodes": 4}).cases
    assert (case.layout.nodes, case.layout.ranks) == (2, 2)


def test_an_id_depends_on_content_alone() -> None:
    one = plan(factor("network", "host", "overlay"), factor("size", 1, 2))
    other = plan(factor("size", 2, 1), factor("network", "overlay", "host"))
    assert {case.id for case in one.cases} == {case.id for case in other.cases}
    redefined = plan(factor("network", "host"), workload=DoubleWorkload(digest="other"))
    assert {case.id for case in redefined.cases}.isdisjoint(case.id for case in one.cases)


def test_parameters_of_other_workloads_do_not_multiply_a_case() -> None:
    made = plan(factor("elsewhere", 1))
    assert len(made.cases) == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"nodes": 2, "ranks_per_node": 3}, (2, 6, 3)),
        ({"ranks": 8, "ranks_per_node": 2}, (4, 8, 2)),
        ({"ranks": 7, "ranks_per_node": 2}, (4, 7, 2)),
        ({"ranks": 8, "nodes": 2}, (2, 8, 4)),
        ({"ranks": 2}, (1, 2, 2)),
        ({}, (1, 1, 1)),
    ],
)
def test_two_of_nodes_ranks_and_ranks_per_node_make_the_third(
    settings: dict[str, int], expected: tuple[int, int, int]
) -> None:
    (case,) = plan(common={"workload": "double", **settings}).cases
    assert (case.layout.nodes, case.layout.ranks, case.layout.ranks_per_node) == expected


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"nodes": 2, "ranks": 9, "ranks_per_node": 4}, "9 ranks do not fill 2 nodes"),
        ({"nodes": 3, "ranks": 2}, "2 ranks do not fill 3 nodes"),
        ({"nodes": 5}, "5 nodes, but site here has 4; use 4 or fewer"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_with_the_cure(settings: dict[str, int], reason: str) -> None:
    with pytest.raises(FileFaults, match=reason):
        plan(common={"workload": "double", **settings})


def test_every_fault_is_reported_once_at_the_level_that_made_it() -> None:
    levels = tuple(
        Level(settings={"nodes": nodes}, origin=Origin("s.yaml", line, 9, f"factors.nodes[{line}]"))
        for line, nodes in enumerate((8, 2, 9), 1)
    )
    with pytest.raises(FileFaults) as caught:
        plan(Factor("nodes", levels), factor("network", "host", "overlay"))
    assert [str(fault)[:40] for fault in caught.value.faults] == [
        "s.yaml:1:9: factors.nodes[1]: 8 nodes, b",
        "s.yaml:3:9: factors.nodes[3]: 9 nodes, b",
    ]


def test_a_workload_refuses_what_it_cannot_run() -> None:
    with pytest.raises(FileFaults, match="double: NEX must be a multiple of 16"):
        plan(workload=DoubleWorkload(refusal="NEX must be a multiple of 16"))


class SizeAbove:
    """A condition: size above a limit, or twice the size where asked."""

    text = "size > limit"

    def __init__(self, limit: int, name: str = "size") -> None:
        self.limit, self.name = limit, name

    def holds(self, settings: Settings) -> bool | None:
        return int(settings[self.name]) > self.limit if self.name in settings else None


def test_where_keeps_and_exclude_drops_and_derived_names_are_known() -> None:
    sizes = factor("size", 1, 2, 3)
    assert column(plan(sizes, where=(SizeAbove(1),)), "size") == [2, 3]
    assert column(plan(sizes, exclude=(SizeAbove(1),)), "size") == [1]
    assert column(plan(sizes, where=(SizeAbove(4, "twice"),)), "size") == [3]


def test_a_condition_on_a_setting_that_a_case_lacks_does_not_touch_it() -> None:
    made = plan(where=(SizeAbove(1, "absent"),), exclude=(SizeAbove(1, "absent"),))
    assert len(made.cases) == 1


def test_nothing_left_is_a_fault() -> None:
    with pytest.raises(FileFaults, match="no case is left; loosen 'where' or 'exclude'"):
        plan(where=(SizeAbove(99),))


def test_each_block_has_an_order_of_its_own_that_growth_does_not_change() -> None:
    small = plan(factor("size", *range(20)))
    large = plan(factor("size", *range(40)))
    orders = {tuple(case.id for case in small.order(block)) for block in range(1, 6)}
    assert len(orders) == 5
    assert all(sorted(order) == sorted(case.id for case in small.cases) for order in orders)
    known = {case.id for case in small.cases}
    grown = [case.id for case in large.order(1) if case.id in known]
    assert grown == [case.id for case in small.order(1)]


def test_every_position_in_a_block_is_equally_likely() -> None:
    made = plan(factor("size", 1, 2, 3, 4), repeats=Repeats(min=5, max=5))
    first = [made.order(block)[0].settings["size"] for block in range(1, 401)]
    counts = [first.count(size) for size in (1, 2, 3, 4)]
    assert all(60 < count < 140 for count in counts), counts  # 100 expected, standard deviation 9


def test_each_contender_finds_its_reference() -> None:
    made = plan(factor("network", "host", "overlay"), factor("size", 1, 2), reference={"network": "host"})
    pairs = {case.id: made.reference_of(case) for case in made.cases}
    for case in made.cases:
        reference = pairs[case.id]
        if case.network == "host":
            assert reference is None
        else:
            assert reference is not None
            assert reference.settings == {**case.settings, "network": "host"}


def test_nodes_that_share_cores_have_fewer_slots_the_more_of_them_are_used() -> None:
    lab = Site(name="lab", nodes=("n1", "n2", "n3", "n4"), platforms={}, slots_per_node=2, shared_cores=2)
    assert [lab.slots(n_nodes) for n_nodes in (1, 2, 4)] == [2, 1, 0]
    cores = tuple((core, core + 8) for core in range(8))
    large = msgspec.structs.replace(lab, shared_cores=16, shared_cpus=cores, slots_per_node=99)
    assert [large.slots(n_nodes) for n_nodes in (1, 2, 3, 16, 17)] == [16, 8, 4, 1, 0]
    assert large.own_cpus(2)[1] == (4, 5, 6, 7, 12, 13, 14, 15), "whole cores, one CPU of each first"
    assert large.own_cpus(17) == ()
    assert Site(name="real", nodes=("n1",), platforms={}, slots_per_node=48).slots(4) == 48


NETWORKS = Factor(
    "network",
    tuple(
        Level(settings={"network": name}, origin=Origin("s.yaml", 7, column, "factors.network"))
        for column, name in ((12, "host"), (18, "overlay"))
    ),
)


def test_networks_that_nothing_crosses_are_refused_with_the_cure() -> None:
    with pytest.raises(FileFaults) as caught:
        plan(NETWORKS, workload=DoubleWorkload(needs_transport=True))
    assert str(caught.value.faults[0]) == (
        "s.yaml:7:12: factors.network: network varies, and every case has one node: nothing crosses a "
        "network; add 'nodes: 2' or more, or name one network"
    )


def test_networks_that_some_case_crosses_are_not() -> None:
    workload = DoubleWorkload(needs_transport=True)
    made = plan(NETWORKS, factor("nodes", 1, 2), workload=workload)
    assert len(made.cases) == 4
    assert made.notes == (
        "s.yaml:7:12: factors.network: 2 cases have one node: nothing that their ranks send each other "
        "crosses the networks in which they differ",
    )
    assert len(plan(NETWORKS).cases) == 2, "storage may be reached over it, whatever the nodes"


OWN = InlineDefinition(
    name="double",
    command=("solve", "{size}"),
    parameters=(Parameter(name="size", kind=ParameterKind.WHOLE, default=1, summary=""),),
)


@pytest.mark.parametrize(
    ("own", "is_named"),
    [
        (OWN, True),
        (msgspec.structs.replace(OWN, command=("solve", "{{size}}")), False),
        (msgspec.structs.replace(OWN, command=("solve",)), False),
        (msgspec.structs.replace(OWN, command=("solve",), files={"in": "size = {size}"}), True),
        (msgspec.structs.replace(OWN, command=("solve",), env={"SIZE": "{size}"}), True),
        (
            msgspec.structs.replace(OWN, command=("solve",), inputs=(Input(name="in", path="{size}.dat"),)),
            True,
        ),
    ],
)
def test_a_varied_parameter_that_nothing_names_is_a_note(own: InlineDefinition, is_named: bool) -> None:
    made = plan(factor("size", 1, 2), workloads=(own,))
    found = [one for one in made.notes if "double runs the same for each size" in one]
    assert found == [] if is_named else len(found) == 1


def test_a_parameter_that_further_arguments_name_is_used() -> None:
    own = msgspec.structs.replace(OWN, command=("solve",))
    made = plan(factor("size", 1, 2), workloads=(own,), common={"workload": "double", "args": "-n {size}"})
    assert made.notes == ()
