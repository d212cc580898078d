"""Run attempts as tasks of a batch system, such as Slurm or Kubernetes.

Many tasks may be queued or running at a time. The batch system chooses their nodes.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.core.attempt import Attempt, State, Traffic
from tare.core.case import Case, Run
from tare.core.clock import SteadyClock
from tare.core.errors import BackendError, CampaignError, DiskFull
from tare.core.plan import Plan
from tare.core.program import is_epilogue
from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import JobResult, NodeFiles, Scheduler, SharedCounter, SharedSampler, Step, Task
from tare.core.site import Network
from tare.core.telemetry import Host, Settle, Span
from tare.execution.attempt_runner import difference
from tare.execution.cache import StageCache
from tare.execution.compose import Composer
from tare.execution.exits import StagesEnd
from tare.execution.fault_owner import with_storage_fault
from tare.execution.job_spans import spans, until_now, without_around
from tare.execution.obstacles import with_obstacle
from tare.execution.outcome import judge
from tare.execution.own_storage import owner_of
from tare.execution.staging import (
    StagedFolder,
    compose_stages,
    drop_copies,
    keep,
    require_space,
    restore,
    settle_outputs,
    stage_all,
)


class _InFlightJob(NamedTuple):
    """An in-flight job: an attempt that is or will be submitted, and the stages that its task runs."""

    case: Case
    attempt: Attempt
    stages: tuple[StagedFolder, ...]
    task: Task


class BatchSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a batch executor.

    - `folder` is the campaign's folder, an absolute path. `campaign` is a part of the names of its jobs.
    - `traffic` reads network counters out of the files that nodes wrote.
    - `environment` records the facts of the nodes on which a task ran, and returns their hash.
    - `hostnames` returns the host names of an attempt's nodes. It is empty where host names do not identify
      nodes.
    - `sampler` is the path of the telemetry sampler, None if there is none. `settle` computes figures from
      its recordings.
    - `counter` is the path of the packet counter, None if there is none. `gather` stores in an attempt's
      folder what was counted on its nodes.
    - `files` are the numbers of the campaign folder's files (see storage.campaign.file_numbers).
    - `label` is the label of this session. It is a part of the names of attempts' folders on storage paths.
      These folders are kept if `keeps_storage` is true.
    - `on_wait` is called with the reason why an attempt waits, and with an empty reason when it continues.
    """

    folder: Path
    plan: Plan
    composer: Composer
    scheduler: Scheduler
    campaign: str
    traffic: Callable[[NodeFiles], Traffic]
    environment: Callable[[Case, JobResult], str | None]
    hostnames: Callable[[Attempt], Collection[str]] = lambda attempt: ()
    clock: Callable[[], float] = msgspec.field(default_factory=SteadyClock)
    sampler: Path | None = None
    settle: Settle = lambda folder, span: {}
    counter: Path | None = None
    gather: Callable[[Path, Collection[str]], None] = lambda folder, nodes: None
    label: str = ""
    files: str = ""
    keeps_storage: bool = False
    on_wait: Callable[[Attempt, str], None] = lambda attempt, reason: None


