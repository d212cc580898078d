"""One task on its way through a cluster: its pods, its events, and how long it has been in which phase."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from tare.core.job import Exit
from tare.core.scheduler import JobResult, Task
from tare.plugins.backends.kubernetes import attachments, naming, phases, queueing, refusals
from tare.plugins.backends.kubernetes.following import ResultsReceived
from tare.plugins.backends.kubernetes.manifests import Rendered, deadline_s, to_json
from tare.plugins.backends.kubernetes.node_watch import Nodes
from tare.plugins.backends.kubernetes.observed import SeenEvent, SeenJob, SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions, LauncherCreation
from tare.plugins.backends.kubernetes.phases import TaskPhase
from tare.plugins.backends.kubernetes.refusals import RefusalKind

_MOST_EVENTS = 200
_SLOW_S = 15.0  # until it is told what a task waits for
_GONE_S = 10.0  # for the rest of what the cluster has to say of a pod that is gone


class InFlightJob(msgspec.Struct):
    """A task, with what was last seen of it. `since` is when its phase began; a queue is no part of it.

    `waits_for` is what it waits for by now, in a sentence; `lost` are the nodes that were lost under it.
    `asked_at` is when it was last tried to create one that a quota keeps out.
    One that `failed` is not told yet while nodes of it are `unheard` of (see aftermath).
    `untold` is what keeps the operator from making its pods without a word of it (see untold_quotas).
    """

    task: Task
    options: KubernetesOptions
    rendered: Rendered
    since: float
    phase: TaskPhase = TaskPhase.SCHEDULING
    pods: dict[str, SeenPod] = {}
    raw: dict[str, msgspec.Raw] = {}
    job: SeenJob | None = None
    heard: deque[SeenEvent] = msgspec.field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    refused: RefusalKind = msgspec.field(default_factory=RefusalKind)
    losing: RefusalKind = msgspec.field(default_factory=RefusalKind)
    waits_for: str = ""
    lost: frozenset[str] = frozenset()
    asked_at: float | None = None
    failed: JobResult | None = None
    unheard: list[str] = []
    untold: refusals.Obstacle | None = None
    has_client: bool = False
    is_server_told: bool = False
    gone_since: float | None = None
    homecomings: dict[str, ResultsReceived] = {}

    @property
    def events(self) -> list[str]:
        """Return what the cluster has said of it, a line each."""
        return [event.line for event in self.heard]

    @property
    def n_workers(self) -> int:
        """Return how many pods there are beside the one that starts the program."""
        if self.rendered.is_pair:
            return 1
        return self.task.layout.nodes if self.task.layout.nodes > 1 else 0

    @property
    def nodes(self) -> set[str]:
        """Return the nodes where its programs may run now."""
        pods = [pod for pod in self.pods.values() if not pod.is_over and pod.spec.node_name]
        return {pod.spec.node_name for pod in pods if pod.role != naming.LAUNCHER or not self.n_workers}

    @property
    def starter(self) -> SeenPod | None:
        """Return the pod that starts the program and carries its record, if it is there."""
        roles = {naming.LAUNCHER, naming.CLIENT}
        return next((pod for pod in self.pods.values() if pod.role in roles), None)

    @property
    def server(self) -> SeenPod | None:
        """Return the pod that serves the other, of a pair."""
        return next((pod for pod in self.pods.values() if pod.role == naming.SERVER), None)

    def see(self, pod: SeenPod, raw: msgspec.Raw, now: float, *, is_deleted: bool = False) -> None:
        """Take note of what became of a pod, and of the phase that it means."""
        self.pods[pod.metadata.name] = pod
        self.raw[pod.metadata.name] = raw
        is_before = pod.role == naming.WORKER and self.starter is None
        if is_deleted and is_before and not phases.disruption(pod):
            del self.pods[pod.metadata.name]  # another one is made in its place
        elif is_deleted:
            self.gone_since = self.gone_since or now
        waits = self.options.launcher_creation is LauncherCreation.WAIT_FOR_WORKERS or self.rendered.is_pair
        phase = phases.phase_of(list(self.pods.values()), self.n_workers, has_launcher_last=waits)
        if phase is not self.phase:
            self.phase, self.since = phase, now

    def address(self) -> str | None:
        """Return the server's address on the data network once it is ready; None before."""
        server, network = self.server, self.task.network
        if server is None or not server.is_ready:
            return None
        if network is not None and network.pod.attachment is not None:
            told = server.metadata.annotations.get(attachments.STATUS, "")
            return attachments.address_on(network.interface, told)
        if network is not None and network.pod.is_host and "{node}" in network.address:
            return network.address_of(server.spec.node_name)
        return server.status.pod_ip or None

    def end(self, now: float, nodes: Nodes) -> tuple[Exit, str] | None:
        """Return how it ends without having come to its end, if it does: lost, hopeless, or too late."""
        if lost := self.loss(now, nodes):
            return Exit(fault=lost), ""
        obstacles = list(self._obstacles())
        if said := self.refused.final(obstacles, now):
            return Exit(), said
        broken = next((found for pod in self.pods.values() if (found := self._broken(pod))), None)
        if broken:
            return broken
        if self._is_queued(next((one.words for one in obstacles if one.certain_s is None), ""), now):
            return None
        return self._overdue(now)

    def loss(self, now: float, nodes: Nodes, pods: Sequence[SeenPod] = ()) -> str:
        """Return which node of `pods`, by default of all, is lost for good; empty where none is."""
        losses = list(nodes.losses(list(pods or self.pods.values())))
        lost = self.losing.final(losses, now)
        if lost:
            self.lost = frozenset(one.key for one in losses)
        return lost

    def _obstacles(self) -> Iterator[refusals.Obstacle]:
        if self.untold is not None:
            yield self.untold
        workers = sum(pod.role in {naming.WORKER, naming.SERVER} for pod in self.pods.values())
        yield from refusals.obstacles(
            list(self.pods.values()),
            self.heard,
            lambda: to_json(self.rendered.job, self.options.merge),
            lacks_workers=workers < self.n_workers,
            has_starter=self.starter is not None,
        )

    def _is_queued(self, passing: str, now: float) -> bool:
        """Return whether it waits for its turn, without limit; say so, or what else it waits for.

        A task with some of its pods on nodes is in no queue: what it holds, others may wait for.
        """
        pods = list(self.pods.values())
        place = queueing.place(pods, self.job, self.heard)
        words = place.words if place else passing
        holds = any(pod.spec.node_name for pod in pods)
        if words and not holds and (place is None or place.may_come):
            self.since, self.waits_for = now, f"queued: {words}"
            return True
        limit_s = phases.limit_s(self.phase, self.options.timeouts, float(deadline_s(self.task)))
        self.waits_for = ""
        if self.phase is not TaskPhase.RUNNING and (place is not None or now - self.since > _SLOW_S):
            why = phases.why_pending(pods, self.events)
            self.waits_for = f"waits for {self.phase.value}, for {limit_s:g} s at most: {why}"
        return False

    def _overdue(self, now: float) -> tuple[Exit, str] | None:
        """Return its end when it has been in its phase for too long."""
        limit_s = phases.limit_s(self.phase, self.options.timeouts, float(deadline_s(self.task)))
        if now - self.since <= limit_s:
            return None
        pods = list(self.pods.values())
        ended, reason = phases.overdue(self.phase, limit_s, phases.why_pending(pods, self.events))
        place = queueing.place(pods, self.job, self.heard)
        is_kept_out = any(one.certain_s is None for one in self._obstacles())
        is_starved = is_kept_out or (place is not None and place.may_come)  # by others, while it holds nodes
        if reason and (is_starved or any(map(phases.is_pull, pods))):
            return Exit(fault=reason), ""
        return ended, reason

    def _broken(self, pod: SeenPod) -> tuple[Exit, str] | None:
        """Return how it ends when a pod has ended that should not have: a worker, before the launcher has."""
        if pod.role in {naming.LAUNCHER, naming.CLIENT} or not pod.is_over or self.is_server_told:
            return None
        starter = self.starter
        if starter is not None and starter.is_over:
            return None
        said = phases.disruption(pod)
        return (Exit(fault=said), "") if said else (Exit(), phases.ended_badly(pod) or "a worker ended")

    def is_gone(self, now: float) -> bool:
        """Return whether its objects are gone, for long enough for all that the cluster says of them."""
        if self.gone_since is None:
            return False
        return now - self.gone_since > _GONE_S or any(map(phases.disruption, self.pods.values()))
