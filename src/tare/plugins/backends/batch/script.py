"""Write tasks as a script of a batch system. Pure functions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tare.core.scheduler import Step, Task
from tare.plugins.backends.ownership.stray_processes import SWEEP, of_task
from tare.probes.software import asking
from tare.probes.storage_space import storage_script
from tare.probes.traffic import traffic_script

_FUNCTIONS = Path(__file__).with_name("job.sh")
EACH_NODE = Path(__file__).with_name("each_node.sh")
"""Shell functions for systems without a command such as srun. They need `node_names` and `on_node`."""


def render(tasks: Sequence[Task], directives: Iterable[str], nodes: str, facts: str = "") -> str:
    """Return the script that runs `tasks` one after the other on the same nodes.

    `directives` are whole lines for the batch system. `nodes` is the system's own part of the shell code
    (job.sh lists what it must define). `facts` is a shell script that each node runs before a task; it prints
    records that `record` parses.
    """
    lines = ["#!/bin/bash", *directives]
    lines += ["", "set -u", nodes.rstrip(), "", _FUNCTIONS.read_text().rstrip(), ""]
    lines.append(f"facts={shlex.quote(facts)}")
    lines.append(f"sweep={shlex.quote(SWEEP)}")
    lines.append(f"counters={shlex.quote(traffic_script().rstrip())}")
    has_software = any(task.software for task in tasks)
    for number, task in enumerate(tasks, 1):
        own = [f"facts={shlex.quote(asking(facts, task.software))}"] if has_software else []
        lines += ["", f"# {task.name}: {number} of {len(tasks)}", *own, *_task(task)]
    return "\n".join([*lines, ""])


def _task(task: Task) -> Iterator[str]:
    seconds = max(math.ceil(task.timeout_s), 1)
    check = storage_script(task.storage_path) if task.own_storage else ""
    yield f"task_name={shlex.quote(task.name)} storage_check={shlex.quote(check)}"
    yield f"of_task={shlex.quote(of_task(task.name, str(task.folder)))}"
    yield f"task {shlex.quote(str(task.folder))} {task.layout.nodes} {seconds} && {{"
    if task.sampler is not None:
        yield f"  watch {shlex.quote(str(task.sampler.program))} {task.sampler.period_s:g}"
    if task.counter is not None:
        yield f"  count {shlex.join([str(task.counter.program), task.counter.interface])}"
    yield "  " + " &&\n  ".join(_steps(task))
    yield "  finish"
    yield "}"


def _steps(task: Task) -> Iterator[str]:
    """Yield the steps, and first the command that makes the task's own folder.

    Its errors go to the first step's stderr.
    """
    if task.own_storage:
        mode = "755" if task.platform.container is None else "1777"  # a container may run as another user
        keep = ["keep"] if task.keeps_storage else []
        yield shlex.join(["make_own_folder", task.own_storage, mode, task.steps[0].stderr, *keep])
    for step in task.steps:
        yield f"step {shlex.join(_words(step))}"


def _words(step: Step) -> list[str]:
    env = [f"{name}={value}" for name, value in step.invocation.env.items()]
    command = [*(["env", *env] if env else []), *step.invocation.argv]
    return [step.name, step.stdout, step.stderr, *command]
