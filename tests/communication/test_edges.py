"""Calls whose arguments say less than they seem to: nobody to talk to, operands that are ignored, groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from communication.conftest import PROGRAMS, STRICT, Ended, Mpi, Run, build

_NOT_THERE = 77
"""What the program returns where it was compiled without the functions of MPI 4."""


@pytest.fixture(scope="session")
def edges(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled program."""
    work = tmp_path_factory.mktemp("edges")
    return build(mpi.mpicc, "edges", [*STRICT, str(PROGRAMS / "edges.c")], work)


@pytest.fixture
def edge(start: Run, edges: Path) -> Run:
    """Return what runs one of the programs in edges.c on some ranks."""

    def run(what: str, ranks: int = 3) -> Ended:
        ended = start(ranks, edges, what)
        if ended.code == _NOT_THERE:
            pytest.skip("this MPI has no such functions")
        assert ended.code == 0, ended.stderr
        return ended

    return run


def _rows(ended: Ended, function: str) -> list[tuple[int, list[int], list[int]]]:
    """Return the size class, the calls and the bytes of each row of a function."""
    return [
        (one.size_class, one.calls, one.bytes) for one in ended.profile.functions if one.function == function
    ]


def test_a_send_receive_counts_as_what_it_receives_and_without_a_source_as_a_send(edge: Run) -> None:
    ended = edge("chain")
    assert _rows(ended, "MPI_Sendrecv") == [(128, [0, 1, 1], [0, 100, 100])]
    assert _rows(ended, "MPI_Sendrecv_replace") == [(512, [0, 1, 1], [0, 300, 300])]
    assert _rows(ended, "MPI_Send") == [(128, [1, 0, 0], [100, 0, 0]), (512, [1, 0, 0], [300, 0, 0])]
    received = _rows(edge("unequal", ranks=2), "MPI_Sendrecv")
    assert received == [(16, [0, 1], [0, 10]), (512, [1, 0], [500, 0])]


def test_a_send_receive_that_is_started_counts_as_what_it_receives(edge: Run) -> None:
    ended = edge("started_chain")
    assert _rows(ended, "MPI_Isendrecv") == [(128, [0, 1, 1], [0, 100, 100])]
    assert _rows(ended, "MPI_Isendrecv_replace") == [(512, [0, 1, 1], [0, 300, 300])]
    assert _rows(ended, "MPI_Isend") == [(128, [1, 0, 0], [100, 0, 0]), (512, [1, 0, 0], [300, 0, 0])]


def test_a_message_in_parts_counts_once_for_each_start(edge: Run) -> None:
    ended = edge("parts")
    for function in ("MPI_Psend_init", "MPI_Precv_init"):
        assert _rows(ended, function) == [(512, [3, 3, 3], [900, 900, 900])]
    assert ended.row("MPI_Pready").calls == ended.row("MPI_Pready_range").calls == [3, 3, 3]


def test_a_message_on_a_communicator_with_the_handle_of_one_that_ended_counts_there(edge: Run) -> None:
    ended = edge("reused", ranks=4)
    found = {
        (one.function, one.comm_size): one.calls
        for one in ended.profile.functions
        if one.function in {"MPI_Send", "MPI_Recv"}
    }
    assert found == {
        ("MPI_Send", 2): [5, 0, 5, 0],
        ("MPI_Recv", 2): [0, 5, 0, 5],
        ("MPI_Send", 4): [5, 0, 0, 0],
        ("MPI_Recv", 4): [0, 5, 0, 0],
    }


def test_fortran_counts_as_c_does(mpi: Mpi, start: Run, tmp_path: Path) -> None:
    if mpi.mpif90 is None:
        pytest.skip("this MPI has no Fortran compiler; apt install gfortran libopenmpi-dev")
    ended = start(2, build(mpi.mpif90, "chain", [str(PROGRAMS / "chain.f90")], tmp_path))
    assert _rows(ended, "MPI_Sendrecv") == [(32, [0, 1], [0, 32])]
    assert _rows(ended, "MPI_Sendrecv_replace") == [(128, [0, 1], [0, 128])]
    assert _rows(ended, "MPI_Send") == [(32, [1, 0], [32, 0]), (128, [1, 0], [128, 0])]
    assert _rows(ended, "MPI_Allreduce") == [(16, [1, 1], [16, 16])]


def test_messages_to_and_from_nobody_have_no_bytes(edge: Run) -> None:
    ended = edge("nobody", ranks=2)
    messages = [one for one in ended.profile.functions if not one.function.startswith("MPI_Wait")]
    assert {"MPI_Sendrecv", "MPI_Mrecv", "MPI_Send_init"} <= {one.function for one in messages}
    assert all(sum(one.bytes) == 0 and one.size_class == 0 for one in messages)


def test_a_rank_without_neighbours_passes_no_counts(edge: Run) -> None:
    rows = _rows(edge("alone"), "MPI_Neighbor_alltoallv")
    assert rows == [(0, [0, 0, 1], [0, 0, 0]), (8, [1, 1, 0], [7, 7, 0])]


def test_a_type_that_a_call_ignores_is_not_looked_at(edge: Run) -> None:
    assert _rows(edge("ignored"), "MPI_Get_accumulate") == [(16, [1, 1, 1], [12, 12, 12])]


def test_between_groups_the_part_that_counts_is_counted(edge: Run) -> None:
    ended = edge("groups")
    found = {
        function: [sum(column) for column in zip(*(row[2] for row in _rows(ended, function)), strict=True)]
        for function in ("MPI_Reduce_scatter", "MPI_Bcast", "MPI_Gather")
    }
    assert found == {"MPI_Reduce_scatter": [16] * 3, "MPI_Bcast": [48] * 3, "MPI_Gather": [20] * 3}


def test_starts_of_requests_that_found_no_room_count_too(edge: Run) -> None:
    ended = edge("lost", ranks=1)
    started = _rows(ended, "MPI_Recv_init") + _rows(ended, "MPI_Startall")
    assert sum(calls[0] for _, calls, _ in started) == 70_000


def test_waiting_for_a_late_rank_in_calls_that_make_something_is_no_computation(edge: Run) -> None:
    computed = edge("late", ranks=2).profile.computation_s
    assert computed[0] > 0.9 * 3 * 0.2
    assert computed[1] < 0.3
