"""Calls and bytes in a profile are exact: for each kind of call, in C and Fortran, and with threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from communication.conftest import PROGRAMS, Mpi, Run, build


def test_each_kind_of_collective_has_its_calls_and_size(truth: Run) -> None:
    ended = truth("each", ranks=3)
    found = {
        one.function: (one.size_class, one.calls, sum(one.bytes) // 3) for one in ended.profile.functions
    }
    once = [1, 1, 1]
    expected = {
        "MPI_Barrier": (0, once, 0),
        "MPI_Bcast": (32, once, 20),
        "MPI_Reduce": (16, once, 16),
        "MPI_Allreduce": (16, once, 16),
        "MPI_Gather": (8, once, 7),
        "MPI_Gatherv": (4, once, 3),
        "MPI_Scatter": (16, once, 9),
        "MPI_Scatterv": (4, once, 3),
        "MPI_Allgather": (16, once, 11),
        "MPI_Allgatherv": (4, once, 3),
        "MPI_Alltoall": (16, once, 13),
        "MPI_Alltoallv": (4, once, 3),
        "MPI_Alltoallw": (4, once, 3),
        "MPI_Reduce_scatter": (16, once, 9),
        "MPI_Reduce_scatter_block": (16, once, 9),
        "MPI_Scan": (8, once, 6),
        "MPI_Exscan": (8, once, 6),
        "MPI_Iallreduce": (8, once, 6),
        "MPI_Ibarrier": (0, once, 0),
        "MPI_Sendrecv": (32, once, 17),
        "MPI_Neighbor_alltoall": (32, once, 23),
        "MPI_Put": (32, once, 25),
        "MPI_Win_fence": (0, [2, 2, 2], 0),
    }
    assert {name: found[name] for name in expected} == expected


def test_messages_have_their_own_size_and_those_to_nobody_none(truth: Run) -> None:
    ended = truth("each", ranks=3)
    assert ended.row("MPI_Send").bytes == [0, 0, 0]
    assert ended.row("MPI_Ssend").bytes == [21, 0, 0]
    assert ended.row("MPI_Recv").bytes == [0, 21, 0], "the buffer had room for 1000"


def test_persistent_requests_count_the_messages_that_they_start(truth: Run) -> None:
    ended = truth("persistent")
    assert ended.row("MPI_Send_init").calls == [50, 50]
    assert ended.row("MPI_Recv_init").bytes == [5000, 5000]
    assert ended.row("MPI_Waitall").calls == [50, 50]


def test_four_threads_lose_no_call(truth: Run) -> None:
    ended = truth("threads")
    if not ended.profile.functions:
        pytest.skip("this MPI has no MPI_THREAD_MULTIPLE")
    assert ended.row("MPI_Send").calls == [200, 200]
    assert ended.row("MPI_Recv").calls == [200, 0]
    assert ended.row("MPI_Irecv").calls == [0, 200]
    assert ended.row("MPI_Wait").calls == [0, 200]
    assert ended.row("MPI_Send").bytes == [800, 800]


@pytest.mark.parametrize("binding", ["mpif", "module", "f08"])
def test_fortran_counts_as_c_does_and_once(mpi: Mpi, start: Run, tmp_path: Path, binding: str) -> None:
    if mpi.mpif90 is None:
        pytest.skip("this MPI has no Fortran compiler; apt install gfortran libopenmpi-dev")
    program = build(mpi.mpif90, binding, ["-O2", str(PROGRAMS / f"{binding}.f90")], tmp_path)
    ended = start(2, program)
    assert ended.row("MPI_Allreduce").calls == [100, 100]
    assert ended.row("MPI_Allreduce").bytes == [800, 800]
    assert ended.row("MPI_Send").calls == [50, 0]
    assert ended.row("MPI_Send").bytes == [4000, 0]
    assert ended.row("MPI_Irecv").calls == [0, 50]
    assert ended.row("MPI_Wait").calls == [0, 50]
    assert ended.row("MPI_Bcast").size_class == 128


@pytest.mark.slow
def test_a_thousand_communicators(truth: Run) -> None:
    ended = truth("communicators", ranks=4)
    assert ended.row("MPI_Comm_dup").calls == [1024] * 4
    assert ended.row("MPI_Allreduce").calls == [1024] * 4
    (barrier,) = [one for one in ended.profile.functions if one.function == "MPI_Barrier"]
    assert (barrier.comm_size, barrier.calls) == (2, [100] * 4)
    assert ended.profile.n_kept == 4 * (1024 + 100)
    assert ended.profile.n_dropped == 0


def test_memory_does_not_grow_with_the_number_of_calls(truth: Run) -> None:
    pages = [int(truth("allreduces", n).stdout.split()[1]) for n in (2_000, 200_000)]
    assert pages[1] - pages[0] < 256, "1 MiB of 4 KiB pages"
