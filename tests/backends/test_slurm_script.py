from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from tare.core.case import Layout
from tare.core.launch import Invocation
from tare.core.scheduler import SharedSampler, Step, Task
from tare.core.site import Platform
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.record import read_complete
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.script import render, sbatch_options
from tare.plugins.backends.slurm.states import phase_of

GOLDEN = Path(__file__).with_name("goldens") / "two-tasks.sh"
MESH = Step(
    name="mesh", invocation=Invocation(argv=("mesher", "-n", "4")), stdout="mesh.stdout", stderr="mesh.stderr"
)
HOSTILE = ("a!b !word", "$(touch pwned)", "it's", 'a "b"', "new\nline", "`id`", "; exit 9", "ünï", "")
SOLVE = Step(
    name="run",
    invocation=Invocation(argv=("solver", *HOSTILE[1:3]), env={"OMP_NUM_THREADS": "2", "X": "a b"}),
)


def task(folder: Path, *steps: Step, nodes: int = 2, timeout_s: float = 90.0) -> Task:
    return Task(
        name=f"tare-1a2b-{folder.name}",
        folder=folder,
        steps=steps,
        layout=Layout(nodes=nodes, ranks=2 * nodes, ranks_per_node=2, threads=2),
        platform=Platform(backend="slurm", options=SlurmOptions()),
        timeout_s=timeout_s,
    )


