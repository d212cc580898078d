"""Run tasks as objects of a Kubernetes cluster: create, watch, finish, adopt and cancel them.

There is one watch for each kind of object, whatever the number of tasks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial

import msgspec

from tare.core.errors import BackendError, UsageError
from tare.core.job import Exit
from tare.core.scheduler import JobResult, OnWait, Task
from tare.core.site import Platform
from tare.plugins.backends.kubernetes import (
    evidence,
    late_node_loss,
    naming,
    phases,
    quota_refusals,
    starvation,
)
from tare.plugins.backends.kubernetes.cluster import (
    CONFIG_MAPS,
    JOBS,
    MPI_JOBS,
    PODS,
    Cluster,
    Refusal,
)
from tare.plugins.backends.kubernetes.deleting import Deletions
from tare.plugins.backends.kubernetes.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.job_result import land
from tare.plugins.backends.kubernetes.kept_pods import Kept
from tare.plugins.backends.kubernetes.leases import NodeLeases
from tare.plugins.backends.kubernetes.listening import Listener
from tare.plugins.backends.kubernetes.manifests import Json, manifests, render, to_json
from tare.plugins.backends.kubernetes.nodes import NodeFacts, Own, with_launcher
from tare.plugins.backends.kubernetes.objects import Manifest
from tare.plugins.backends.kubernetes.observed import SeenJob
from tare.plugins.backends.kubernetes.options import KubernetesOptions, options_of
from tare.plugins.backends.kubernetes.outage import OutageWait
from tare.plugins.backends.kubernetes.pending_reasons import PendingReasons
from tare.plugins.backends.kubernetes.queueing_time import queued_s
from tare.plugins.backends.kubernetes.results import ResultsReader
from tare.plugins.backends.kubernetes.untold_quotas import UntoldQuotas
from tare.plugins.backends.kubernetes.watching import Arrival

_QUOTA_S = 10.0  # wait this long before a request that a full quota refused is sent again
_LEAVE_S = 2.0  # how long a watch may take to end


class KubernetesScheduler:
    """Runs tasks in one namespace of a cluster (implements core.scheduler.Scheduler).

    `campaign` is the label of all objects that it creates. `facts` returns the shell script that collects the
    facts of a node (see script).
    """

    def __init__(
        self,
        cluster: Cluster,
        campaign: str,
        facts: Callable[[Platform], str],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._selector = f"{naming.CAMPAIGN}={campaign}"
        self._facts = facts
        self._clock = clock
        self._flights: dict[str, InFlightJob] = {}
        self._landed: list[JobResult] = []
        self._shared: set[str] = set()
        self._is_used = False
        self._patience = OutageWait(lambda: cluster.has_answered, self._tell_all, clock, sleep)
        self._deletions = Deletions(cluster, self._selector, self._patience.carry_out, clock)
        self._listener = Listener(cluster, self._selector, self._flights, self._patience, clock)
        self._facts_of_nodes = NodeFacts(cluster, clock)
        self._leases = NodeLeases(cluster, campaign, clock)
        self._results = ResultsReader(cluster, clock, lambda: self._listener.news.put(Arrival()))
        self._kept = Kept(cluster)
        self._waits = PendingReasons(clock)
        self._untold_quotas = UntoldQuotas(cluster, clock)
        self._on_wait: OnWait = lambda names, reason: None

    def report_waits(self, on_wait: OnWait) -> None:
        """Set the callback for tasks that wait, for example while the API server does not answer."""
        self._on_wait = on_wait

    def submit(self, tasks: Sequence[Task]) -> None:
        """Create the objects of `tasks`, one job for each task."""
        created: list[str] = []
        for task in tasks:
            try:
                in_flight_job = self._make_flight(task)
                self._flights[naming.object_name(task)] = (
                    in_flight_job  # before _make: an interrupt deletes it then
                )
                evidence.keep_manifests(
                    task.folder, manifests(in_flight_job.rendered), in_flight_job.options.merge
                )
                self._make(in_flight_job)
            except (Refusal, UsageError) as error:
                created.append(naming.object_name(task))
                self._deletions.now(created)
                for name in created:
                    self._flights.pop(name, None)
                raise BackendError(f"{task.name}: {error}") from error
            created.append(naming.object_name(task))
        self._listener.watch(tasks)

    def adopt(self, tasks: Sequence[Task]) -> Collection[str]:
        """Return the names of the tasks that are in the cluster, or whose record is in their folder already.

        All other objects that the campaign left in the cluster are deleted, because no run waits for them.
        """
        self._listener.watch(tasks)
        known: set[str] = set()
        for resource in (PODS, JOBS, MPI_JOBS):
            try:
                items = self._patience.carry_out(partial(self._cluster.list_all, resource, self._selector))[0]
            except Refusal as refusal:
                if refusal.status != 404:  # 404: the cluster has no MPI Operator
                    raise
                continue
            known |= {msgspec.json.decode(item, type=SeenJob).metadata.task for item in items}
        wanted = {naming.object_name(task): task for task in tasks}
        for name, task in wanted.items():
            if name in known:
                self._flights[name] = self._make_flight(task, is_there=True)
            elif (task.folder / "landed").exists():
                self._landed.append(land(task, [], None))
        left = known - wanted.keys() - {""} - self._kept.names(self._selector)
        if left:
            self._deletions.now(sorted(left))
        landed = {one.name for one in self._landed}
        return [task.name for name, task in wanted.items() if name in self._flights or task.name in landed]

    def wait(self) -> Sequence[JobResult]:
        """Wait for news from the cluster, and return the results of tasks that ended."""
        job_results, self._landed = self._landed, []
        if not job_results:
            self._listener.hear()
        starving = starvation.makes_room(self._flights.values(), self._clock())
        for name, in_flight_job in list(self._flights.items()):
            job_result = self._look(in_flight_job)
            if (
                job_result is None
                and starving is not None
                and starving.in_flight_job is in_flight_job
                and not job_results
            ):
                job_result = self._give_up(in_flight_job, Exit(fault=starving.why), "")
            if job_result is not None:
                job_results.append(job_result)
                del self._flights[name]
                if in_flight_job.lost:
                    self._kept.drop(name)  # the files that are missing were lost with the node
                    self._deletions.lost(name, in_flight_job.lost)
                elif name not in self._kept:
                    self._deletions.later(name, self._listener.kinds())
        for names, reason in self._waits.news({f.task.name: f.waits_for for f in self._flights.values()}):
            self._on_wait(names, reason)
        self._leases.keep({node for in_flight_job in self._flights.values() for node in in_flight_job.nodes})
        self._deletions.flush(is_last=not self._flights)
        return job_results

    def cancel(self, names: Collection[str]) -> None:
        """Delete the objects of these tasks."""
        gone = [name for name, in_flight_job in self._flights.items() if in_flight_job.task.name in names]
        for name in gone:
            del self._flights[name]
        if gone:
            self._deletions.now(gone)

    def close(self) -> None:
        """Delete the objects that are left, the campaign's ConfigMaps too, and end the watches."""
        self._leases.end()
        self._deletions.flush(is_last=True)
        if self._is_used and not self._flights and not self._kept:
            self._patience.carry_out(lambda: self._cluster.delete_all(CONFIG_MAPS, self._selector))
        self.abandon_watches()

    def abandon_watches(self) -> None:
        """End the watches and leave all objects in the cluster, as after a crash of the session."""
        self._listener.end()
        self._results.end(_LEAVE_S)
        self._listener.join()
        self._cluster.close()

    def _make_flight(self, task: Task, *, is_there: bool = False) -> InFlightJob:
        """Return the in-flight job of a task.

        `is_there` says that the task is in the cluster already. The outputs in its folder are no inputs then.
        """
        self._is_used = True
        options = options_of(task.platform)
        if options is None:
            raise UsageError("its platform has no options of Kubernetes; add 'kubernetes: {image: …}'")
        is_pair = task.steps[-1].is_pair
        rendered = render(task, self._facts(task.platform), {} if is_there and not is_pair else None)
        return InFlightJob(task, options, rendered, self._clock())

    def _make(self, in_flight_job: InFlightJob) -> None:
        """Create the objects of a task.

        Where a quota that others use up refuses them, note that the task is queued; it is tried again later.
        """
        in_flight_job.asked_at = self._clock()
        try:
            for manifest in (*in_flight_job.rendered.shared, in_flight_job.rendered.job):
                self._create(manifest, in_flight_job.options)
        except Refusal as refusal:
            if not quota_refusals.may_pass(
                str(refusal), to_json(in_flight_job.rendered.job, in_flight_job.options.merge)
            ):
                raise
            in_flight_job.waits_for = f"queued: {refusal}"
        else:
            in_flight_job.asked_at = None
            in_flight_job.since = self._clock()

    def _make_client(self, in_flight_job: InFlightJob) -> JobResult | None:
        """Create the client of a pair once its server listens.

        Return the job result if the client may not be created at all, and None otherwise.
        """
        address = (
            in_flight_job.address()
            if in_flight_job.rendered.is_pair and not in_flight_job.has_client
            else None
        )
        if not address:
            return None
        client = in_flight_job.rendered.client(address)
        try:
            self._create(client, in_flight_job.options)
        except Refusal as refusal:
            may_pass = quota_refusals.may_pass(str(refusal), to_json(client, in_flight_job.options.merge))
            return None if may_pass else self._give_up(in_flight_job, Exit(), str(refusal))
        in_flight_job.has_client = True
        return None

    def _create(self, manifest: Manifest, options: KubernetesOptions) -> None:
        """Create an object, unless it exists because the answer to an earlier request was lost."""
        is_shared = manifest.KIND in {"ConfigMap", "NetworkAttachmentDefinition"}
        key = f"{manifest.KIND}/{manifest.metadata.name}"
        if is_shared and key in self._shared:
            return
        self._patience.carry_out(lambda: self._cluster.create(to_json(manifest, options.merge)))
        if is_shared:
            self._shared.add(key)

    def _look(self, in_flight_job: InFlightJob) -> JobResult | None:
        """Return the result of a task; None while it runs.

        For a pair, this also creates the client and ends the server.
        """
        now, starter = self._clock(), in_flight_job.starter
        if in_flight_job.asked_at is not None:
            return self._ask_again(in_flight_job) if now - in_flight_job.asked_at > _QUOTA_S else None
        if in_flight_job.failed is not None:
            return late_node_loss.judge(in_flight_job, in_flight_job.failed, self._listener.nodes, now)
        if starter is not None and (starter.is_over or self._results.is_told(in_flight_job)):
            job_result = self._finish(in_flight_job) if self._is_server_over(in_flight_job) else None
            if (
                job_result is None
                and not starter.is_over
                and (lost := in_flight_job.loss(now, self._listener.nodes, [starter]))
            ):
                return self._give_up(in_flight_job, Exit(fault=lost), "")  # and the results in it
            return self._settled(in_flight_job, job_result) if job_result is not None else None
        self._results.follow(in_flight_job)
        if PODS in self._listener.deaf:
            return None
        if refused := self._make_client(in_flight_job):
            return refused
        failure = in_flight_job.job.failure if in_flight_job.job else None
        if failure is not None and starter is None:
            return self._give_up(in_flight_job, Exit(), f"{failure.reason}: {failure.message}")
        if in_flight_job.is_gone(now):
            return self._give_up_gone(in_flight_job)
        self._untold_quotas.look(in_flight_job)
        ended = in_flight_job.end(now, self._listener.nodes)
        if ended is None or (ended[0].is_timeout and self._is_over_by_now(in_flight_job)):
            return None
        return self._give_up(in_flight_job, *ended)

    def _is_over_by_now(self, in_flight_job: InFlightJob) -> bool:
        """Return whether a task has ended, by a new listing of its pods.

        The watch may have missed the end, because its connection may be dead.
        """
        selector = f"{self._selector},{naming.TASK}={naming.object_name(in_flight_job.task)}"
        for item in self._patience.carry_out(partial(self._cluster.list_all, PODS, selector))[0]:
            self._listener.take_one(PODS, item, is_deleted=False)
        return in_flight_job.starter is not None and in_flight_job.starter.is_over

    def _ask_again(self, in_flight_job: InFlightJob) -> JobResult | None:
        """Try again to create objects that a quota refused.

        Return the job result if they are refused for good, and None otherwise.
        """
        try:
            self._make(in_flight_job)
        except Refusal as refusal:
            return self._give_up(in_flight_job, Exit(), str(refusal))
        return None

    def _settled(self, in_flight_job: InFlightJob, job_result: JobResult) -> JobResult | None:
        """Return `job_result`, or None while a lost node may still explain a failure of the program.

        A result that does not show what the program did is held back until the state of the nodes is known.
        """
        in_flight_job.unheard = late_node_loss.unheard(in_flight_job, job_result)
        if not in_flight_job.unheard:
            return job_result
        in_flight_job.failed, in_flight_job.since = job_result, self._clock()
        return None

    def _is_server_over(self, in_flight_job: InFlightJob) -> bool:
        """End the server of a pair; return whether it is over and has reported its counters.

        Its deadline is moved forward, because nothing else can reach into its pod. The pod then gets a
        SIGTERM, as when it is deleted, but its log stays.
        """
        server = in_flight_job.server
        if server is None or server.is_over or in_flight_job.gone_since is not None:
            return True
        if not in_flight_job.is_server_told:
            change: Json = {"spec": {"activeDeadlineSeconds": 1}}
            self._patience.carry_out(lambda: self._cluster.patch(PODS, server.metadata.name, change))
            in_flight_job.is_server_told, in_flight_job.since = True, self._clock()
        return self._clock() - in_flight_job.since > in_flight_job.options.timeouts.started_s

    def _finish(self, in_flight_job: InFlightJob) -> JobResult | None:
        """Return the result of a task when its files are received, or can never be; None before.

        Raises BackendError where the user must first allow access to the files. The pod then waits, and the
        next session can adopt it.
        """
        results = self._results.of(in_flight_job)
        if results is None:
            return None
        name = naming.object_name(in_flight_job.task)
        self._keep(in_flight_job, results.logs)
        if results.fault:
            self._kept.keep(in_flight_job)
        if results.is_curable:
            del self._flights[name]
            raise BackendError(f"{in_flight_job.task.name}: {results.fault}; then run the same command again")
        pods = list(in_flight_job.pods.values())
        job_result = land(in_flight_job.task, pods, in_flight_job.job, results.fault, results.problem)
        return self._with_facts(in_flight_job, job_result)

    def _give_up(self, in_flight_job: InFlightJob, ended: Exit, reason: str) -> JobResult:
        """Return the result of a task that was stopped before its end, and keep the logs of its pods."""
        self._keep(
            in_flight_job, evidence.last_logs(in_flight_job.pods, in_flight_job.lost, self._cluster.log)
        )
        return self._with_facts(
            in_flight_job, JobResult(name=in_flight_job.task.name, exit=ended, reason=reason)
        )

    def _give_up_gone(self, in_flight_job: InFlightJob) -> JobResult:
        for pod in in_flight_job.pods.values():
            said = phases.disruption(pod)
            if said:
                return self._give_up(in_flight_job, Exit(fault=said), "")
        if in_flight_job.job is not None and in_flight_job.job.is_suspended:  # as Kueue does to make room
            return self._give_up(in_flight_job, Exit(fault="its job was suspended while it ran"), "")
        return self._give_up(in_flight_job, Exit(), "its pods were deleted from outside")

    def _keep(self, in_flight_job: InFlightJob, logs: dict[str, bytes]) -> None:
        job = in_flight_job
        evidence.keep(job.task.folder, logs, job.raw.values(), job.events, job.pods.values())

    def _with_facts(self, in_flight_job: InFlightJob, job_result: JobResult) -> JobResult:
        pods = (pod for pod in in_flight_job.pods.values() if pod.role != naming.LAUNCHER)
        nodes = job_result.nodes or sorted({pod.spec.node_name for pod in pods if pod.spec.node_name})
        meta = in_flight_job.rendered.job.metadata
        beside = self._flights.keys() - {meta.labels[naming.TASK]}
        own = Own(meta.namespace, meta.labels.get(naming.CAMPAIGN, ""), meta.labels[naming.TASK], beside)
        facts = self._facts_of_nodes.of(nodes, own, self._clock() - job_result.exit.elapsed_s)
        facts = with_launcher(facts, in_flight_job.pods.values())
        self._leases.keep(facts.keys())  # the nodes' pods still exist
        facts = self._leases.told(facts, self._clock() - job_result.exit.elapsed_s)
        waited_s = queued_s(in_flight_job.pods.values(), in_flight_job.job)
        return msgspec.structs.replace(job_result, nodes=tuple(nodes), facts=facts, queued_s=waited_s)

    def _tell_all(self, reason: str) -> None:
        self._waits.forget()
        self._on_wait([in_flight_job.task.name for in_flight_job in self._flights.values()], reason)