class BatchExecutor:
    """Submits attempts to a scheduler, and judges their job results (see Executor)."""

    def __init__(self, setup: BatchSetup) -> None:
        self._setup = setup
        self._in_flight: dict[str, _InFlightJob] = {}
        self._to_submit: list[Task] = []
        self._refused: list[Attempt] = []
        setup.scheduler.report_waits(self._wait_for)

    def can_start(self, case: Case) -> bool:
        """Return whether another task may be submitted, or join the job being packed (see Executor).

        A job has the options of one platform, so that others join it only if they ask for the same.
        """
        platform = self._setup.composer.site.platforms[case.platform]
        if platform.is_packed:
            held = self._to_submit[:1]
            is_alike = all(one.platform.options.asks_like(platform.options) for one in held)
            return is_alike and len(self._to_submit) == len(self._in_flight)
        return not self._to_submit and len(self._in_flight) < platform.in_flight

    def start(self, case: Case, run: Run, number: int) -> None:
        """Prepare the attempt's folder and submit it (see Executor).

        On a packed platform, hold it until the allocation is submitted as one job. Raises DiskFull if the
        disk has no room for its evidence.
        """
        require_space(self._setup.folder)
        attempt = self._attempt(case, run, number)
        try:
            self._start(attempt, case)
        except OSError as error:
            self._refused.append(self._obstructed(attempt, error))

    def _start(self, attempt: Attempt, case: Case) -> None:
        work = self._setup.folder / attempt.folder
        staged = stage_all(self._setup.composer, case, work, None, owner_of(self._setup.label, attempt))
        cache = StageCache(self._setup.folder / "cache")
        output = self._setup.composer.workloads[case.workload].output
        stages = tuple(one for one in staged if not restore(cache, one, work, output))
        in_flight_job = self._in_flight_job(case, attempt, stages)
        self._in_flight[in_flight_job.task.name] = in_flight_job
        self._to_submit.append(in_flight_job.task)
        if not in_flight_job.task.platform.is_packed:
            self._submit()

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Take over tasks that are queued or running, or have ended meanwhile (see Executor)."""
        found: dict[str, tuple[_InFlightJob, Run]] = {}
        for case, run, number in begun:
            attempt = self._attempt(case, run, number)
            stages = compose_stages(self._setup.composer, case, self._setup.folder / attempt.folder)
            in_flight_job = self._in_flight_job(case, attempt, stages)
            found[in_flight_job.task.name] = in_flight_job, run
        names = self._setup.scheduler.adopt([in_flight_job.task for in_flight_job, _ in found.values()])
        self._in_flight |= {name: found[name][0] for name in names}
        return [found[name][1] for name in names]

    def wait(self) -> Sequence[Attempt]:
        """Submit the held tasks, then wait for the next tasks that end (see Executor)."""
        with self._os_errors_wrapped():
            self._submit()
            if self._refused:
                ended, self._refused = self._refused, []
                return ended
            job_results = self._setup.scheduler.wait()
            self._require_space(job_results)
        return [self._finish(self._in_flight.pop(job_result.name), job_result) for job_result in job_results]

    def _require_space(self, job_results: Sequence[JobResult]) -> None:
        """Raise DiskFull if the disk is full: the outputs may be cut short, so the tasks must not count.

        The records of their end are removed too, so that the next session does not take these tasks over.
        """
        if not job_results:
            return
        try:
            require_space(self._setup.folder)
        except DiskFull:
            for job_result in job_results:
                for name in ("landed", "progress"):
                    SafeFolder(self._in_flight[job_result.name].task.folder, name).remove()
            raise

    def _wait_for(self, names: Collection[str], reason: str) -> None:
        for name in names:
            if name in self._in_flight:
                self._setup.on_wait(
                    self._in_flight[name].attempt, self._setup.composer.pseudonyms.text(reason)
                )

    def holds_runs(self) -> bool:
        """Return whether tasks wait for the job in which they are packed (see Executor)."""
        return bool(self._to_submit)

    def unfinished(self) -> Sequence[Attempt]:
        """Return the attempts in queues and on nodes, with the time in each until now (see Executor)."""
        now, held = self._setup.clock(), self._setup.scheduler.held
        return [until_now(one.attempt, held(name), now) for name, one in self._in_flight.items()]

    def abandon(self) -> None:
        """Cancel every job (see Executor)."""
        self._to_submit.clear()
        self._setup.scheduler.cancel(list(self._in_flight))
        self._in_flight.clear()

    @contextmanager
    def _os_errors_wrapped(self) -> Iterator[None]:
        """Turn an OSError on the campaign's files, such as a full disk, into a CampaignError."""
        try:
            yield
        except OSError as error:
            raise CampaignError.from_os(self._setup.folder, error) from error

    def _obstructed(self, attempt: Attempt, error: OSError) -> Attempt:
        """Return `attempt` as invalid if its own case caused `error`. Raises CampaignError otherwise."""
        obstructed = with_obstacle(attempt, self._setup.folder, error)
        if obstructed is None:
            raise CampaignError.from_os(self._setup.folder, error) from error
        return obstructed

    def _attempt(self, case: Case, run: Run, number: int) -> Attempt:
        return Attempt(
            case=case.id,
            block=run.block,
            attempt=number,
            state=State.RUNNING,
            started_at=self._setup.clock(),
        )

    def _in_flight_job(self, case: Case, attempt: Attempt, stages: tuple[StagedFolder, ...]) -> _InFlightJob:
        setup = self._setup
        name = f"tare-{setup.campaign}-{case.id}-{attempt.block}.{attempt.attempt}"
        work = setup.folder / attempt.folder
        task = make_task(
            setup.composer, case, name, work, setup.plan.timeout_s, stages, owner_of(setup.label, attempt)
        )
        labels = {
            "campaign": setup.campaign,
            "case": case.id,
            "run": f"{attempt.block}.{attempt.attempt}",
            "folder": str(setup.folder),
            "host": socket.gethostname(),
            "session": setup.label,
            "files": setup.files,
        }
        counter = self._counter(case, task.network)
        task = msgspec.structs.replace(
            task,
            labels=labels,
            sampler=self._sampler(case),
            counter=counter,
            keeps_storage=setup.keeps_storage,
        )
        return _InFlightJob(case, attempt, stages, task)

    def _sampler(self, case: Case) -> SharedSampler | None:
        """Return the telemetry sampler for the nodes of `case`; None if they are not sampled."""
        program, period_s = self._setup.sampler, self._setup.plan.telemetry.period_of(case.platform)
        return None if program is None or period_s is None else SharedSampler(program, period_s)

    def _counter(self, case: Case, network: Network | None) -> SharedCounter | None:
        """Return the packet counter for `case`; None if its packets are not counted."""
        program = self._setup.counter
        if program is None or network is None or not self._setup.plan.telemetry.counts_packets(case.platform):
            return None
        return SharedCounter(program, network.interface)

    def _telemetry(self, in_flight_job: _InFlightJob, job_result: JobResult) -> dict[str, float]:
        if in_flight_job.task.sampler is None:
            return {}
        network = in_flight_job.task.network
        hosts = {node: Host() for node in job_result.nodes}
        span = Span(hosts=hosts, epochs=job_result.epochs, interface=network.interface if network else None)
        return dict(self._setup.settle(in_flight_job.task.folder, span))

    def _submit(self) -> None:
        """Submit the held tasks as one job; a refusal by the scheduler is an infrastructure failure."""
        tasks, self._to_submit = self._to_submit, []
        if not tasks:
            return
        try:
            self._setup.scheduler.submit(tasks)
        except BackendError as error:
            for task in tasks:
                attempt = self._in_flight.pop(task.name).attempt
                self._refused.append(
                    msgspec.structs.replace(
                        attempt,
                        state=State.FAILED,
                        reason=self._setup.composer.pseudonyms.text(str(error)),
                        is_infrastructure=True,
                    )
                )

    def _keep_products(self, in_flight_job: _InFlightJob, job_result: JobResult) -> tuple[StagedFolder, str]:
        """Cache the products of the stages that succeeded; return the last stage and what it did not make."""
        cache = StageCache(self._setup.folder / "cache")
        names = [one.stage.name for one in in_flight_job.stages]
        n_ran = names.index(job_result.step) + 1 if job_result.step in names else 0
        missing = ""
        for number, one in enumerate(in_flight_job.stages[:n_ran], 1):
            settle_outputs(one, in_flight_job.task.folder)
            if number < n_ran or job_result.exit.code == 0:
                missing = missing or keep(cache, one, in_flight_job.task.folder)
        return in_flight_job.stages[max(n_ran, 1) - 1], missing

    def _finish(self, in_flight_job: _InFlightJob, job_result: JobResult) -> Attempt:
        try:
            return self._judged(in_flight_job, job_result)
        except OSError as error:
            return self._obstructed(in_flight_job.attempt, error)

    def _judged(self, in_flight_job: _InFlightJob, job_result: JobResult) -> Attempt:
        setup, case = self._setup, in_flight_job.case
        work = in_flight_job.task.folder
        last, missing = self._keep_products(in_flight_job, job_result)
        if is_epilogue(last.stage) and job_result.exit.code == 0 and not job_result.exit.is_timeout:
            last = [one for one in in_flight_job.stages if not is_epilogue(one.stage)][-1]
        job_result = without_around(job_result)
        if in_flight_job.task.counter is not None:
            setup.gather(work, job_result.nodes)
        attempt = msgspec.structs.replace(
            in_flight_job.attempt,
            started_at=job_result.started_at or in_flight_job.attempt.started_at,
            elapsed_s=job_result.exit.elapsed_s,
            exit_code=job_result.exit.code,
            signal=job_result.exit.signal,
            hosts=list(job_result.nodes),
            traffic=difference(setup.traffic(job_result.before), setup.traffic(job_result.after)),
            environment=setup.environment(case, job_result)
            if job_result.before or job_result.facts
            else None,
            telemetry=self._telemetry(in_flight_job, job_result),
            clock_set_s=job_result.clock_set_s,
            **spans(in_flight_job.attempt.started_at or 0.0, setup.clock(), job_result),
        )
        if job_result.reason:
            reason = setup.composer.pseudonyms.text(job_result.reason)
            return msgspec.structs.replace(attempt, state=State.FAILED, reason=reason, check="job")
        name = last.stage.name if len(in_flight_job.stages) > 1 else ""
        end = StagesEnd(job_result.exit, last.stdout, last.stderr, name, missing)
        names = setup.hostnames(attempt)
        judged = judge(attempt, case, setup.composer, end, work, setup.plan.timeout_s, names)
        judged = with_storage_fault(judged, job_result.storage_space, in_flight_job.task.storage_path)
        if judged.state is State.DONE and job_result.problems:
            return msgspec.structs.replace(
                judged,
                state=State.INVALID,
                reason=setup.composer.pseudonyms.text("; ".join(job_result.problems[:3])),
                check="placement",
                series=[],
            )
        if judged.state is State.DONE:
            drop_copies(setup.composer, case, work)
        return judged


def make_task(
    composer: Composer,
    case: Case,
    name: str,
    work: Path,
    timeout_s: float,
    stages: Sequence[StagedFolder] | None = None,
    owner: str | None = None,
) -> Task:
    """Return the task of an attempt of `case` in the folder `work`.

    `stages` are the stages to run, None for all of them. `owner` is a part of the name of the attempt's
    folder on the storage path.
    """
    if stages is None:
        stages = compose_stages(composer, case, work, owner)
    return Task(
        name=name,
        folder=work,
        steps=tuple(
            Step(
                name=one.stage.name,
                invocation=one.invocation,
                stdout=one.stdout,
                stderr=one.stderr,
                is_mpi=one.stage.is_mpi,
                is_pair=one.stage.is_pair,
            )
            for one in stages
        ),
        layout=composer.widest(case),
        platform=composer.site.platforms[case.platform],
        timeout_s=timeout_s,
        network=composer.network(case),
        storage=case.storage,
        storage_path=composer.storage_path(case),
        own_storage=composer.own_storage(case, owner) if composer.needs_own_storage(case) else "",
        labels={"case": case.id},
        software=composer.software(case),
    )
