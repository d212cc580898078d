"""A non-blocking receive counts as the message that came, however much room its buffer has."""

from __future__ import annotations

from pathlib import Path

import pytest

from communication.conftest import PROGRAMS, STRICT, Built, Ended, Mpi, Run, build

_ENDS = ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome")


@pytest.fixture
def receive(mpi: Mpi, start: Run, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return what runs one of the programs in receives.c on two ranks."""
    if (mpi.mpicc, "receives") not in built:
        work: Path = tmp_path_factory.mktemp("receives")
        built[mpi.mpicc, "receives"] = build(
            mpi.mpicc, "receives", [*STRICT, str(PROGRAMS / "receives.c")], work
        )

    def run(how: str) -> Ended:
        ended = start(2, built[mpi.mpicc, "receives"], how)
        assert ended.code == 0, ended.stderr
        return ended

    return run


def _received(ended: Ended, function: str = "MPI_Irecv") -> dict[int, tuple[int, int]]:
    """Return the calls and bytes of rank 1 by size class; check that every row has the time of its calls."""
    rows = [one for one in ended.profile.functions if one.function == function]
    assert all(row.seconds[1] >= 0 for row in rows)
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        calls, n_bytes = found.get(row.size_class, (0, 0))
        found[row.size_class] = (calls + row.calls[1], n_bytes + row.bytes[1])
    return found


@pytest.mark.parametrize("end", _ENDS)
def test_a_receive_counts_as_the_message_that_came(receive: Run, end: str) -> None:
    assert _received(receive(f"MPI_{end}")) == {128: (40, 4000)}


def test_a_persistent_receive_counts_each_message_that_came(receive: Run) -> None:
    assert _received(receive("persistent"), "MPI_Recv_init") == {128: (10, 1000), 4096: (5, 15000)}


def test_a_receive_that_was_cancelled_has_no_bytes(receive: Run) -> None:
    assert _received(receive("cancelled")) == {0: (1, 0)}


def test_empty_messages_and_receives_from_nobody_have_no_bytes(receive: Run) -> None:
    assert _received(receive("empty")) == {0: (4, 0)}
