"""The scripts of a job with workers: an ssh starts commands in the folders of other 'pods'."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from backends.kubernetes.local_pods import Pods, bring_home, step, task_of
from tare.core.launch import Invocation
from tare.core.workload import Stage
from tare.execution.placement import read_placements
from tare.plugins.backends.kubernetes.scheduling.job_result import read_result
from tare.probes.placement import ASKED, with_files, with_placement_probe


def test_where_ssh_reaches_no_worker_its_message_is_reported(workers: Pods, tmp_path: Path) -> None:
    """Nothing was lost on the way: no rank has run there."""
    ssh = workers.root / "bin" / "ssh"
    ssh.write_text("#!/bin/sh\necho 'This account is currently not available.'\nexit 1\n")
    one = task_of(tmp_path / "home", step("true"), nodes=2)
    code, log = workers.run(one)
    assert code == 125
    assert b"tare end lost " not in log
    assert bring_home(log, one.folder, "launcher") == []
    assert "This account is currently not available" in read_result(one, [], None).reason


def test_workers_are_probed_and_files_of_the_first_one_are_received(workers: Pods, tmp_path: Path) -> None:
    rank = f"{workers.root}/scripts/rank.sh"
    start = (
        'for host in job-worker-0.job job-worker-1.job; do ssh $host "PMI_RANK=${host:11:1} sh $0  $1"; done'
    )
    one = task_of(tmp_path / "home", step("bash", "-c", start, rank, "true"), nodes=2)
    (tmp_path / "job-worker-0.job" / "work" / "result").write_text("of rank 0\n")
    code, log = workers.run(one)
    bring_home(log, one.folder, "launcher")
    assert code == 0
    assert (one.folder / "result").read_text() == "of rank 0\n"
    result = read_result(one, [], None)
    assert result.nodes == ("w1", "w2")
    assert [result.after[node]["ranks"] for node in ("w1", "w2")] == ["0 w1\n", "1 w2\n"]
    assert result.problems == ()


def test_files_of_the_first_worker_that_cannot_be_copied_are_reported(workers: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("true"), nodes=2)
    tar = workers.root / "bin" / "tar"
    tar.write_text(f'#!/bin/sh\ncase "$*" in *-cf*) exit 2;; esac\nexec {shutil.which("tar")} "$@"\n')
    tar.chmod(0o755)
    _, log = workers.run(one)
    assert b"\x1etare end lost " in log


def test_what_ranks_and_libraries_wrote_in_each_worker_is_received(workers: Pods, tmp_path: Path) -> None:
    stage = with_files(Stage(argv=("true",)), reports_transport=True)
    for place in (workers.root, *tmp_path.glob("job-worker-*")):
        for name, text in stage.files.items():
            (place / "work" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "work" / name).write_text(text)
    work = f"{workers.root}/work"
    program = Invocation(argv=("sh", "-c", f"echo said >{work}/transport/run/$PMI_RANK"))
    words = shlex.join(with_placement_probe(program, stage, work).argv)
    start = (
        "for host in job-worker-0.job job-worker-1.job; do"
        " ssh $host \"PMI_RANK=${host:11:1} PMI_SIZE=2 sh $0 '' $1\"; done"
    )
    rank = f"{workers.root}/scripts/rank.sh"
    one = task_of(tmp_path / "home", step("bash", "-c", start, rank, words), nodes=2)
    _, log = workers.run(one)
    bring_home(log, one.folder, "launcher")
    assert [(seat.rank, seat.node) for seat in read_placements(one.folder / "ranks/run", 2)] == [
        (0, "w1"),
        (1, "w2"),
    ]
    assert sorted(path.name for path in (one.folder / "transport/run").iterdir()) == ["0", "1", ASKED]


def test_what_starts_no_ranks_runs_in_the_first_worker(workers: Pods, tmp_path: Path) -> None:
    one = task_of(tmp_path / "home", step("sh", "-c", "pwd", is_mpi=False), nodes=2)
    _, log = workers.run(one)
    bring_home(log, one.folder, "launcher")
    assert (one.folder / "stdout").read_text().strip() == f"{tmp_path}/job-worker-0.job/work"
