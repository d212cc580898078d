"""One task while it is in a cluster: its pods, its events, and how long it has been in its phase."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence

import msgspec

from tare.core.job import Exit
from tare.core.scheduler import JobResult, Task
from tare.plugins.backends.kubernetes.diagnosis import control_groups, phases, queueing, refusals
from tare.plugins.backends.kubernetes.diagnosis.changed_pods import asked_pods
from tare.plugins.backends.kubernetes.diagnosis.node_watch import Nodes
from tare.plugins.backends.kubernetes.diagnosis.phases import TaskPhase
from tare.plugins.backends.kubernetes.diagnosis.refusals import ObstacleTimer
from tare.plugins.backends.kubernetes.manifests import attachments
from tare.plugins.backends.kubernetes.manifests.rendering import Rendered, deadline_s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenEvent, SeenJob, SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions, LauncherCreation
from tare.plugins.backends.kubernetes.transfer.following import ResultsReceived

_MOST_EVENTS = 200
_SLOW_S = 15.0  # after this time, report what a task waits for
_KNOWS_S = 75.0
"""Kubernetes reports a node as lost 40 to 50 s after its last lease (node-monitor-grace-period)."""
_WRONG_SELECTOR = "no node that is cordoned or unwell matches its node selector or affinity"
_GONE_S = 10.0  # wait this long for the cluster's last reports about a pod that is gone


class InFlightJob(msgspec.Struct):
    """A task, and its last observed state. `since` is when its phase began; time in a queue does not count.

    `seen` is its MPIJob or Job. `waits_for` is a sentence about what it waits for now. `lost` are the nodes
    that were lost under it. `refused_at` is the time of the last try to create objects that a quota refused.
    A task that `failed` is not reported while it has `silent_nodes`, whose state is unknown. `full_quota` is
    a reason why the operator does not create its pods, which the operator does not report (see
    operator_quotas). It `was_suspended` if its job was while its program ran, even if it is resumed by now.
    `gone_since` is when its job (`is_job_gone`) or one of its pods was found to be deleted.
    """

    task: Task
    options: KubernetesOptions
    rendered: Rendered
    since: float
    phase: TaskPhase = TaskPhase.SCHEDULING
    pods: dict[str, SeenPod] = {}
    raw: dict[str, msgspec.Raw] = {}
    seen: SeenJob | None = None
    was_suspended: bool = False
    events: deque[SeenEvent] = msgspec.field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    refused: ObstacleTimer = msgspec.field(default_factory=ObstacleTimer)
    losing: ObstacleTimer = msgspec.field(default_factory=ObstacleTimer)
    waits_for: str = ""
    lost: frozenset[str] = frozenset()
    refused_at: float | None = None
    failed: JobResult | None = None
    silent_nodes: list[str] = []
    full_quota: refusals.Obstacle | None = None
    has_client: bool = False
    is_server_stopped: bool = False
    gone_since: float | None = None
    is_job_gone: bool = False
    received: dict[str, ResultsReceived] = {}

    @property
    def name(self) -> str:
        """Return the name of its objects in the cluster."""
        return naming.object_name(self.task)

    @property
    def kind(self) -> str:
        """Return the kind of its first object: MPIJob, Job, or Pod of a pair."""
        return self.rendered.job.KIND

    @property
    def is_suspended(self) -> bool:
        """Return whether its job is there and suspended."""
        return self.seen is not None and self.seen.is_suspended and not self.is_job_gone

    @property
    def asked(self) -> dict[str, SeenPod]:
        """Return its pods by their role, as they were asked for."""
        return asked_pods(self.rendered.documents)

    @property
    def event_lines(self) -> list[str]:
        """Return the cluster's events about it, one line each."""
        return [event.line for event in self.events]

    @property
    def n_workers(self) -> int:
        """Return the number of pods besides the one that starts the program."""
        if self.rendered.is_pair:
            return 1
        return self.task.layout.nodes if self.task.layout.nodes > 1 else 0

    @property
    def nodes(self) -> set[str]:
        """Return the nodes on which its programs may run now."""
        pods = [pod for pod in self.pods.values() if not pod.is_over and pod.spec.node_name]
        return {pod.spec.node_name for pod in pods if pod.role != naming.LAUNCHER or not self.n_workers}

    @property
    def starter(self) -> SeenPod | None:
        """Return the pod that starts the program and holds its record; None if it does not exist.

        A controller of Jobs that lost an answer may make a second one, and delete one of the two.
        """
        found = self._starters
        return next((pod for pod in found if not pod.metadata.deletion_timestamp), next(iter(found), None))

    @property
    def _starters(self) -> list[SeenPod]:
        roles = {naming.LAUNCHER, naming.CLIENT}
        return [pod for pod in self.pods.values() if pod.role in roles]

    @property
    def server(self) -> SeenPod | None:
        """Return the server pod of a pair; None if it does not exist."""
        return next((pod for pod in self.pods.values() if pod.role == naming.SERVER), None)

    def see(self, pod: SeenPod, raw: msgspec.Raw, now: float, *, is_deleted: bool = False) -> None:
        """Record the new state of a pod, and the phase that follows from it."""
        self.pods[pod.metadata.name] = pod
        self.raw[pod.metadata.name] = raw
        is_before = pod.role == naming.WORKER and self.starter is None
        is_spare = pod in self._starters and len(self._starters) > 1
        if is_deleted and (is_spare or (is_before and not phases.disruption(pod))):
            del self.pods[pod.metadata.name]  # another one is there, or is created in its place
        elif is_deleted:
            self.gone_since = self.gone_since or now
        waits = self.options.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS or self.rendered.is_pair
        phase = phases.phase_of(list(self.pods.values()), self.n_workers, has_launcher_last=waits)
        if phase is not self.phase:
            self.phase, self.since = phase, now

    def see_job(self, seen: SeenJob) -> None:
        """Record the new state of its job."""
        self.seen = seen
        has_begun = any(pod.has_begun for pod in self.pods.values())
        self.was_suspended = self.was_suspended or (seen.is_suspended and has_begun)

    def miss_pods(self, there: Collection[str], now: float) -> None:
        """Record that its pods which are not among the names `there` were deleted."""
        for name, pod in list(self.pods.items()):
            if name not in there:
                self.see(pod, self.raw[name], now, is_deleted=True)

    def miss_job(self, now: float) -> None:
        """Record that its job was deleted."""
        self.is_job_gone = True
        self.gone_since = self.gone_since or now

    def address(self) -> str | None:
        """Return the server's address on the data network once it is ready; None before."""
        server, network = self.server, self.task.network
        if server is None or not server.is_ready:
            return None
        if network is not None and network.pod.attachment is not None:
            report = server.metadata.annotations.get(attachments.STATUS, "")
            return attachments.address_on(network.interface, report)
        if network is not None and network.pod.is_host and "{node}" in network.address:
            return network.address_of(server.spec.node_name)
        return server.status.pod_ip or None

    def end(self, now: float, nodes: Nodes) -> tuple[Exit, str] | None:
        """Return the result if it cannot go on: a node is lost, it cannot start, or a time limit is over."""
        if lost := self.loss(now, nodes):
            return Exit(fault=lost), ""
        obstacles = list(self._obstacles())
        if reason := self.refused.final(obstacles, now):
            return Exit(), reason
        broken = next((found for pod in self.pods.values() if (found := self._broken(pod))), None)
        if broken:
            return broken
        if self._is_queued(next((one.message for one in obstacles if one.certain_s is None), ""), now):
            return None
        return self._overdue(now, nodes)

    def loss(self, now: float, nodes: Nodes, pods: Sequence[SeenPod] = ()) -> str:
        """Return which node of `pods` (default: all) is lost for good; empty where none is."""
        losses = list(nodes.losses(list(pods or self.pods.values())))
        lost = self.losing.final(losses, now)
        if lost:
            self.lost = frozenset(one.key for one in losses)
        return lost

    def _obstacles(self) -> Iterator[refusals.Obstacle]:
        if self.full_quota is not None:
            yield self.full_quota
        workers = sum(pod.role in {naming.WORKER, naming.SERVER} for pod in self.pods.values())
        yield from refusals.obstacles(
            list(self.pods.values()),
            self.events,
            lambda: self.rendered.to_json(self.rendered.job),
            lacks_workers=workers < self.n_workers,
            has_starter=self.starter is not None,
        )

    def _is_queued(self, passing: str, now: float) -> bool:
        """Return whether it is in a queue, where it may wait without limit; set `waits_for`.

        A task with some of its pods on nodes is in no queue: others may wait for the resources that it holds.
        """
        pods = list(self.pods.values())
        position = queueing.queue_position(pods, self.seen, self.events)
        reason = position.reason if position else passing
        holds = any(pod.spec.node_name for pod in pods)
        if reason and not holds and (position is None or position.may_come):
            self.since, self.waits_for = now, f"queued: {reason}"
            return True
        limit_s = phases.limit_s(self.phase, self.options.timeouts, float(deadline_s(self.task)))
        self.waits_for = ""
        if self.phase is not TaskPhase.RUNNING and (position is not None or now - self.since > _SLOW_S):
            why = phases.why_pending(pods, self.event_lines)
            self.waits_for = f"waits for {self.phase.value}, for {limit_s:g} s at most: {why}"
        return False

    def _overdue(self, now: float, nodes: Nodes) -> tuple[Exit, str] | None:
        """Return the result if its phase has lasted too long."""
        limit_s = phases.limit_s(self.phase, self.options.timeouts, float(deadline_s(self.task)))
        if now - self.since <= limit_s:
            return None
        pods = list(self.pods.values())
        ended, reason = phases.overdue(self.phase, limit_s, phases.why_pending(pods, self.event_lines))
        position = queueing.queue_position(pods, self.seen, self.events)
        is_kept_out = any(one.certain_s is None for one in self._obstacles())
        may_come = position is not None and position.may_come
        is_starved = is_kept_out or may_come  # by others, while it holds nodes
        kept_off = [pod for pod in pods if phases.is_kept_off(pod)]
        is_passing = any(map(phases.is_pull, pods)) or any(map(nodes.may_give_back, kept_off))
        if reason and (is_starved or is_passing):
            return Exit(fault=reason), ""
        return ended, f"{reason}; {_WRONG_SELECTOR}" if reason and kept_off else reason

    def _broken(self, pod: SeenPod) -> tuple[Exit, str] | None:
        """Return the result if a pod has ended too early: a worker that ended before its launcher."""
        if pod.role in {naming.LAUNCHER, naming.CLIENT} or not pod.is_over or self.is_server_stopped:
            return None
        starter = self.starter
        if starter is not None and starter.is_over:
            return None
        fault = phases.disruption(pod) or phases.never_began(pod)
        return (Exit(fault=fault), "") if fault else (Exit(), phases.ended_badly(pod) or "a worker ended")

    def find_silent_nodes(self, job_result: JobResult) -> bool:
        """Set `silent_nodes`: those whose files were saved before the program ran, and not after its failure.

        Return whether there are any.
        """
        ended = job_result.exit
        has_workers = self.n_workers > 0 and not self.rendered.is_pair
        if has_workers and ended.code != 0 and not (ended.fault or ended.is_timeout or job_result.reason):
            self.silent_nodes = sorted(job_result.before.keys() - job_result.after.keys())
        return bool(self.silent_nodes)

    def judge_failure(self, job_result: JobResult, nodes: Nodes, now: float) -> JobResult | None:
        """Return the result of a run with silent nodes once the state of these is known; None before.

        MPI notices a cut network within seconds and its launcher fails, so the exit code shows nothing about
        the program. Kubernetes may report the node as lost only later.
        """
        pods = list(self.pods.values())
        if reason := control_groups.why_killed({}, {}, pods):
            return msgspec.structs.replace(job_result, reason=reason)
        losses = [one for one in nodes.losses(pods) if one.key in self.silent_nodes]
        fault = self.losing.final(losses, now) or next(filter(None, map(phases.disruption, pods)), "")
        if fault:
            self.lost = frozenset(one.key for one in losses)
            elapsed_s = job_result.exit.elapsed_s
            return msgspec.structs.replace(job_result, exit=Exit(fault=fault, elapsed_s=elapsed_s))
        if now - self.since > _KNOWS_S and not losses:
            return job_result
        silent = ", ".join(self.silent_nodes)
        self.waits_for = f"it failed, and node {silent} did not answer: waits for the state of the node"
        return None

    def is_gone(self, now: float) -> bool:
        """Return whether its objects are gone, and the cluster had time to report all about them."""
        if self.gone_since is None:
            return False
        return now - self.gone_since > _GONE_S or any(map(phases.disruption, self.pods.values()))
