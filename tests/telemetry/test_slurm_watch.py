"""How a batch job watches its nodes: the shell's side, with a srun that runs here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import msgspec

from tare.core.case import Layout
from tare.core.launch import Invocation
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import SharedCounter, SharedSampler, Step, Task
from tare.core.site import Platform
from tare.core.telemetry import Host, Span
from tare.plugins.backends.batch.record import read_progress, result_of
from tare.plugins.backends.slurm.options import SlurmOptions
from tare.plugins.backends.slurm.script import render
from tare.plugins.collectors.sampler import program, read, settle

_SRUN = """#!/bin/bash
out=/dev/stdout
while [[ $1 == --* ]]; do [[ $1 == --output=* ]] && out=${1#*=}; shift; done
exec "$@" >"${out/\\%N/n1}"
"""


_COUNTER = """import sys
print("counts", sys.argv[1:], flush=True)
print(sys.stdin.read() + "over")
"""
"""Stands for the counter of packets, which needs a capability."""


def _run(tmp_path: Path, sampler: str, *argv: str) -> Task:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in {"srun": _SRUN, "scontrol": "#!/bin/sh\necho n1\n"}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    folder = tmp_path / "c/attempts/a/1.1"
    folder.mkdir(parents=True)
    path = tmp_path / "sampler.py"
    path.write_text(sampler)
    counter = tmp_path / "counter.py"
    counter.write_text(_COUNTER)
    task = Task(
        name="t",
        folder=folder,
        steps=(Step(name="run", invocation=Invocation(argv=argv)),),
        layout=Layout(),
        platform=Platform(backend="slurm", options=SlurmOptions()),
        timeout_s=30.0,
        sampler=SharedSampler(path, 60.0),
        counter=SharedCounter(counter, "it's $(x)"),
    )
    script = tmp_path / "job.sh"
    script.write_text(render([task], SlurmOptions()))
    env = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "n1",
        "SLURMD_NODENAME": "n1",
    }
    ended = subprocess.run(["bash", str(script)], env=env, capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""
    return task


def test_a_job_is_watched_from_before_its_first_step_until_after_its_last(tmp_path: Path) -> None:
    task = _run(tmp_path, program(), "cat", "packets.n1.txt")
    progress = read_progress(task.folder)
    assert progress is not None
    job_result = result_of(task, progress)
    assert [epoch.stage for epoch in job_result.epochs] == ["run"]
    figures = settle(task.folder, Span(hosts={"n1": Host()}, epochs=job_result.epochs))
    assert figures["cpu_idle"] >= 0
    counts = 'counts ["it\'s $(x)"]\n'
    assert (task.folder / "stdout").read_text() == counts, "it counts before the step begins"
    assert (task.folder / "packets.n1.txt").read_text() == f"{counts}over\n"
    assert not (task.folder / "telemetry.errors").exists()


def test_a_job_runs_where_nothing_can_watch_it(tmp_path: Path) -> None:
    task = _run(tmp_path, "import no_such_module", "echo", "done")
    assert (task.folder / "stdout").read_text() == "done\n"
    assert (task.folder / "landed").exists()
    assert read(SafeFolder(task.folder)) is None


def test_a_job_that_is_not_watched_is_as_it_was(tmp_path: Path) -> None:
    task = Task(
        name="t",
        folder=tmp_path,
        steps=(),
        layout=Layout(),
        platform=Platform(),
        timeout_s=1.0,
        sampler=SharedSampler(Path("/s.py"), 1.0),
    )
    folder = tmp_path / "c/attempts/a/1.1"
    watched = msgspec.structs.replace(task, folder=folder)
    plain = msgspec.structs.replace(watched, sampler=None)
    lines = render([watched], SlurmOptions()).splitlines()
    assert [line for line in lines if line != "  watch /s.py 1"] == render(
        [plain], SlurmOptions()
    ).splitlines()
