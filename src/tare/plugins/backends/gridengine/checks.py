"""Check whether Grid Engine answers, and whether it would run a platform's jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tare.core.backend_plugin import CheckContext
from tare.core.case import Layout
from tare.core.checks import Finding
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.gridengine.commands import GridEngine
from tare.plugins.backends.gridengine.options import GridEngineOptions
from tare.plugins.backends.gridengine.script import render


def check_grid_engine(context: CheckContext, options: GridEngineOptions) -> Iterator[Finding]:
    """Yield whether Grid Engine answers, gives whole nodes, and would run two ranks on two nodes."""
    queue = GridEngine(context.site.agent, options.login, {**os.environ, **context.env})
    what = f"{context.name}: Grid Engine"
    try:
        queues = queue.queues()
    except BackendError as error:
        cure = "is sge_qmaster up, and SGE_ROOT set? Else name the host with 'gridengine: {login: …}'"
        yield Finding(name=what, is_met=False, found=str(error), cure=cure)
        return
    yield Finding(name=what, is_met=True, found=f"queues {', '.join(queues)}")
    found = _parallel_environment(queue, options, what)
    yield found
    if found.is_met is not False:
        yield _verified(queue, context, options, what)


def _parallel_environment(queue: GridEngine, options: GridEngineOptions, what: str) -> Finding:
    """Return whether jobs get the slots that they ask for on each node, and may start ranks there."""
    slots = options.slots(1, 1)
    name = options.environment_of(slots)
    what = f"{what}'s parallel environment"
    try:
        known = queue.parallel_environment(name)
    except BackendError as error:
        cure = "set 'gridengine: {parallel_environment: …}' to one that qconf -spl lists"
        return Finding(name=what, is_met=False, found=str(error), cure=cure)
    rule = known.get("allocation_rule", "")
    if known.get("control_slaves", "").upper() != "TRUE":
        found = (
            f"{name} has control_slaves {known.get('control_slaves', '')}, so no rank starts on another node"
        )
        cure = "name one with control_slaves TRUE, or let an administrator set it (qconf -mp)"
        return Finding(name=what, is_met=False, found=found, cure=cure)
    if rule != str(slots):
        found = f"{name} has the allocation_rule {rule}, and jobs want {slots} slots on each node"
        cure = f"name one whose allocation_rule is {slots}, or set 'slots_per_node' to what its rule is"
        return Finding(name=what, is_met=False, found=found, cure=cure)
    return Finding(name=what, is_met=True, found=f"{name} gives {slots} slots on each node")


def _verified(queue: GridEngine, context: CheckContext, options: GridEngineOptions, what: str) -> Finding:
    task = Task(
        name="tare-doctor",
        folder=context.folder,
        steps=(),
        layout=Layout(nodes=2, ranks=2),
        platform=context.platform,
        timeout_s=60,
    )
    script = context.folder / "tare-doctor.sh"
    script.write_text(render([task], options))
    try:
        said = queue.check(script)
    except BackendError as error:
        cure = "correct what it names in the platform's 'gridengine'"
        return Finding(name=f"{what} takes jobs", is_met=False, found=str(error), cure=cure)
    finally:
        script.unlink()
    return Finding(name=f"{what} takes jobs", is_met=True, found=" ".join(said.split()))
