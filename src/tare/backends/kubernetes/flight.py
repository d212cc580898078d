"""One task on its way through a cluster: its pods, its events, and how long it has been in which phase."""

from __future__ import annotations

from collections import deque

import msgspec

from tare.backends.kubernetes import attachments, naming, phases
from tare.backends.kubernetes.manifests import Rendered, deadline_s
from tare.backends.kubernetes.observed import SeenJob, SeenPod
from tare.backends.kubernetes.phases import Phase
from tare.model.backend import Exit
from tare.model.kubernetes import KubernetesOptions, LauncherCreation
from tare.model.scheduler import Task

_MOST_EVENTS = 200
_GONE_S = 10.0  # for the rest of what the cluster has to say of a pod that is gone


class Flight(msgspec.Struct):
    """A task, with what was last seen of it. `since` is when its phase began."""

    task: Task
    options: KubernetesOptions
    rendered: Rendered
    since: float
    phase: Phase = Phase.SCHEDULING
    pods: dict[str, SeenPod] = {}
    raw: dict[str, msgspec.Raw] = {}
    job: SeenJob | None = None
    events: deque[str] = msgspec.field(default_factory=lambda: deque(maxlen=_MOST_EVENTS))
    has_client: bool = False
    is_server_told: bool = False
    gone_since: float | None = None

    @property
    def n_workers(self) -> int:
        """Return how many pods there are beside the one that starts the program."""
        if self.rendered.is_pair:
            return 1
        return self.task.layout.nodes if self.task.layout.nodes > 1 else 0

    @property
    def starter(self) -> SeenPod | None:
        """Return the pod that starts the program and carries its record, if it is there."""
        roles = {naming.LAUNCHER, naming.CLIENT}
        return next((pod for pod in self.pods.values() if pod.role in roles), None)

    @property
    def server(self) -> SeenPod | None:
        """Return the pod that serves the other, of a pair."""
        return next((pod for pod in self.pods.values() if pod.role == naming.SERVER), None)

    def see(self, pod: SeenPod, raw: msgspec.Raw, now: float) -> None:
        """Take note of what became of a pod, and of the phase that it means."""
        self.pods[pod.metadata.name] = pod
        self.raw[pod.metadata.name] = raw
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

    def end(self, now: float) -> tuple[Exit, str] | None:
        """Return how it ends without having come to its end, if it does: too late, or hopeless."""
        said = phases.hopeless(self.pods.values())
        if said:
            return Exit(), said
        broken = next((found for pod in self.pods.values() if (found := self._broken(pod))), None)
        if broken:
            return broken
        run_s = float(deadline_s(self.task))
        limit = phases.limit_s(self.phase, self.options.timeouts, run_s)
        if now - self.since <= limit:
            return None
        return phases.overdue(self.phase, limit, phases.why_pending(list(self.pods.values()), self.events))

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
