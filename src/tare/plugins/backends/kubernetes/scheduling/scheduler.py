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
from tare.core.scheduler import Held, JobResult, OnWait, Task
from tare.core.site import Platform
from tare.plugins.backends.kubernetes.api.cluster import JOBS, MPI_JOBS, NOT_FOUND, PODS, Cluster, Refusal
from tare.plugins.backends.kubernetes.api.outage import OutageWait
from tare.plugins.backends.kubernetes.api.watching import Arrival
from tare.plugins.backends.kubernetes.diagnosis import phases
from tare.plugins.backends.kubernetes.diagnosis.changed_pods import (
    FACT,
    facts_of_changes,
    problems_of_changes,
)
from tare.plugins.backends.kubernetes.diagnosis.namespace_end import namespace_end
from tare.plugins.backends.kubernetes.diagnosis.nodes import NodeFacts, Own, with_launcher
from tare.plugins.backends.kubernetes.diagnosis.pending_reasons import PendingReasons
from tare.plugins.backends.kubernetes.diagnosis.queueing import placed_at, queued_s
from tare.plugins.backends.kubernetes.manifests.rendering import render
from tare.plugins.backends.kubernetes.objects import naming, provenance
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.observed import SeenJob
from tare.plugins.backends.kubernetes.objects.ownership import CreatedBy
from tare.plugins.backends.kubernetes.options import options_of
from tare.plugins.backends.kubernetes.scheduling import evidence, starvation
from tare.plugins.backends.kubernetes.scheduling.creating import Creations, why_never
from tare.plugins.backends.kubernetes.scheduling.deleting import Deletions
from tare.plugins.backends.kubernetes.scheduling.in_flight_job import InFlightJob
from tare.plugins.backends.kubernetes.scheduling.informer import Informer
from tare.plugins.backends.kubernetes.scheduling.job_result import SUSPENDED, read_result
from tare.plugins.backends.kubernetes.scheduling.leases import NodeLeases
from tare.plugins.backends.kubernetes.scheduling.operator_quotas import OperatorQuotas
from tare.plugins.backends.kubernetes.scheduling.results import ResultsReader

_QUOTA_S = 10.0  # wait this long before a request that a full quota refused is sent again
_LEAVE_S = 2.0  # how long a watch may take to end


