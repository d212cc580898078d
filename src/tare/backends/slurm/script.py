"""Tasks as an sbatch script. Pure."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.backends.slurm.leftovers import comment
from tare.backends.strays import SWEEP, of_task
from tare.model.scheduler import Step, Task
from tare.model.site import SlurmOptions
from tare.storage_room import room_script
from tare.traffic import traffic_script

_FUNCTIONS = Path(__file__).with_name("job.sh")
_START_AND_END_S = 60  # on top of a task's own time-out: probes, slow starts, and a kill that takes its time


def render(tasks: Sequence[Task], options: SlurmOptions, facts: str = "") -> str:
    """Return the sbatch script that runs `tasks` one after the other on the same nodes.

    `facts` is a shell script that each node runs before a task, to print records that `landing` reads.
    """
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in sbatch_options(tasks, options))]
    lines += ["", _FUNCTIONS.read_text().rstrip(), ""]
    lines.append(f"facts={shlex.quote(facts)}")
    lines.append(f"sweep={shlex.quote(SWEEP)}")
    lines.append(f"counters={shlex.quote(traffic_script().rstrip())}")
    for number, task in enumerate(tasks, 1):
        lines += ["", f"# {task.name}: {number} of {len(tasks)}", *_task(task)]
    return "\n".join([*lines, ""])


def sbatch_options(tasks: Sequence[Task], options: SlurmOptions) -> Iterator[str]:
    """Yield the options of sbatch(1) that `tasks` need together, those of the site last."""
    first = tasks[0]
    nodes = max(task.layout.nodes for task in tasks)
    per_node = max(task.layout.ranks_per_node for task in tasks)
    minutes = math.ceil(sum(task.timeout_s + _START_AND_END_S for task in tasks) / 60)
    yield f"--job-name={first.name}"
    if len(first.folder.parents) > 2:  # as every folder of an attempt has: the campaign's, for leftovers.py
        yield f"--comment={_quoted(comment(first.labels.get('session', ''), str(first.folder.parents[2])))}"
    yield f"--nodes={nodes}"
    yield f"--ntasks-per-node={per_node}"
    yield f"--cpus-per-task={max(task.layout.threads for task in tasks)}"
    yield f"--time={minutes}"
    yield f"--output={_quoted(first.folder / 'job.out')}"
    yield "--no-requeue"  # whether a run is tried again is for Tare to say, and to record
    for name in ("partition", "account", "qos", "constraint", "reservation", "licenses", "gres"):
        value = getattr(options, name)
        if value is not None:
            yield f"--{name}={_quoted(value)}"
    if options.exclusive:
        yield "--exclusive"
    yield from options.lines


def _task(task: Task) -> Iterator[str]:
    seconds = max(math.ceil(task.timeout_s), 1)
    room = room_script(task.storage_path) if task.own_storage else ""
    yield f"task_name={shlex.quote(task.name)} room={shlex.quote(room)}"
    yield f"of_task={shlex.quote(of_task(task.name, str(task.folder)))}"
    yield f"task {shlex.quote(str(task.folder))} {task.layout.nodes} {seconds} && {{"
    if task.sampler is not None:
        yield f"  watch {shlex.quote(str(task.sampler.program))} {task.sampler.period_s:g}"
    if task.counter is not None:
        yield f"  count {shlex.join([str(task.counter.program), task.counter.interface])}"
    yield "  " + " &&\n  ".join(_steps(task))
    yield "  land"
    yield "}"


def _steps(task: Task) -> Iterator[str]:
    """Yield the steps; before them, what makes the task's own folder, whose errors go with the first's."""
    if task.own_storage:
        mode = "755" if task.platform.container is None else "1777"  # in a container it may be another user
        keep = ["keep"] if task.keeps_storage else []
        yield shlex.join(["own", task.own_storage, mode, task.steps[0].stderr, *keep])
    for step in task.steps:
        yield f"step {shlex.join(_words(step))}"


def _words(step: Step) -> list[str]:
    env = [f"{name}={value}" for name, value in step.invocation.env.items()]
    command = [*(["env", *env] if env else []), *step.invocation.argv]
    return [step.name, step.stdout, step.stderr, *command]


def _quoted(value: object) -> str:
    """Return an option's value as sbatch reads it: like a shell, within one line."""
    return shlex.quote(str(value))
