"""Survey nodes of Slurm in a job of seconds, which is announced and asked for first."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Mapping

from tare.app.init.dialogue import Dialogue
from tare.app.init.job_limits import JobLimits
from tare.app.init.node_choice import class_nodes
from tare.app.init.slurm_request import Request, probe_memory
from tare.core.counting import count
from tare.core.errors import BackendError
from tare.discovery.commands import Commands
from tare.discovery.facts import NodeFacts, Partition, SlurmFacts
from tare.discovery.nodes import JOB_MINUTES, ask_slurm, interpreter, srun_command
from tare.discovery.slurm_waiting import watched

_ASKED = ("partition", "constraint", "account", "qos", "gres")


class SlurmSurvey:
    """Asks nodes of a partition, if the user agrees (`may`). `notes` gets what is not known, and why.

    The job is given up if it has not started after `wait_s` seconds.
    """

    def __init__(
        self,
        commands: Commands,
        dialogue: Dialogue,
        may: Callable[[str], bool],
        origins: Mapping[str, str],
        notes: list[str],
        wait_s: int,
    ) -> None:
        self._commands, self._dialogue, self._may = commands, dialogue, may
        self._origins, self._notes, self._wait_s = origins, notes, wait_s
        self._job = f"tare-init-{secrets.token_hex(3)}"

    def of_partition(
        self, slurm: SlurmFacts, partition: Partition, limits: JobLimits, request: Request, script: str
    ) -> tuple[tuple[NodeFacts, ...], bool]:
        """Return what nodes say that run `script`, and whether ranks may start there."""
        n_usable = len(class_nodes(partition))
        if refusal := limits.refusal(n_usable):
            self._dialogue.say(f"         no job is tried in partition {partition.name}: {refusal}")
            self._leave_out(f"no job of Tare can run in partition {partition.name}: {refusal}")
            return (), False
        command = self._announced(slurm, partition, limits, request, min(2, n_usable))
        if not self._may("run this job"):
            self._leave_out("no job was run")
            return (), False
        nodes = self._asked(command, script)
        return nodes, bool(nodes)

    def _asked(self, command: list[str], script: str) -> tuple[NodeFacts, ...]:
        """Return what nodes say in the job; none, with the reason noted and said, if it fails."""
        with (
            self._dialogue.busy("a job on compute nodes (Ctrl-C cancels it)"),
            watched(self._commands, self._job, self._dialogue.say) as wait,
        ):
            try:
                report = self._notes.append
                return ask_slurm(self._commands, command, self._wait_s, script, self._origins, report)
            except BackendError as error:
                waited = f", which was waiting ({wait.reason}, by squeue)" if wait.reason else ""
                why = f"the job that asks them{waited}: {error}"
        self._dialogue.say(f"         nothing is known of compute nodes: {why}")
        self._leave_out(why)
        return ()

    def _announced(
        self, slurm: SlurmFacts, partition: Partition, limits: JobLimits, request: Request, wanted: int
    ) -> list[str]:
        """Say which job would run, and return its command."""
        n_nodes, minutes = limits.nodes(wanted), JOB_MINUTES
        if limits.max_minutes:
            minutes = min(minutes, limits.max_minutes.value)
        asked = {key: str(request.options[key]) for key in _ASKED if key in request.options}
        options = {
            "clusters": str(request.options.get("cluster", "")),
            **asked,
            "mem": probe_memory(slurm, partition),
        }
        command = srun_command(n_nodes, options, self._wait_s, minutes, self._job)
        why = f" ({limits.why(wanted)})" if limits.why(wanted) else ""
        self._dialogue.say(
            "To see networks, folders and MPIs of compute nodes, 1 job of seconds runs on "
            f"{count(n_nodes, 'node')}{why}, for {count(minutes, 'minute')} at most. "
            f"It is given up if it waits for {self._wait_s} s (--wait):",
            f"  {shlex.join((*command, *interpreter()))} …",
        )
        return command

    def _leave_out(self, why: str) -> None:
        self._notes.append(f"networks, folders and MPIs of compute nodes, since {why}")
