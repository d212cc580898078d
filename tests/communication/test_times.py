"""Time goes to what it was spent on, in programs whose truth is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from communication.conftest import Ended, Run
from tare.core.profile import Calls

pytestmark = pytest.mark.alone  # where a second goes depends on what else runs


def share(ended: Ended, *rows: Calls) -> float:
    """Return the share of some rows in the time of all ranks."""
    return sum(sum(one.seconds) for one in rows) / sum(ended.profile.wall_s)


def test_small_allreduces_are_what_takes_the_time(truth: Run) -> None:
    ended = truth("allreduces", 500_000)
    row = ended.row("MPI_Allreduce")
    assert (row.size_class, row.calls) == (8, [500_000] * 2)
    assert share(ended, row) > 0.7, "the rest is the loop and the clock; a call takes 0.3 us"


def test_large_messages_are_what_takes_the_time(truth: Run) -> None:
    ended = truth("sends")
    sent, received = ended.row("MPI_Send"), ended.row("MPI_Recv")
    assert (sent.size_class, sent.calls, received.bytes) == (1 << 20, [300, 0], [0, 300 << 20])
    assert share(ended, sent, received) > 0.8, "the rest is what a busy machine takes"


def test_waiting_for_a_slow_rank_is_no_transfer(truth: Run) -> None:
    ended = truth("slow-rank")
    row = ended.row("MPI_Allreduce")
    slow, fast = 0, 1
    assert row.waiting_s[fast] > 0.9 * 20 * 0.02
    assert row.waiting_s[fast] < 1.05 * ended.profile.computation_s[slow]
    assert ended.profile.computation_s[slow] > 0.9 * 20 * 0.02
    for rank in (slow, fast):
        assert abs(row.transfer_s[rank] + row.waiting_s[rank] - row.seconds[rank]) < 0.001


def test_what_computation_hides_is_not_waited_for(truth: Run) -> None:
    ended = truth("overlap")
    waited = share(ended, ended.row("MPI_Isend"), ended.row("MPI_Irecv"), ended.row("MPI_Waitall"))
    assert waited < 0.1
    assert min(ended.profile.computation_s) > 0.9 * 10 * 0.02


def test_a_wait_counts_with_what_it_waited_for(truth: Run) -> None:
    ended = truth("late-sender")
    assert ended.row("MPI_Irecv").seconds[1] > 0.9 * 10 * 0.02
    assert ended.row("MPI_Wait").calls == [10, 10]
    assert sum(ended.row("MPI_Wait").seconds) < 0.01


def test_computation_is_what_is_left(truth: Run) -> None:
    ended = truth("compute")
    for rank in (0, 1):
        assert ended.profile.computation_s[rank] > 0.95 * ended.profile.wall_s[rank]


def test_files_count_and_pipes_do_not(truth: Run, tmp_path: Path) -> None:
    ended = truth("files", tmp_path)
    found = {one.operation: (one.calls, one.bytes) for one in ended.profile.files}
    assert found["write"] == ([100, 100], [100 << 20] * 2), "neither the pipe nor what MPI_File_… writes"
    assert found["read"] == ([1, 1], [1000, 1000])
    assert found["sync"] == ([1, 1], [0, 0])
    assert found["MPI_File_write_at_all"] == ([1, 1], [1000, 1000])
    assert found["MPI_File_open"][0] == [1, 1]
    assert {one.file_system for one in ended.profile.files} - {"unknown"}


def test_the_parts_are_the_whole(truth: Run, tmp_path: Path) -> None:
    for ended in (truth("each", ranks=3), truth("files", tmp_path)):
        profile = ended.profile
        for rank in range(profile.ranks):
            inside = sum(one.seconds[rank] for one in profile.functions)
            inside += sum(one.seconds[rank] for one in profile.files)
            whole = profile.computation_s[rank] + inside
            assert abs(whole - profile.wall_s[rank]) < 0.02 * profile.wall_s[rank] + 0.01