class KubernetesScheduler:
    """Runs tasks in one namespace of a cluster (implements core.scheduler.Scheduler).

    `campaign` is the label of all objects that it creates, and `own` tells them from those of a copy of the
    campaign (by default, its own name no session). `facts` returns the shell script that collects the facts
    of a node (see script).
    """

    def __init__(
        self,
        cluster: Cluster,
        campaign: str,
        facts: Callable[[Platform], str],
        *,
        own: CreatedBy | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._selector = f"{naming.CAMPAIGN}={campaign}"
        self._facts = facts
        self._clock = clock
        self._jobs: dict[str, InFlightJob] = {}
        self._finished: list[JobResult] = []
        self._own = own or CreatedBy(campaign)
        self._end: BackendError | None = None
        self._is_used = False
        self._is_shut_out = False
        self._outage = OutageWait(lambda: cluster.has_answered, self._report_outage, clock, sleep)
        self._creations = Creations(cluster, self._own, self._outage.retry)
        self._deletions = Deletions(cluster, self._selector, self._own, self._outage.retry, clock)
        self._informer = Informer(cluster, self._selector, self._jobs, self._outage, clock)
        self._facts_of_nodes = NodeFacts(cluster, clock)
        self._leases = NodeLeases(cluster, campaign, clock, about=self._own.annotations)
        self._results = ResultsReader(cluster, clock, lambda: self._informer.news.put(Arrival()))
        self._waits = PendingReasons(clock)
        self._operator_quotas = OperatorQuotas(cluster, clock)
        self._on_wait: OnWait = lambda names, reason: None

    def report_waits(self, on_wait: OnWait) -> None:
        """Set the callback for tasks that wait, for example while the API server does not answer."""
        self._on_wait = on_wait

    def submit(self, tasks: Sequence[Task]) -> None:
        """Create the objects of `tasks`, one job for each task.

        A task whose objects can never be created is submitted and ends at once. Raises BackendError if they
        may be created later.
        """
        for task in tasks:
            try:
                job = self._new_job(task)
            except UsageError as error:
                self._finished.append(JobResult(name=task.name, exit=Exit(), reason=str(error)))
                continue
            self._jobs[job.name] = job  # before it is made: an interrupt deletes it then
            evidence.keep_manifests(task.folder, job.rendered.documents)
            try:
                self._creations.make(job, self._clock())
            except BackendError as error:
                del self._jobs[job.name]
                self._refused(job, error)
        self._informer.watch(tasks)

    def _refused(self, job: InFlightJob, error: BackendError) -> None:
        """Delete what was created of a task whose other objects were not; note how that ends it.

        Raises BackendError if they may be created later.
        """
        self._deletions.later(job.name, (MPI_JOBS, JOBS, PODS))
        try:
            reason = why_never(job, error)
        except BackendError as end:
            self._end = end  # for the next call of wait
            return
        if not reason:
            raise BackendError(f"{job.task.name}: {error}") from error
        self._finished.append(JobResult(name=job.task.name, exit=Exit(), reason=reason))

    def adopt(self, tasks: Sequence[Task]) -> Collection[str]:
        """Return the names of the tasks that are in the cluster, or whose record is in their folder already.

        All other objects that the campaign left in the cluster are deleted, because no run waits for them.
        Raises BackendError if it has objects of a copy of the campaign.
        """
        self._informer.watch(tasks)
        known, there = set[str](), set[str]()  # the latter are not just being deleted by an earlier session
        for resource in (PODS, JOBS, MPI_JOBS):
            read = partial(self._cluster.read_all, resource, SeenJob, self._selector)
            metas = [one.metadata for one in self._outage.retry(read)]
            for meta in metas:
                if provenance.is_created(resource.kind, meta):
                    self._own.require(resource.kind, meta)
            known |= {one.task for one in metas if provenance.is_of_task(resource.kind, one)}
            there |= {one.task for one in metas if provenance.is_first(resource.kind, one)}
        wanted = {naming.object_name(task): task for task in tasks}
        for name, task in wanted.items():
            if name in there:
                self._jobs[name] = self._new_job(task, is_there=True)
            elif (task.folder / "landed").exists():
                self._finished.append(read_result(task, [], None))
        left = known - self._jobs.keys() - {""} - self._deletions.kept_before()
        if left:
            self._deletions.now(sorted(left))
        finished = {one.name for one in self._finished}
        return [task.name for name, task in wanted.items() if name in self._jobs or task.name in finished]

    def wait(self) -> Sequence[JobResult]:
        """Wait for news from the cluster, and return the results of tasks that ended."""
        if self._end is not None:
            raise self._end
        job_results, self._finished = self._finished, []
        if not job_results:
            self._process_news()
        starving = starvation.makes_room(self._jobs.values(), self._clock())
        for name, job in list(self._jobs.items()):
            job_result = self._unless_namespace_ends(job, self._look(job))
            if not job_result and not job_results and starving and starving.job is job:
                job_result = self._give_up(job, Exit(fault=starving.why), "")
            if job_result is not None:
                job_results.append(job_result)
                del self._jobs[name]
                if job.lost:
                    self._deletions.lost(name, job.lost)
                else:
                    self._deletions.later(name, self._informer.kinds())
        for names, reason in self._waits.changes({f.task.name: f.waits_for for f in self._jobs.values()}):
            self._on_wait(names, reason)
        self._leases.keep({node for job in self._jobs.values() for node in job.nodes})
        self._deletions.flush(is_last=not self._jobs)
        return job_results

    def _process_news(self) -> None:
        try:
            self._informer.process_news()
        except Refusal:
            self._is_shut_out = True
            raise

    def held(self, name: str) -> Held | None:
        """Return what a task has, by the scheduler of the cluster (see core.scheduler.Scheduler)."""
        job = next((one for one in self._jobs.values() if one.task.name == name), None)
        since = placed_at(job.pods.values()) if job else None
        return Held(since, tuple(sorted(job.nodes))) if job and since is not None else None

    def cancel(self, names: Collection[str]) -> None:
        """Delete the objects of these tasks, unless Tare was refused to watch them: then they stay."""
        gone = [name for name, job in self._jobs.items() if job.task.name in names]
        for name in gone:
            del self._jobs[name]
        if gone and not self._is_shut_out:
            self._deletions.now(gone)

    def close(self) -> None:
        """Delete the objects that are left, the campaign's ConfigMaps too, and end the watches."""
        self._leases.end()
        self._deletions.flush(is_last=True)
        if self._is_used and not self._jobs and not self._deletions.kept:
            self._deletions.shared()
        self.abandon_watches()

    def abandon_watches(self) -> None:
        """End the watches and leave all objects in the cluster, as after a crash of the session."""
        self._informer.end()
        self._results.end(_LEAVE_S)
        self._informer.join()
        self._cluster.close()

    def _new_job(self, task: Task, *, is_there: bool = False) -> InFlightJob:
        """Return the in-flight job of a task.

        `is_there` says that the task is in the cluster already. The outputs in its folder are no inputs then.
        """
        self._is_used = True
        is_pair = task.steps[-1].is_pair
        rendered = render(task, self._facts(task.platform), {} if is_there and not is_pair else None)
        return InFlightJob(task, options_of(task.platform), rendered, self._clock())

    def _make_client(self, job: InFlightJob) -> JobResult | None:
        """Create the client of a pair once its server listens.

        Return the job result if the client may not be created at all, and None otherwise.
        """
        address = job.address() if job.rendered.is_pair and not job.has_client else None
        return (
            self._unless_refused(job, lambda: self._creations.make_client(job, address)) if address else None
        )

    def _unless_refused(self, job: InFlightJob, create: Callable[[], None]) -> JobResult | None:
        """Call `create`; return the job result if the API server refuses for good, and None otherwise."""
        try:
            create()
        except Refusal as refusal:
            reason = why_never(job, refusal)
            return self._give_up(job, Exit(), reason) if reason else None
        return None

    def _look(self, job: InFlightJob) -> JobResult | None:
        """Return the result of a task; None while it runs.

        For a pair, this also creates the client and ends the server.
        """
        now, starter = self._clock(), job.starter
        if job.refused_at is not None:
            is_due = now - job.refused_at > _QUOTA_S
            return self._unless_refused(job, lambda: self._creations.make(job, now)) if is_due else None
        if job.failed is not None:
            return job.judge_failure(job.failed, self._informer.nodes, now)
        if starter is not None and (why := phases.never_began(starter)):
            return self._give_up(job, Exit(fault=why), "")
        if starter is not None and (starter.is_over or self._results.is_received(job)):
            job_result = self._finish(job) if self._is_server_over(job) else None
            if job_result is not None:
                return self._settled(job, job_result)
            if not starter.is_over and (lost := job.loss(now, self._informer.nodes, [starter])):
                return self._give_up(job, Exit(fault=lost), "")  # and the results in it
            return None
        self._results.follow(job)
        if PODS in self._informer.interrupted:
            return None
        if refused := self._make_client(job):
            return refused
        failure = job.seen.failure if job.seen else None
        if failure is not None and starter is None:
            return self._give_up(job, Exit(), f"{failure.reason}: {failure.message}")
        if job.is_gone(now):
            return self._give_up_gone(job)
        self._operator_quotas.look(job)
        ended = job.end(now, self._informer.nodes)
        if ended is None or (ended[0].is_timeout and self._is_over_by_now(job)):
            return None
        return self._give_up(job, *ended)

    def _is_over_by_now(self, job: InFlightJob) -> bool:
        """Return whether a task has ended, by a new listing of its pods.

        The watch may have missed the end, because its connection may be dead.
        """
        selector = f"{self._selector},{naming.TASK}={job.name}"
        for item in self._outage.retry(partial(self._cluster.list_all, PODS, selector))[0]:
            self._informer.take_one(PODS, item, is_deleted=False)
        return job.starter is not None and job.starter.is_over

    def _settled(self, job: InFlightJob, job_result: JobResult) -> JobResult | None:
        """Return `job_result`, or None while a lost node may still explain a failure of the program.

        A result that does not show what the program did is held back until the state of the nodes is known.
        """
        if not job.find_silent_nodes(job_result):
            return job_result
        job.failed, job.since = job_result, self._clock()
        return None

    def _is_server_over(self, job: InFlightJob) -> bool:
        """End the server of a pair; return whether it is over and has reported its counters.

        Its deadline is moved forward, because nothing else can reach into its pod. The pod then gets a
        SIGTERM, as when it is deleted, but its log stays.
        """
        server = job.server
        if server is None or server.is_over or job.gone_since is not None:
            return True
        if not job.is_server_stopped:
            change: Json = {"spec": {"activeDeadlineSeconds": 1}}
            try:
                self._outage.retry(lambda: self._cluster.patch(PODS, server.metadata.name, change))
            except Refusal as refusal:
                if refusal.status == NOT_FOUND:
                    return True  # somebody deleted it just now
                raise
            job.is_server_stopped, job.since = True, self._clock()
        return self._clock() - job.since > job.options.timeouts.started_s

    def _finish(self, job: InFlightJob) -> JobResult | None:
        """Return the result of a task when its files are received, or can never be; None before.

        Raises BackendError where the user must first allow access to the files. The pod then waits, and the
        next session can adopt it.
        """
        results = self._results.of(job)
        if results is None:
            return None
        self._keep(job, results.logs)
        if results.fault:
            self._deletions.keep(job)
        if results.is_curable:
            del self._jobs[job.name]
            raise BackendError(f"{job.task.name}: {results.fault}; then run the same command again")
        pods = list(job.pods.values())
        taken = SUSPENDED if job.is_suspended or job.was_suspended else ""
        job_result = read_result(job.task, pods, job.seen, results.fault, results.problem, taken)
        if job_result.exit.code == 0:
            wrong = problems_of_changes(job.asked, pods)
            job_result = msgspec.structs.replace(job_result, problems=(*job_result.problems, *wrong))
        return self._with_facts(job, job_result)

    def _give_up(self, job: InFlightJob, ended: Exit, reason: str) -> JobResult:
        """Return the result of a task that was stopped before its end, and keep the logs of its pods."""
        self._creations.forget_shared()
        self._keep(job, evidence.last_logs(job.pods, job.lost, self._cluster.log))
        return self._with_facts(job, JobResult(name=job.task.name, exit=ended, reason=reason))

    def _unless_namespace_ends(self, job: InFlightJob, job_result: JobResult | None) -> JobResult | None:
        """Return `job_result`; as an infrastructure failure, if the run failed with its namespace."""
        if job_result is None or job_result.exit.code == 0 or job_result.exit.fault:
            return job_result
        is_deleted = any(pod.metadata.deletion_timestamp for pod in job.pods.values())
        why = namespace_end(self._cluster) if is_deleted or job.gone_since is not None else ""
        if not why:
            return job_result
        return msgspec.structs.replace(job_result, exit=Exit(fault=why), reason="")

    def _give_up_gone(self, job: InFlightJob) -> JobResult:
        for pod in job.pods.values():
            if fault := phases.disruption(pod):
                return self._give_up(job, Exit(fault=fault), "")
        if job.is_suspended or job.was_suspended:
            return self._give_up(job, Exit(fault=SUSPENDED), "")
        what = f"{job.kind} was" if job.is_job_gone else "pods were"
        failure = job.seen.failure if job.seen else None
        why = f"{failure.reason}: {failure.message}" if failure else f"its {what} deleted from outside"
        return self._give_up(job, Exit(), why)

    def _keep(self, job: InFlightJob, logs: dict[str, bytes]) -> None:
        evidence.keep(job.task.folder, logs, job.raw.values(), job.event_lines, job.pods.values())

    def _with_facts(self, job: InFlightJob, job_result: JobResult) -> JobResult:
        pods = (pod for pod in job.pods.values() if pod.role != naming.LAUNCHER)
        nodes = job_result.nodes or sorted({pod.spec.node_name for pod in pods if pod.spec.node_name})
        meta, began = job.rendered.job.metadata, self._clock() - job_result.exit.elapsed_s
        beside = self._jobs.keys() - {job.name}
        own = Own(meta.namespace, meta.labels.get(naming.CAMPAIGN, ""), job.name, beside)
        facts = with_launcher(self._facts_of_nodes.of(nodes, own, began), job.pods.values())
        self._leases.keep(facts.keys())  # the nodes' pods still exist
        facts = self._leases.with_holders(facts, began)
        changed = facts_of_changes(job.asked, job.pods.values())
        facts = {
            node: {**one, FACT: changed[node]} if node in changed else one for node, one in facts.items()
        }
        waited_s = queued_s(job.pods.values(), job.seen)
        return msgspec.structs.replace(job_result, nodes=tuple(nodes), facts=facts, queued_s=waited_s)

    def _report_outage(self, reason: str) -> None:
        self._waits.forget()
        self._on_wait([job.task.name for job in self._jobs.values()], reason)
