"""What ranks report of their placement is held against the layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.core.case import Binding, Layout
from tare.core.cpu_lists import parse_cpus
from tare.execution.placement import check_placement

TWO_BY_TWO = Layout(nodes=2, ranks=4, ranks_per_node=2, bind=Binding.CORE)


def say(
    folder: Path,
    host: str,
    rank: int | str,
    size: int | str,
    cpus: str,
    threads: int | str = "",
    sockets: str = "",
    node: str = "",
    autogroup: int | str = "",
    boot: str = "",
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{rank}.{host}.{len(list(folder.iterdir()))}").write_text(
        f"autogroup {autogroup}\nhost {host}\nnode {node}\nrank {rank}\nsize {size}\nthreads {threads}\n"
        f"Cpus_allowed_list: {cpus}\nsockets {sockets}\nboot {boot}\n"
    )


def say_well(folder: Path, *but: int) -> None:
    for rank in range(4):
        if rank not in but:
            say(folder, f"n{rank // 2 + 1}", rank, 4, str(rank % 2))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tare.execution.placement._PAUSE_S", 0.0)


def test_ranks_where_they_should_be_are_evidence(tmp_path: Path) -> None:
    say_well(tmp_path)
    found = check_placement(tmp_path, TWO_BY_TWO, slots=2)
    assert found == ("2 ranks on each of 2 hosts, each free to run on 1 CPU", None)


def test_sessions_that_go_before_others_are_reported(tmp_path: Path) -> None:
    for rank in range(2):
        say(tmp_path, f"n{rank}", rank, 2, "0", autogroup=-20)
    found = check_placement(tmp_path, Layout(2, 2, 1), slots=1)
    assert found.evidence.endswith("free to run on 1 CPU, before other sessions (autogroup nice -20)")


def test_a_priority_that_only_some_ranks_have_is_a_fault(tmp_path: Path) -> None:
    say(tmp_path, "n1", 0, 2, "0", autogroup=-20)
    say(tmp_path, "n2", 1, 2, "0", autogroup=0)
    fault = check_placement(tmp_path, Layout(2, 2, 1), slots=1).fault
    assert fault == (
        "the session of rank 0 on n1 has the autogroup nice value -20, that of rank 1 on n2 0; use --no-boost"
    )


def test_kernels_without_autogroups_report_nothing(tmp_path: Path) -> None:
    say(tmp_path, "n1", 0, 2, "0", autogroup=0)
    say(tmp_path, "n2", 1, 2, "0")
    assert check_placement(tmp_path, Layout(2, 2, 1), slots=1).fault is None


def test_an_empty_folder_is_no_evidence_and_no_fault(tmp_path: Path) -> None:
    assert check_placement(tmp_path, TWO_BY_TWO, slots=2) == ("", None)
    assert check_placement(tmp_path / "gone", TWO_BY_TWO, slots=2) == ("", None)


def test_a_missing_rank_is_a_fault(tmp_path: Path) -> None:
    say_well(tmp_path, 3)
    assert check_placement(tmp_path, TWO_BY_TWO, slots=2).fault == "3 ranks started, and the layout has 4"


def test_copies_of_one_rank_are_a_fault(tmp_path: Path) -> None:
    for number in range(4):
        say(tmp_path, f"n{number // 2 + 1}", 0, 1, str(number % 2))
    fault = check_placement(tmp_path, TWO_BY_TWO, slots=2).fault
    assert fault is not None
    assert "rank 0 is there more than once" in fault


def test_ranks_without_a_number_were_started_by_something_else(tmp_path: Path) -> None:
    for number in range(4):
        say(tmp_path, f"n{number // 2 + 1}", "", "", str(number % 2))
    assert "do not know their numbers" in (check_placement(tmp_path, TWO_BY_TWO, slots=2).fault or "")


def test_a_world_of_another_size_is_a_fault(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, f"n{rank // 2 + 1}", rank, 8, str(rank % 2))
    assert "a world of 8, not of 4" in (check_placement(tmp_path, TWO_BY_TWO, slots=2).fault or "")


def test_ranks_that_lie_otherwise_on_nodes_are_a_fault(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, "n1" if rank < 3 else "n2", rank, 4, str(rank))
    fault = check_placement(tmp_path, TWO_BY_TWO, slots=4).fault
    assert fault == "ranks lie 3 on n1, 1 on n2; the layout asks for 2 on each of 2 nodes"


def test_the_last_node_may_have_fewer(tmp_path: Path) -> None:
    for rank in range(5):
        say(tmp_path, f"n{rank // 2}", rank, 5, str(rank % 2))
    layout = Layout(nodes=3, ranks=5, ranks_per_node=2, bind=Binding.CORE)
    assert check_placement(tmp_path, layout, slots=2).fault is None


def test_names_of_containers_do_not_identify_nodes(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, f"c0ffee{rank}", rank, 4, "0")
    assert check_placement(tmp_path, TWO_BY_TWO, slots=2, has_own_hostnames=True).fault is None


def test_two_ranks_bound_to_one_core_are_a_fault_unless_there_are_too_few(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, f"n{rank // 2 + 1}", rank, 4, "0")
    fault = check_placement(tmp_path, TWO_BY_TWO, slots=2).fault
    assert fault == "ranks 0 and 1 may both run on CPU 0 of n1: they are not bound to cores"
    assert check_placement(tmp_path, TWO_BY_TWO, slots=1).fault is None


def test_nodes_that_are_one_machine_share_its_cores(tmp_path: Path) -> None:
    layout = Layout(2, 2, 1, bind=Binding.CORE)
    for rank in range(2):
        say(tmp_path, f"n{rank + 1}", rank, 2, "0", boot="b1")
    assert check_placement(tmp_path, layout, slots=1).fault == (
        "ranks 0 and 1 may both run on CPU 0 of n1, which is one machine with n2: they are not bound to "
        "cores of their own"
    )


def test_nodes_that_are_two_machines_have_cores_of_the_same_numbers(tmp_path: Path) -> None:
    for rank in range(2):
        say(tmp_path, f"n{rank + 1}", rank, 2, "0", boot=f"b{rank}")
    assert check_placement(tmp_path, Layout(2, 2, 1, bind=Binding.CORE), slots=1).fault is None


def test_unbound_ranks_may_share_cores(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, f"n{rank // 2 + 1}", rank, 4, "0-1")
    assert check_placement(tmp_path, Layout(2, 4, 2), slots=2).fault is None


def test_a_rank_on_a_host_that_the_run_was_not_given_is_a_fault(tmp_path: Path) -> None:
    say_well(tmp_path)
    assert check_placement(tmp_path, TWO_BY_TWO, slots=2, hostnames=("n1", "n2")).fault is None
    fault = check_placement(tmp_path, TWO_BY_TWO, slots=2, hostnames=("n1", "n3")).fault
    assert fault == "rank 2 lies on n2; the run was given n1, n3"


def test_threads_that_do_not_reach_the_ranks_are_a_fault(tmp_path: Path) -> None:
    say(tmp_path, "n1", 0, 1, "0-3")
    layout = Layout(nodes=1, ranks=1, ranks_per_node=1, threads=4)
    assert "OMP_NUM_THREADS of rank 0 is not set" in (check_placement(tmp_path, layout, slots=8).fault or "")


def test_a_rank_with_fewer_cores_than_threads_is_a_fault(tmp_path: Path) -> None:
    say(tmp_path, "n1", 0, 1, "3", threads=4)
    layout = Layout(nodes=1, ranks=1, ranks_per_node=1, threads=4, bind=Binding.CORE)
    assert "4 threads, and may run on CPUs 3 only" in (check_placement(tmp_path, layout, slots=8).fault or "")


def test_lists_of_cpus_are_read_as_the_kernel_writes_them() -> None:
    assert parse_cpus("0-2,8,10-11\n") == {0, 1, 2, 8, 10, 11}
    assert parse_cpus("") == frozenset()
    assert parse_cpus("garbage") == frozenset()


def test_threads_are_those_of_the_layout(tmp_path: Path) -> None:
    layout = Layout(nodes=1, ranks=2, ranks_per_node=2, threads=2)
    for rank in range(2):
        say(tmp_path, "n1", rank, 2, "0-3", threads="2,4")
    told = "2 ranks on each of 1 host, each free to run on 4 CPUs, with 2 threads"
    assert check_placement(tmp_path, layout, slots=4) == (told, None)
    say(tmp_path / "other", "n1", 0, 2, "0-3", threads=2)
    say(tmp_path / "other", "n1", 1, 2, "0-3", threads=8)
    fault = check_placement(tmp_path / "other", layout, slots=4).fault
    assert fault is not None
    assert fault.startswith("OMP_NUM_THREADS of rank 1 is 8, and the layout has 2")


def test_threads_need_cpus_whatever_the_binding(tmp_path: Path) -> None:
    """Open MPI binds a rank to a core unless it is told otherwise, and with it all of its threads."""
    for bind in Binding:
        layout = Layout(nodes=1, ranks=1, ranks_per_node=1, threads=4, bind=bind)
        say(tmp_path / bind, "n1", 0, 1, "0", threads=4)
        assert check_placement(tmp_path / bind, layout, slots=4).fault == (
            "rank 0 has 4 threads, and may run on CPUs 0 only"
        )


def test_ranks_that_are_bound_and_were_not_to_be_are_a_fault(tmp_path: Path) -> None:
    layout = Layout(nodes=1, ranks=2, ranks_per_node=2)
    say(tmp_path, "n1", 0, 2, "0")
    say(tmp_path, "n1", 1, 2, "1")
    assert check_placement(tmp_path, layout, slots=2).fault == (
        "ranks 0 and 1 on n1 are bound, to CPUs 0 and 1; the layout asks for no binding"
    )


SOCKETS = Layout(nodes=1, ranks=4, ranks_per_node=4, bind=Binding.SOCKET)


@pytest.mark.parametrize(
    ("cpus", "fault"),
    [
        (["0-3", "0-3", "4-7", "4-7"], None),
        (
            ["0-7", "0-7", "0-7", "0-7"],
            "rank 0 on n1 may run on CPUs 0,1,2,3,4,5,6,7, which are of sockets 0,1: it is not bound to one",
        ),
        (
            ["0", "1", "4-7", "4-7"],
            "ranks 0 and 1 on n1 are bound, to CPUs 0 and 1 of one socket; the layout asks for whole ones",
        ),
    ],
)
def test_ranks_that_were_to_have_a_socket_have_one(
    tmp_path: Path, cpus: list[str], fault: str | None
) -> None:
    for rank, own in enumerate(cpus):
        sockets = {"0-7": "0 1", "4-7": "1 1"}.get(own, "0 0")
        say(tmp_path, "n1", rank, 4, own, sockets=sockets)
    assert check_placement(tmp_path, SOCKETS, slots=8).fault == fault


def test_a_host_that_reports_nothing_of_its_sockets_proves_nothing_of_them(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, "n1", rank, 4, "0-7")
    assert check_placement(tmp_path, SOCKETS, slots=8).fault is None


def test_ranks_in_pods_are_known_by_pod_and_node(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, f"job-worker-{rank // 2}", rank, 4, str(rank % 2), node=f"w{rank // 2}")
    told = "2 ranks in each of 2 pods on 2 nodes, each free to run on 1 CPU"
    assert check_placement(tmp_path, TWO_BY_TWO, slots=2) == (told, None)


def test_pods_with_the_host_name_of_their_nodes_are_distinguished(tmp_path: Path) -> None:
    for rank in range(4):
        say(tmp_path, "localhost", rank, 4, str(rank % 2), node=f"w{rank // 2}")
    assert check_placement(tmp_path, TWO_BY_TWO, slots=2).fault is None


def test_ranks_of_two_pods_of_a_node_must_not_share_a_core(tmp_path: Path) -> None:
    """Each mpirun daemon binds the ranks of its pod, and knows nothing of the other's."""
    for rank in range(4):
        say(tmp_path, f"job-worker-{rank // 2}", rank, 4, str(rank % 2), node="w0")
    fault = check_placement(tmp_path, TWO_BY_TWO, slots=4).fault
    assert fault == "ranks 0 and 2 may both run on CPU 0 of w0: they are not bound to cores"


