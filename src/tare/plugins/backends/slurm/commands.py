"""Call Slurm's commands on this machine or on its login node: sbatch, squeue, sacct and scancel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tare.core.errors import BackendError, shown
from tare.core.units import whole_number
from tare.plugins.backends.batch.commands import CommandQueue
from tare.plugins.backends.batch.phases import NOT_OVER, Phase
from tare.plugins.backends.batch.queue import QueuedJob, QueueFullError, Request
from tare.plugins.backends.slurm.reasons import obstacle_of
from tare.plugins.backends.slurm.states import is_out, phase_of
from tare.plugins.backends.slurm.variables import FILTERS, cluster_of, is_one_cluster, overriding

_MOST_IDS = 500  # in one command line of scancel
_FORMAT = "%i|%T|%j|%r|%P|%k"
_NO_ACCOUNTING = ("accounting storage is disabled", "is Slurm installed here?", "not found")
_STARTED = re.compile(r"NodeName=(?P<node>\S+).*\bSlurmdStartTime=(?P<at>[0-9]{1,12})\b")
_JOB_ID = re.compile(r"\s*([0-9]{1,18})(?:;\S+)?\s*")

_FULL = re.compile(r"\b(?:(?:Assoc|QOS)(?:Max|Grp)Submit\w*Limit|MaxSubmitJobsPerAccount)\b")
"""The reasons of limits on submitted jobs (resource limits), as in QOSMaxSubmitJobPerUserLimit."""


class Slurm(CommandQueue):
    """Calls Slurm's commands (see batch.queue.Queue)."""

    name = "slurm"
    system = "Slurm"
    cancel_command = "scancel"

    def __init__(
        self, agent: Sequence[str], login: str | None, env: Mapping[str, str], cluster: str | None = None
    ) -> None:
        """Open the queue of `cluster`; without it, of the environment's cluster, or of the host's own."""
        super().__init__(agent, login, env)
        self._cluster = cluster or (None if login else cluster_of(self._reach.env)) or None
        self._has_accounting = True

    @property
    def ambiguity(self) -> str:
        """Return what is wrong with the environment's cluster, and the cure; empty if it is one."""
        if self._cluster is None or is_one_cluster(self._cluster):
            return ""
        return (
            f"SLURM_CLUSTERS or SBATCH_CLUSTERS is {shown(self._cluster)}, and jobs of several clusters have "
            "the same numbers; name one cluster, there or with 'slurm: {cluster: NAME}' in the site"
        )

    def _call(self, argv: Sequence[str], *, name: str = "", unset: Sequence[str] = ()) -> str:
        """Return the output of a command, which asks the queue's own cluster (see CommandQueue)."""
        if self.ambiguity:
            raise BackendError(self.ambiguity)
        own = ["env", f"SLURM_CLUSTERS={self._cluster}"] if self._cluster else []
        return super()._call([*own, *argv], name=name or argv[0], unset=unset)

    def submit(self, script: Path, request: Request) -> str:
        """Submit the script, which holds the request; return the id of its job (see Queue)."""
        unset = overriding(script.read_text(errors="replace"))
        try:
            output = self._call(["sbatch", "--parsable", str(script)], unset=unset)
        except BackendError as refusal:
            if _FULL.search(str(refusal)):
                raise QueueFullError(str(refusal)) from refusal
            raise
        found = [one[1] for one in map(_JOB_ID.fullmatch, output.splitlines()) if one]
        if not found:  # a site's own sbatch may print more than the number, before it
            raise BackendError(f"sbatch printed {output.strip()!r} instead of a job's number")
        return found[-1]

    def partitions(self) -> list[str]:
        """Return the names of the partitions that are up, the default one first. Raises BackendError."""
        output = self._call(["sinfo", "--noheader", "--format=%P|%a"], unset=FILTERS)
        rows = (line.strip().rpartition("|") for line in output.splitlines())
        names = [name for name, _, state in rows if state == "up"]
        return [name.rstrip("*") for name in sorted(names, key=lambda name: not name.endswith("*"))]

    def check(self, script: Path) -> str:
        """Return that Slurm would run the script. Raises BackendError with its message if it never would."""
        unset = overriding(script.read_text(errors="replace"))
        self._call(["sbatch", "--test-only", str(script)], unset=unset)
        return "sbatch --test-only agrees"

    def jobs(self, ids: Collection[str] = ()) -> list[QueuedJob]:
        """Return all jobs of this user that Slurm knows.

        It keeps finished jobs for MinJobAge at most (see Queue).
        """
        command = ["squeue", "--me", "--states=all", "--noheader", f"--format={_FORMAT}"]
        output = self._call(command, unset=FILTERS)
        return list(parse_queue(output))

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return the accounting entries, if there are any, of jobs that squeue no longer lists (see Queue).

        Only finished jobs are returned: accounting may list others as running for ever (sacctmgr(1), runaway
        jobs).
        """
        if not ids or not self._has_accounting:
            return []
        wanted = ",".join(_sorted(ids))
        command = ["sacct", "--allocations", "--noheader", "--parsable2", "--format=JobIDRaw,State,JobName"]
        if self._cluster:  # sacct(1) does not read SLURM_CLUSTERS
            command.append(f"--clusters={self._cluster}")
        try:
            output = self._call([*command, f"--jobs={wanted}"])
        except BackendError as error:
            self._has_accounting = not any(words in str(error) for words in _NO_ACCOUNTING)
            return []
        return [job for job in parse_queue(output) if job.phase not in NOT_OVER | {Phase.UNKNOWN}]

    def states(self, nodes: Collection[str]) -> dict[str, str]:
        """Return the state of each of `nodes`.

        A ``*``, as in ``down*``, means that its slurmd does not respond. Raises BackendError.
        """
        wanted = f"--nodes={','.join(sorted(nodes))}"
        output = self._call(["sinfo", "--Node", "--noheader", "--format=%N|%T", wanted], unset=FILTERS)
        rows = (line.strip().partition("|") for line in output.split())
        return {name: state for name, _, state in rows}

    def daemons_started(self, nodes: Collection[str]) -> dict[str, float]:
        """Return when the slurmd of each of `nodes` was started, in seconds since the epoch by its own clock.

        A node whose start time Slurm does not know is left out (scontrol(1), SLURM_TIME_FORMAT).

        Raises BackendError.
        """
        wanted = ",".join(sorted(nodes))
        output = self._call(["env", "SLURM_TIME_FORMAT=%s", "scontrol", "show", "node", "--oneliner", wanted])
        found = {match["node"]: match["at"] for match in map(_STARTED.search, output.splitlines()) if match}
        return {node: float(at) for node, at in found.items()}

    def away(self, nodes: Collection[str], began_at: float | None, *, is_drained_away: bool) -> Iterator[str]:
        """Yield the `nodes` that are down by Slurm's states or whose slurmd was restarted (see Queue)."""
        for node, state in self.states(nodes).items():
            if is_out(state) or (is_drained_away and state.lower().startswith("drain")):
                yield f"by sinfo node {node} is {state}"
        if began_at is not None:
            for node, at in self.daemons_started(nodes).items():
                if at > began_at:
                    yield f"slurmd of node {node} was started again {at - began_at:.0f} s after it began"

    def cancel(self, ids: Collection[str]) -> None:
        """Cancel jobs. A job that is already over is no error (see Queue)."""
        numbers = _sorted(ids)
        for start in range(0, len(numbers), _MOST_IDS):
            self._call(["scancel", "--quiet", *numbers[start : start + _MOST_IDS]])


def parse_queue(text: str) -> Iterator[QueuedJob]:
    """Yield the jobs.

    Lines of another form, such as the range of a job array, are not Tare's and are skipped.
    """
    for line in text.splitlines():
        parts = line.strip().split("|", 5)
        number = whole_number(parts[0])
        if len(parts) >= 3 and number is not None:
            state, name, reason, partition, comment = (*parts[1:], "", "", "")[:5]
            phase = phase_of(state)
            obstacle = obstacle_of(reason, partition) if phase is Phase.QUEUED else None
            yield QueuedJob(str(number), phase, state, name, reason, comment, obstacle)


def _sorted(ids: Collection[str]) -> list[str]:
    """Return job ids in numerical order."""
    return sorted(ids, key=lambda one: (len(one), one))
