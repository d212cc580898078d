"""Grid Engine as a plug-in (see core.backend_plugin)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tare.core.backend_plugin import CheckContext, OptionsReader
from tare.core.checks import Finding
from tare.core.counting import count
from tare.core.errors import BackendError
from tare.core.scheduler import Task
from tare.plugins.backends.batch.plugin import CommandBackend
from tare.plugins.backends.gridengine.options import GridEngineOptions, check_options

if TYPE_CHECKING:
    from tare.plugins.backends.gridengine.commands import GridEngine


class GridEngineBackend(CommandBackend[GridEngineOptions]):
    """Each attempt is a batch job, or a block is one."""

    name = "gridengine"
    title = "Grid Engine"
    summary = "jobs of qsub, on nodes that Grid Engine chooses"
    file_type = GridEngineOptions

    def read_options(self, written: GridEngineOptions | None, reader: OptionsReader) -> GridEngineOptions:
        """Return the options of the site file after checking them (see BackendPlugin)."""
        if written is None:
            reader.fault_of_platform(
                "Grid Engine gives nodes by a parallel environment; name it: "
                "'gridengine: {parallel_environment: mpi-24, slots_per_node: 24}'"
            )
            return GridEngineOptions(parallel_environment="mpi")
        return check_options(written, reader)

    def queue(self, agent: Sequence[str], login: str | None, env: Mapping[str, str]) -> GridEngine:
        """Return Grid Engine's queue (see CommandBackend)."""
        from tare.plugins.backends.gridengine.commands import GridEngine

        return GridEngine(agent, login, env)

    def render(self, tasks: Sequence[Task], options: GridEngineOptions, facts: str) -> str:
        """Return the script for qsub (see JobBackend)."""
        from tare.plugins.backends.gridengine.script import render

        return render(tasks, options, facts)

    def is_here(self, env: Mapping[str, str]) -> bool:
        """Return whether this machine has qstat and its configuration (see CommandBackend)."""
        return shutil.which("qstat") is not None and "SGE_ROOT" in env

    def check(self, context: CheckContext) -> Iterator[Finding]:
        """Yield whether Grid Engine answers, gives whole nodes, and would run two ranks on two nodes."""
        options = self.options_of(context.platform)
        queue = self.queue(context.site.agent, options.login, context.env)
        what = f"{context.name}: Grid Engine"
        try:
            queues = queue.queues()
        except BackendError as error:
            cure = "is sge_qmaster up, and SGE_ROOT set? Else name the host with 'gridengine: {login: …}'"
            yield Finding(name=what, is_met=False, found=str(error), cure=cure)
            return
        yield Finding(name=what, is_met=True, found=f"queues {', '.join(queues)}")
        found = _check_parallel_environment(queue, options, what)
        yield found
        if found.is_met is not False:
            yield self.check_submission(context, what, queue.check)


def _check_parallel_environment(queue: GridEngine, options: GridEngineOptions, what: str) -> Finding:
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
        found = f"{name} has the allocation_rule {rule}, and jobs want {count(slots, 'slot')} on each node"
        cure = f"name one whose allocation_rule is {slots}, or set 'slots_per_node' to what its rule is"
        return Finding(name=what, is_met=False, found=found, cure=cure)
    return Finding(name=what, is_met=True, found=f"{name} gives {count(slots, 'slot')} on each node")


BACKEND = GridEngineBackend()
