"""Communicators that end in callbacks or are shared with started programs; receives from anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from communication.conftest import PROGRAMS, SHARED, STRICT, Ended, Mpi, Run, build
from tare.core.profile import read


@pytest.fixture(scope="session")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled program."""
    work = tmp_path_factory.mktemp("communicators")
    return build(mpi.mpicc, "communicators", [*STRICT, str(PROGRAMS / "communicators.c")], work)


def _ended(start: Run, program: Path, what: str, ranks: int, **options: str) -> Ended:
    ended = start(ranks, program, what, **options)
    assert ended.code == 0, ended.stderr
    return ended


def test_what_ranks_send_to_a_program_that_they_start_is_their_own(
    mpi: Mpi, start: Run, program: Path
) -> None:
    if "intelmpi" in mpi.mpiexec:
        pytest.skip("the Intel MPI of its wheel dies in MPI_Comm_spawn, without the library too")
    ended = _ended(start, program, "spawn", 2)
    assert "instead of" not in ended.stderr
    assert {100} == {
        calls for one in ended.profile.functions if one.function == "MPI_Allreduce" for calls in one.calls
    }


def test_the_end_of_a_communicator_is_not_charged_with_what_the_profile_waits(
    start: Run, program: Path
) -> None:
    ended = _ended(start, program, "ended_late", 2)
    on_time = 1
    assert ended.row("MPI_Comm_free").calls[on_time] == 20
    assert ended.row("MPI_Comm_free").seconds[on_time] < 0.5 * 20 * 0.01


def test_a_communicator_that_a_callback_frees_is_forgotten(start: Run, program: Path) -> None:
    ended = _ended(start, program, "callback", 4)
    found = {one.comm_size: one.calls for one in ended.profile.functions if one.function == "MPI_Allreduce"}
    assert found == {2: [5] * 4, 4: [5] * 4}


def test_a_receive_that_fails_has_no_bytes(start: Run, program: Path) -> None:
    row = _ended(start, program, "failed", 2).row("MPI_Recv")
    assert (row.size_class, row.calls, row.bytes) == (0, [1, 1], [0, 0])


def test_waiting_is_exact_only_where_every_rank_has_a_part(start: Run, program: Path) -> None:
    ended = _ended(start, program, "empty_parts", 3)
    splits = sorted(one.split for one in ended.profile.functions if one.function == "MPI_Allgatherv")
    assert set(splits) == {"bound", "exact"}


@pytest.mark.parametrize(
    ("what", "functions"), [("any_source", ["MPI_Irecv"]), ("matched", ["MPI_Mrecv", "MPI_Imrecv"])]
)
def test_a_message_from_any_source_counts_where_it_came_from(
    what: str, functions: list[str], mpi: Mpi, library: Path, start: Run, program: Path, tmp_path: Path
) -> None:
    nodes = build(mpi.mpicc, "libtwo_nodes.so", [*STRICT, *SHARED, str(PROGRAMS / "two_nodes.c")], tmp_path)
    ended = _ended(start, program, what, 4, preload=f"{library}:{nodes}")
    for function in functions:
        found = {
            (one.locality, one.size_class): sum(one.calls)
            for one in ended.profile.functions
            if one.function == function and any(one.calls)
        }
        assert found == {("intra", 128): 1, ("inter", 128): 1}


def test_a_program_that_loads_its_mpi_late_runs_without_a_profile_and_says_so(
    mpi: Mpi, start: Run, tmp_path: Path
) -> None:
    module = build(
        mpi.mpicc, "module.so", [*STRICT, "-fPIC", "-shared", str(PROGRAMS / "module.c")], tmp_path
    )
    loader = build("cc", "loader", [*STRICT, str(PROGRAMS / "loader.c"), "-ldl"], tmp_path)
    ended = start(2, loader, module)
    assert ended.code == 0, ended.stderr
    assert "no profile, because the program loads its MPI itself" in ended.stderr
    assert read(ended.folder) == "no profile, because the run left no profile.json"
