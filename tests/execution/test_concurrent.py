"""Attempts at the same time: never two on one node, and none left when it is abandoned."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tare.core.attempt import Attempt, State
from tare.core.case import Case, Layout, Run
from tare.execution.concurrent import ConcurrentExecutor

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
def executor(work: GatedWork) -> Iterator[ConcurrentExecutor]:
    executor = ConcurrentExecutor(work.execute, NODES, lambda case: case.layout.nodes, 3, work.end_all)
    yield executor
    executor.abandon()


def start(executor: ConcurrentExecutor, one: Case) -> None:
    assert executor.can_start(one)
    executor.start(one, Run(1, one.id), 1)


def test_each_gets_nodes_of_its_own_and_waits_for_them(executor: ConcurrentExecutor, work: GatedWork) -> None:
    start(executor, case("a", 2))
    start(executor, case("b", 1))
    assert not executor.can_start(case("c", 2))
    work.gates["a"].set()
    assert [one.case for one in executor.wait()] == ["a"]
    start(executor, case("c", 2))
    work.end_all()
    while len(work.ran) < 3:
        pass
    assert work.ran == {"a": ("n1", "n2"), "b": ("n3",), "c": ("n1", "n2")}


def test_no_more_than_asked_for_are_under_way(executor: ConcurrentExecutor) -> None:
    for name in "abc":
        start(executor, case(name, 1))
    assert not executor.can_start(case("d", 1))


def test_what_breaks_an_attempt_reaches_who_waits(executor: ConcurrentExecutor, work: GatedWork) -> None:
    start(executor, case("e", 1))
    work.gates["e"].set()
    with pytest.raises(OSError, match="broken"):
        executor.wait()


def test_what_came_out_beside_a_broken_attempt_is_not_lost(
    executor: ConcurrentExecutor, work: GatedWork
) -> None:
    for name in "ea":
        start(executor, case(name, 1))
    work.end_all()
    while any(not one.done() for one in executor._under_way):
        pass
    assert [one.case for one in executor.wait()] == ["a"]
    with pytest.raises(OSError, match="broken"):
        executor.wait()


def test_abandoned_attempts_are_ended_and_waited_for(work: GatedWork) -> None:
    executor = ConcurrentExecutor(work.execute, NODES, lambda case: case.layout.nodes, 3, work.end_all)
    start(executor, case("a", 1))
    start(executor, case("b", 1))
    executor.abandon()
    assert work.n_ends >= 1
    assert not [one for one in threading.enumerate() if one.name.startswith("attempt")]


def test_abandoning_nothing_ends_nothing(work: GatedWork) -> None:
    ConcurrentExecutor(work.execute, NODES, lambda case: 1, 3, work.end_all).abandon()
    assert work.n_ends == 0
