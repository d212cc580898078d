"""The scripts that ranks start with: one reports where they are, one binds them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tare.core.case import Binding, Layout
from tare.core.launch import Invocation
from tare.core.rank_variables import with_rank
from tare.core.site import Platform
from tare.core.workload import Stage
from tare.execution.placement import check_placement, read_placements
from tare.plugins.backends.kubernetes.options import KubernetesOptions
from tare.probes import placement as probes
from tare.probes.core_binding import bound, with_script
from tare.probes.placement import (
    MAX_REPORTS,
    SCRIPT,
    can_run_probe,
    sampling_stride,
    with_files,
    with_placement_probe,
)

STAGE = Stage(argv=("app",))
MPICH = Platform(launcher="mpich")


def socket_of(cpu: int) -> int:
    return int(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id").read_text())


def run_script(
    folder: Path, *argv: str, every: int = 1, own: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program behind the real script, as a launcher would."""
    for name, text in with_files(STAGE).files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    started = with_placement_probe(Invocation(argv=argv), STAGE, str(folder), every=every, own=own)
    env = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(started.argv, env=env, capture_output=True, text=True, check=False)


def test_the_script_reports_where_it_is_and_becomes_the_program(tmp_path: Path) -> None:
    done = run_script(
        tmp_path, "sh", "-c", 'echo "$0|$1"; exit 3', "a b", "$(x)", PMI_RANK="0", PMI_SIZE="1", LANG="C"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "a b|$(x)\n", "")
    layout = Layout(nodes=1, ranks=1, ranks_per_node=1)
    n_cpus = len(os.sched_getaffinity(0))
    (seat,) = read_placements(tmp_path / "ranks/run", 1)
    assert seat.cpus == os.sched_getaffinity(0)
    assert seat.sockets == {socket_of(min(seat.cpus)), socket_of(max(seat.cpus))}
    evidence, fault = check_placement(tmp_path / "ranks/run", layout, slots=1)
    assert fault is None
    assert f"free to run on {n_cpus} CPU" in evidence


def test_a_folder_that_cannot_be_written_stops_no_program(tmp_path: Path) -> None:
    started = with_placement_probe(Invocation(argv=("echo", "done")), STAGE, str(tmp_path))
    argv = ["/bin/sh", "-c", with_files(STAGE).files[SCRIPT], *started.argv[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_of_many_ranks_some_leave_their_libraries_asked(tmp_path: Path) -> None:
    def heard_of(rank: int, every: int) -> str:
        words = ("sh", "-c", 'echo "$UCX_LOG_LEVEL,$FI_LOG_LEVEL"')
        own, number = ("FI_LOG_LEVEL",), str(rank)
        return run_script(
            tmp_path, *words, every=every, own=own, PMI_RANK=number, UCX_LOG_LEVEL="info", FI_LOG_LEVEL="info"
        ).stdout

    assert [heard_of(rank, 2) for rank in range(4)] == ["info,info\n", ",info\n"] * 2
    assert heard_of(3, 1) == "info,info\n"


def test_a_program_keeps_its_own_variables(tmp_path: Path) -> None:
    done = run_script(tmp_path, "sh", "-c", 'echo "$rank,$size,$cpus"', rank="a", size="b", cpus="c")
    assert done.stdout == "a,b,c\n"


@pytest.mark.parametrize("n_ranks", [1, 128, 129, 1000, 100_000])
def test_asked_libraries_report_no_more_than_a_hundred_and_some_would(n_ranks: int) -> None:
    """Each tells of each of its peers; the first rank is asked in any case."""
    n_asked = len(range(0, n_ranks, sampling_stride(n_ranks)))
    assert n_asked == n_ranks or (n_asked - 1) * n_ranks <= MAX_REPORTS**2


def test_only_ranks_that_an_mpi_starts_are_probed() -> None:
    assert can_run_probe(STAGE, MPICH)
    assert not can_run_probe(STAGE, Platform(launcher="none"))
    assert not can_run_probe(Stage(argv=("app",), is_mpi=False), MPICH)
    pods = Platform(backend="kubernetes", launcher="openmpi4", options=KubernetesOptions(image=""))
    assert can_run_probe(STAGE, pods)
    assert not can_run_probe(Stage(argv=("app",), is_pair=True), pods)
    assert SCRIPT in with_files(STAGE).files


def test_a_bound_stage_has_the_script_and_the_cpus_of_each_node() -> None:
    files = with_script(Stage(argv=("app",), name="run"), ("n1", "n2"), ((2, 4), (5, 7))).files
    assert files["cpus/run"] == "n1 2 4\nn2 5 7\n"
    assert "taskset -pc" in files["bind.sh"]


@pytest.mark.parametrize(
    ("host", "env", "per_node", "each", "expected"),
    [
        ("n1", {"PMI_RANK": "1"}, 1, 1, "2"),  # the host's name counts, whatever the rank
        ("n1", {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, 2, 1, "4"),
        ("other", {"PMI_RANK": "3"}, 2, 1, "7"),
        ("other", {"PMI_RANK": "2"}, 2, 0, "5,7"),
        ("n1", {"PMI_RANK": "0"}, 1, 2, "2,4"),
        ("n1", {"PMI_RANK": "1", "MPI_LOCALRANKID": "0"}, 2, 1, "2"),
    ],
)
def test_a_rank_takes_cpus_of_its_node(
    tmp_path: Path, host: str, env: dict[str, str], per_node: int, each: int, expected: str
) -> None:
    """What taskset is asked for; a double stands in for it, as this machine may lack these CPUs."""
    double = tmp_path / "taskset"
    double.write_text(f'#!/bin/sh\n[ "$3" = $PPID ] && echo "$2" >{tmp_path}/asked\n')
    double.chmod(0o755)
    name = Path("/proc/sys/kernel/hostname").read_text().strip()
    (tmp_path / "cpus").mkdir()
    (tmp_path / "cpus/run").write_text(f"{name if host == 'n1' else 'n1'} 2 4\nn2 5 7\n")
    (tmp_path / "bind.sh").write_text(with_rank((Path(probes.__file__).parent / "bind.sh").read_text()))
    layout = Layout(2, 2 * per_node, per_node, max(each, 1), Binding.CORE if each else Binding.NONE)
    program = bound(Invocation(argv=("echo", "a b")), Stage(argv=(), name="run"), layout, str(tmp_path))
    found = subprocess.run(
        program.argv,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "a b\n"
    assert (tmp_path / "asked").read_text() == f"{expected}\n"
