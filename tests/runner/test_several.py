"""Attempts at the same time: never two on one node, and none left when it is abandoned."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tare.model.attempt import Attempt, State
from tare.model.case import Case, Layout, Run
from tare.runner.several import Several

NODES = ("n1", "n2", "n3", "n4")


def case(name: str, nodes: int) -> Case:
    return Case(id=name, workload="w", platform="p", layout=Layout(nodes=nodes, ranks=nodes))


class GatedWork:
    """Attempts that go on until their gate is opened, or all is ended."""

    def __init__(self) -> None:
        self.gates = {name: threading.Event() for name in "abcde"}
        self.ran: dict[str, tuple[str, ...]] = {}
        self.n_ends = 0

    def execute(self, nodes: tuple[str, ...], case: Case, run: Run, number: int) -> Attempt:
        self.ran[case.id] = nodes
        assert self.gates[case.id].wait(20)
        if case.id == "e":
            raise OSError("broken")
        return Attempt(
            case=case.id, block=run.block, attempt=number, state=State.DONE, started_at=0.0, hosts=list(nodes)
        )

    def end_all(self) -> None:
        self.n_ends += 1
        for gate in self.gates.values():
            gate.set()


@pytest.fixture
def work() -> GatedWork:
    return GatedWork()


@pytest.fixture
def crew(work: GatedWork) -> Iterator[Several]:
    crew = Several(work.execute, NODES, lambda case: case.layout.nodes, 3, work.end_all)
    yield crew
    crew.abandon()


def start(crew: Several, one: Case) -> None:
    assert crew.has_room(one)
    crew.start(one, Run(1, one.id), 1)


def test_each_gets_nodes_of_its_own_and_waits_for_them(crew: Several, work: GatedWork) -> None:
    start(crew, case("a", 2))
    start(crew, case("b", 1))
    assert not crew.has_room(case("c", 2))
    work.gates["a"].set()
    assert [one.case for one in crew.wait()] == ["a"]
    start(crew, case("c", 2))
    work.end_all()
    while len(work.ran) < 3:
        pass
    assert work.ran == {"a": ("n1", "n2"), "b": ("n3",), "c": ("n1", "n2")}


def test_no_more_than_asked_for_are_under_way(crew: Several) -> None:
    for name in "abc":
        start(crew, case(name, 1))
    assert not crew.has_room(case("d", 1))


def test_what_breaks_an_attempt_reaches_who_waits(crew: Several, work: GatedWork) -> None:
    start(crew, case("e", 1))
    work.gates["e"].set()
    with pytest.raises(OSError, match="broken"):
        crew.wait()


def test_what_came_out_beside_a_broken_attempt_is_not_lost(crew: Several, work: GatedWork) -> None:
    for name in "ea":
        start(crew, case(name, 1))
    work.end_all()
    while any(not one.done() for one in crew._under_way):
        pass
    assert [one.case for one in crew.wait()] == ["a"]
    with pytest.raises(OSError, match="broken"):
        crew.wait()


def test_abandoned_attempts_are_ended_and_waited_for(work: GatedWork) -> None:
    crew = Several(work.execute, NODES, lambda case: case.layout.nodes, 3, work.end_all)
    start(crew, case("a", 1))
    start(crew, case("b", 1))
    crew.abandon()
    assert work.n_ends >= 1
    assert not [one for one in threading.enumerate() if one.name.startswith("attempt")]


def test_abandoning_nothing_ends_nothing(work: GatedWork) -> None:
    Several(work.execute, NODES, lambda case: 1, 3, work.end_all).abandon()
    assert work.n_ends == 0