def test_the_script_of_two_tasks_is_the_golden_one() -> None:
    options = SlurmOptions(
        partition="compute", account="proj 42", qos="high", constraint="a&b", gres="gpu:2", licenses="x:1",
        reservation="r", exclusive=True, lines=("--switches=1",),
    )  # fmt: skip
    tasks = [task(Path("/c/attempts/a/1.1"), MESH, SOLVE), task(Path("/c/attempts/it's/1.1"), SOLVE, nodes=1)]
    sampler = SharedSampler(Path("/c/telemetry-sampler.py"), 0.5)
    tasks[0] = msgspec.structs.replace(tasks[0], sampler=sampler)
    text = render(tasks, options, "cat /proc/cpuinfo")
    if os.environ.get("UPDATE_GOLDENS"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_srun_passes_the_environment_although_the_user_s_sbatch_passes_none(tmp_path: Path) -> None:
    """``SBATCH_EXPORT=NONE`` sets ``SLURM_EXPORT_ENV=NONE`` in the job, which srun obeys (sbatch(1))."""
    for name, text in (("scontrol", "echo n1"), ("srun", 'echo "${SLURM_EXPORT_ENV-everything}" >&2')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    step = Step(name="run", invocation=Invocation(argv=("srun",)), stdout="out", stderr="seen")
    script = render([task(tmp_path, step, nodes=1)], SlurmOptions())
    own = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1", "SLURM_EXPORT_ENV": "NONE"}
    env = os.environ | own | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", script], env=env, timeout=60, check=False, capture_output=True)
    assert (tmp_path / "seen").read_text() == "everything\n"


def test_a_job_s_comment_names_its_session_and_its_campaign_s_folder() -> None:
    labels = {"session": "ca:2:login1:"}
    one = msgspec.structs.replace(task(Path("/home/a b/c/attempts/a/1.1"), SOLVE), labels=labels)
    assert "--comment='ca:2:login1: /home/a b/c'" in list(sbatch_options([one], SlurmOptions()))


def test_a_job_asks_for_what_the_largest_of_its_tasks_needs_and_the_time_of_all() -> None:
    tasks = [
        task(Path("/c/attempts/a/1.1"), SOLVE, nodes=1),
        task(Path("/c/attempts/b/1.1"), SOLVE, nodes=4, timeout_s=600),
    ]
    options = list(sbatch_options(tasks, SlurmOptions()))
    assert "--nodes=4" in options
    assert "--time=14" in options  # 90 s and 600 s, and a minute each to start and end, rounded up


def test_a_job_has_the_partition_s_fewest_nodes_although_its_runs_need_less() -> None:
    one = task(Path("/c/attempts/a/1.1"), SOLVE, nodes=1)
    assert "--nodes=4" in list(sbatch_options([one], SlurmOptions(min_nodes=4)))
    assert "--nodes=1" in list(sbatch_options([one], SlurmOptions()))


def test_daemons_of_mpis_are_not_bound_to_a_hardware_thread() -> None:
    """sbatch hands --threads-per-core on to each srun, where it implies --cpu-bind=threads (srun(1))."""
    one = task(Path("/c/attempts/a/1.1"), SOLVE)
    script = render([one], SlurmOptions(threads_per_core=1))
    assert "#SBATCH --threads-per-core=1\n" in script
    assert "unset SLURM_THREADS_PER_CORE SLURM_HINT\n" in script
    assert "SLURM_HINT" not in render([one], SlurmOptions())


@pytest.fixture
def fake_srun(tmp_path: Path) -> dict[str, str]:
    """Stands for srun where only a shell is needed to try the script: runs the command once, here."""
    folder = tmp_path / "bin"
    folder.mkdir()
    srun = folder / "srun"
    srun.write_text(
        "#!/bin/bash\nout=/dev/stdout\n"
        "while [[ $1 == --* ]]; do [[ $1 == --output=* ]] && out=${1#*=}; shift; done\n"
        '"$@" >"${out/\\%N/n1}"\n'
    )
    srun.chmod(0o755)
    scontrol = folder / "scontrol"
    scontrol.write_text('#!/bin/bash\n[[ "$1 $2" == "show hostnames" ]] && tr , "\\n" <<<"$3"\n')
    scontrol.chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n1",
        "SLURMD_NODENAME": "n1",
    }


def run(script: str, env: dict[str, str], cwd: Path) -> None:
    path = cwd / "script.sh"
    path.write_text(script)
    subprocess.run(["bash", str(path)], env=env, cwd=cwd, check=False, timeout=30)


def test_every_argument_and_variable_arrives_as_it_is(tmp_path: Path, fake_srun: dict[str, str]) -> None:
    work = tmp_path / "it's a $(touch pwned) folder"
    work.mkdir()
    show = ("python3", "-c", "import os,sys; print(ascii(sys.argv[1:]), ascii(os.environ['VALUE']))")
    step = Step(name="run", invocation=Invocation(argv=(*show, *HOSTILE), env={"VALUE": "\n".join(HOSTILE)}))
    run(render([task(work, step)], SlurmOptions()), fake_srun, tmp_path)
    assert (work / "stdout").read_text().strip() == f"{list(HOSTILE)!a} {chr(10).join(HOSTILE)!a}"
    assert not list(tmp_path.rglob("pwned"))


def test_the_first_node_is_filled_in_when_the_job_knows_it(tmp_path: Path, fake_srun: dict[str, str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    words = ("printf", "%s\n", "--to={node0}-ib0 {node0}", "{node1}", "{work}")
    step = Step(name="run", invocation=Invocation(argv=words))
    env = fake_srun | {"SLURM_JOB_NODELIST": "c7,c8"}
    run(render([task(work, step)], SlurmOptions()), env, tmp_path)
    assert (work / "stdout").read_text() == "--to=c7-ib0 c7\n{node1}\n{work}\n"


def test_ranks_start_on_the_first_nodes_of_a_job_that_has_more(
    tmp_path: Path, fake_srun: dict[str, str]
) -> None:
    """Slurm itself chooses those of the job's nodes that have the least to do."""
    work = tmp_path / "work"
    work.mkdir()
    words = ("printf", "%s\n", "--nodelist={nodes:2}", "a {nodes:2}")
    env = fake_srun | {"SLURM_JOB_NODELIST": "c7,c8,c9"}
    run(
        render([task(work, Step(name="run", invocation=Invocation(argv=words)))], SlurmOptions()),
        env,
        tmp_path,
    )
    assert (work / "stdout").read_text() == "--nodelist=c7,c8\na {nodes:2}\n"


def test_a_failed_step_stops_its_task_and_not_the_next_one(tmp_path: Path, fake_srun: dict[str, str]) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    broken = msgspec.structs.replace(MESH, invocation=Invocation(argv=("sh", "-c", "exit 4")))
    good = Step(name="run", invocation=Invocation(argv=("echo", "fine")))
    run(
        render([task(folders[0], broken, good), task(folders[1], good)], SlurmOptions()),
        fake_srun,
        tmp_path,
    )
    first = (folders[0] / "landed").read_text()
    assert "step mesh 4 " in first
    assert "step run" not in first
    assert "step run 0 " in (folders[1] / "landed").read_text()


def test_a_job_that_outlives_its_record_changes_nothing_of_it(
    tmp_path: Path, fake_srun: dict[str, str]
) -> None:
    work = tmp_path / "late"
    work.mkdir()
    steps = [
        Step(name="a", invocation=Invocation(argv=("sh", "-c", "touch SHA256SUMS"))),
        Step(name="b", invocation=Invocation(argv=("touch", "never"))),
    ]
    run(render([task(work, *steps)], SlurmOptions()), fake_srun, tmp_path)
    assert "step" not in (work / "progress").read_text()
    assert not (work / "landed").exists()
    assert not (work / "never").exists()


def test_steps_share_the_time_of_their_task(tmp_path: Path, fake_srun: dict[str, str]) -> None:
    work = tmp_path / "slow"
    work.mkdir()
    naps = [
        Step(name=name, invocation=Invocation(argv=("sleep", nap)))
        for name, nap in (("a", "0.1"), ("b", "30"))
    ]
    run(render([task(work, *naps, timeout_s=1)], SlurmOptions()), fake_srun, tmp_path)
    assert "step b 124 " in (work / "landed").read_text()


def test_a_task_whose_folder_the_node_does_not_see_is_left_out_and_the_next_one_runs(
    tmp_path: Path, fake_srun: dict[str, str]
) -> None:
    work = tmp_path / "here"
    work.mkdir()
    good = Step(name="run", invocation=Invocation(argv=("echo", "fine")))
    run(
        render([task(tmp_path / "elsewhere", good), task(work, good)], SlurmOptions()),
        fake_srun,
        tmp_path,
    )
    assert (work / "landed").exists()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("PENDING", Phase.QUEUED), ("RUNNING", Phase.ACTIVE), ("COMPLETING", Phase.COMPLETING),
        ("COMPLETED", Phase.ENDED), ("FAILED", Phase.ENDED), ("TIMEOUT", Phase.TIMED_OUT),
        ("CANCELLED by 1000", Phase.CANCELLED), ("CANCELLED+", Phase.CANCELLED),
        ("NODE_FAIL", Phase.NODE_FAILED),
        ("PREEMPTED", Phase.PREEMPTED), ("OUT_OF_MEMORY", Phase.OUT_OF_MEMORY), ("", Phase.UNKNOWN),
        ("NEW_IN_SLURM_30", Phase.UNKNOWN),
    ],
)  # fmt: skip
def test_states_of_squeue_have_phases_and_new_ones_are_unknown(state: str, phase: Phase) -> None:
    assert phase_of(state) is phase


@pytest.mark.parametrize("jump_s", [3600, -3600], ids=["forward", "backward"])
def test_a_step_takes_as_long_as_it_takes_when_the_wall_clock_is_set_meanwhile(
    jump_s: int, tmp_path: Path, fake_srun: dict[str, str]
) -> None:
    """And on the bash 4.4 of RHEL 8 and SLES 15, which has no EPOCHREALTIME: date(1) tells the time there."""
    work = tmp_path / "work"
    work.mkdir()
    date = tmp_path / "bin" / "date"
    date.write_text(
        f"#!/bin/bash\nat=$(/bin/date +%s)\n[ -e {tmp_path}/set ] && at=$((at + {jump_s}))\n"
        'printf "%s.5\\n" "$at"\n'
    )
    date.chmod(0o755)
    nap = Step(name="run", invocation=Invocation(argv=("sh", "-c", f"touch {tmp_path}/set; sleep 0.3")))
    run("unset EPOCHREALTIME\n" + render([task(work, nap)], SlurmOptions()), fake_srun, tmp_path)
    landed = read_complete(work)
    assert landed is not None
    assert landed.began_at == pytest.approx(time.time(), abs=30)
    assert 0.25 < landed.elapsed_s < 20


def test_steps_of_jobs_that_an_older_version_submitted_are_still_read(tmp_path: Path) -> None:
    (tmp_path / "landed").write_text("job 7 n1\nbegan 1000000000\nstep run 0 1000000000,5 1000000002,75\n")
    landed = read_complete(tmp_path)
    assert landed is not None
    assert (landed.began_at, landed.elapsed_s) == (1e9, 2.25)