def test_what_nodes_of_one_machine_have_of_it_is_reported(tmp_path: Path) -> None:
    layout = Layout(2, 2, 1, bind=Binding.CORE)
    for rank in range(2):
        say(tmp_path / "own", f"n{rank + 1}", rank, 2, str(rank), boot="b")
        say(tmp_path / "shared", f"n{rank + 1}", rank, 2, "0-1", boot="b")
        say(tmp_path / "several", f"n{rank + 1}", rank, 2, "0-1", boot=f"b{rank}")
    assert check_placement(tmp_path / "own", layout, slots=1).evidence == (
        "1 rank on each of 2 hosts, each free to run on 1 CPU; "
        "hosts are one machine, each on CPUs of its own (n1 CPU 0, n2 CPU 1)"
    )
    free = Layout(2, 2, 1, bind=Binding.NONE)
    assert check_placement(tmp_path / "shared", free, slots=1).evidence.endswith(
        "to run on 2 CPUs; hosts share the CPUs of one machine"
    )
    assert check_placement(tmp_path / "several", free, slots=1).evidence.endswith("free to run on 2 CPUs")


@pytest.mark.parametrize("part", ["x", "²", "٣", "-", "1-x", "9" * 5000, "0-99999999999"])
def test_what_is_no_list_of_cpus_takes_neither_memory_nor_the_run(tmp_path: Path, part: str) -> None:
    assert parse_cpus(f"0-1,{part},8") == {0, 1, 8}
    say(tmp_path, "n1", 0, part, part, part, part, autogroup=part)
    assert check_placement(tmp_path, Layout(nodes=1, ranks=1, ranks_per_node=1), slots=4).fault is None
