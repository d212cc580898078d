"""Run one attempt on hosts that Tare reaches directly, stage by stage.

Reads the network counters before and after the stages, samples telemetry meanwhile, and judges the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from tare.core.attempt import Attempt, State, Traffic
from tare.core.case import Case, Run
from tare.core.clock import SteadyClock, read_clocks, set_by_s, suspended_s
from tare.core.errors import BackendError, CampaignError, StorageError, TareError
from tare.core.job import Backend, Counters, Job, Ready
from tare.core.launch import Engine
from tare.core.plan import Plan
from tare.core.program import around_of, is_epilogue
from tare.core.protocols import implements
from tare.core.telemetry import Group
from tare.core.workload import Stage
from tare.execution.cache import StageCache
from tare.execution.compose import Composer
from tare.execution.exits import StagesEnd
from tare.execution.fault_owner import n_oom_kills, with_fault_owner
from tare.execution.network_interfaces import is_port
from tare.execution.obstacles import with_obstacle
from tare.execution.outcome import judge
from tare.execution.own_storage import OwnStorage, owner_of
from tare.execution.profiling import BUILD, HOST_BUILD
from tare.execution.staging import (
    StagedFolder,
    drop_copies,
    keep,
    require_space,
    restore,
    settle_outputs,
    stage_all,
)
from tare.execution.telemetry import Telemetry, TelemetryRecord
from tare.probes.placement import ranks_folder


class AttemptRunner(msgspec.Struct, frozen=True, kw_only=True):
    """Runs attempts of the campaign in `folder`, an absolute path.

    - `storage` gives each attempt a folder of its own on storage paths.
    - `boost_tries` is how many times a rank tries to raise the priority of its session on its node.
    - `counters` returns the network counters of the hosts.
    - `environment` returns the hash of the recorded facts of the hosts of a case.
    - `label` is the prefix of the job labels of its processes.
    - `hostnames` returns the host names of an attempt's hosts.
    - `clock` returns the time at which an attempt begins.
    - `telemetry` samples the hosts during an attempt.
    """

    folder: Path
    plan: Plan
    composer: Composer
    backend: Backend
    storage: OwnStorage
    boost_tries: int = 0
    counters: Callable[[Sequence[str | None]], Traffic]
    environment: Callable[[Composer, Case], str | None]
    label: str
    hostnames: Callable[[Attempt], Collection[str]] = lambda attempt: ()
    clock: Callable[[], float] = msgspec.field(default_factory=SteadyClock)
    telemetry: Telemetry = Telemetry()

    def execute_on(self, nodes: tuple[str, ...], case: Case, run: Run, number: int) -> Attempt:
        """Run an attempt on `nodes` of the site (see execute)."""
        there = msgspec.structs.replace(self, composer=self.composer.on(nodes))
        return there.execute(case, run, number)

    def execute(self, case: Case, run: Run, number: int) -> Attempt:
        """Run attempt `number` of `run` and return its result.

        Raises DiskFull if the disk has no room for its evidence; the attempt must then not count.
        """
        attempt = Attempt(
            case=case.id,
            block=run.block,
            attempt=number,
            state=State.RUNNING,
            started_at=self.clock(),
            hosts=list(self.composer.hosts(case)),
            load=os.getloadavg()[0],
        )
        require_space(self.folder)
        try:
            return self._execute(attempt, case)
        except OSError as error:
            if (obstructed := with_obstacle(attempt, self.folder, error)) is not None:
                return obstructed
            raise CampaignError.from_os(self.folder, error) from error

    def _execute(self, attempt: Attempt, case: Case) -> Attempt:
        """Run `attempt` and return its result. Raises OSError where the campaign's files fail."""
        killed = n_oom_kills()
        try:
            with self._own_storage(attempt, case):
                attempt, end = self._carry_out(attempt, case)
        except StorageError as error:
            failed = msgspec.structs.replace(
                attempt, state=State.FAILED, reason=self._describe_error(error), check="storage"
            )
            return self._with_fault_owner(failed, case, None)
        except BackendError as error:
            return msgspec.structs.replace(
                attempt, state=State.FAILED, reason=self._describe_error(error), is_infrastructure=True
            )
        require_space(self.folder)
        work, names = self.folder / attempt.folder, self.hostnames(attempt)
        judged = judge(attempt, case, self.composer, end, work, self.plan.timeout_s, names)
        if judged.state is State.DONE:
            drop_copies(self.composer, case, work)
        return self._with_fault_owner(judged, case, killed)

    def _describe_error(self, error: TareError) -> str:
        return self.composer.pseudonyms.text(str(error))

    def _with_fault_owner(self, attempt: Attempt, case: Case, killed: int | None) -> Attempt:
        """Return a judged attempt, as an infrastructure failure if it was one (see fault_owner).

        `killed` is how many processes the kernel had killed for lack of memory when the attempt began; None
        if none of the attempt's can be among those that it has killed since.
        """
        if attempt.state is State.DONE:
            return attempt
        head = self.composer.head(case)
        network = self.composer.network(case)
        interface = network.interface if network and case.layout.nodes > 1 else None
        hosts = self.composer.reached_hosts(case)
        storage = self.composer.storage_path(case) if self.composer.needs_own_storage(case) else ""
        n_here = n_oom_kills() - killed if killed is not None and self._is_here(head) else 0
        return with_fault_owner(attempt, self.backend, hosts, interface, n_here, storage)

    @contextmanager
    def _own_storage(self, attempt: Attempt, case: Case) -> Iterator[None]:
        """Provide the attempt's own folder on the storage path, if its programs write there."""
        composer = self.composer
        if not composer.needs_own_storage(case):
            yield
            return
        folder = composer.own_storage(case, owner_of(self.label, attempt))
        hosts = composer.reached_hosts(case)
        is_open = composer.site.platforms[case.platform].container is not None
        with self.storage.own(folder, hosts, self._label(attempt), is_open=is_open):
            yield

    def _n_boosted(self, case: Case, stage: Stage) -> int:
        if not self.boost_tries or not self.composer.runs_placement_probe(case, stage):
            return 0
        return (stage.layout or case.layout).ranks

    def _label(self, attempt: Attempt) -> str:
        return f"{self.label}{attempt.case}/{attempt.block}.{attempt.attempt};"

    def _carry_out(self, attempt: Attempt, case: Case) -> tuple[Attempt, StagesEnd]:
        """Run the stages; return the attempt with its traffic and telemetry, and how the stages ended."""
        environment = self.environment(self.composer, case)
        work = self.folder / attempt.folder
        head = self.composer.head(case)
        stages = stage_all(
            self.composer, case, work, head, owner_of(self.label, attempt), boost_tries=self.boost_tries
        )
        hosts = self.composer.reached_hosts(case)
        before, began = self.counters(hosts), read_clocks()
        with self.telemetry.watch(self.composer, case, work) as record:
            end = self._run_stages(case, stages, work, attempt.hosts, head, self._label(attempt), record)
            ended, after = read_clocks(), self.counters(hosts)
        attempt = msgspec.structs.replace(
            attempt,
            elapsed_s=end.exit.elapsed_s,
            exit_code=end.exit.code,
            signal=end.exit.signal,
            traffic=difference(before, after),
            environment=environment,
            telemetry=record.figures(),
            suspended_s=suspended_s(began, ended),
            clock_set_s=set_by_s(began, ended) if self._is_here(head) else 0.0,
        )
        return attempt, end

    def _is_here(self, head: str | None) -> bool:
        """Return whether programs use the clock of this machine; the nodes of a lab do."""
        return head is None or self.composer.site.lab is not None

    def _is_whole(self, case: Case, head: str | None) -> bool:
        """Return whether all processes of a job descend from the process that starts it.

        Over ssh none do. Podman and docker put containers into control groups of their own.
        """
        runtime = self.composer.runtime(self.composer.site.platforms[case.platform].runtime)
        return self._is_here(head) and not implements(runtime, Engine)

    def _recorded(
        self, job: Job, case: Case, staged: StagedFolder, record: TelemetryRecord, *, is_last: bool
    ) -> Job:
        """Return the job of a stage that telemetry records, with its control group if that has all of it."""
        name, is_whole = staged.stage.name, self._is_whole(case, job.host)

        def begin(group: Path | None) -> Ready:
            return record.stage_begins(name, Group(job.host, group) if group and is_whole else None)

        end = partial(record.stage_ended, name=name, is_last=is_last)
        return msgspec.structs.replace(job, on_begin=begin, on_end=end)

    def _run_stages(
        self,
        case: Case,
        stages: Sequence[StagedFolder],
        work: Path,
        hosts: Sequence[str],
        head: str | None,
        label: str,
        record: TelemetryRecord,
    ) -> StagesEnd:
        """Run the stages in order until one fails; restore the products of a stage that are in the cache."""
        cache = StageCache(self.folder / "cache")
        elapsed_s = 0.0
        for one in stages:
            around = around_of(one.stage.name)
            if restore(cache, one, work, self.composer.workloads[case.workload].output):
                continue
            job = Job(
                label=label,
                invocation=one.invocation,
                host=head,
                folder=work,
                stdout=one.stdout,
                stderr=one.stderr,
                timeout_s=max(self.plan.timeout_s - elapsed_s, 0.001),
                staging_folder=self.composer.site.staging_folder(work) if head else None,
                hosts=tuple(hosts),
                n_boosted=self._n_boosted(case, one.stage),
                ranks=ranks_folder(one.stage),
            )
            if not around:
                job = self._recorded(job, case, one, record, is_last=one is stages[-1])
            ended = self.backend.run(job)
            if one.stage.name not in {BUILD, HOST_BUILD} and not around:
                elapsed_s += ended.elapsed_s
            settle_outputs(one, work)
            missing = keep(cache, one, work) if ended.code == 0 else ""
            has_failed = ended.code != 0 or ended.is_timeout or bool(ended.fault or missing)
            if has_failed or not is_epilogue(one.stage):
                name = one.stage.name if len(stages) > 1 else ""
                end = StagesEnd(ended, one.stdout, one.stderr, name, missing)
            if has_failed:
                break
        return end._replace(exit=msgspec.structs.replace(end.exit, elapsed_s=elapsed_s))


def difference(before: Traffic, after: Traffic) -> Traffic:
    """Return the traffic of each interface and port between two readings of the counters.

    An interface that only one reading has appeared or vanished meanwhile, as that of a container, and is left
    out. But a port that one reading lacks could not be read, and neither could the interfaces if a reading
    has none at all. Their traffic is unknown: 0 is given as a lower limit.
    """
    return {host: _crossed(before.get(host, {}), after.get(host, {})) for host in {**before, **after}}


def _crossed(before: Mapping[str, Counters], after: Mapping[str, Counters]) -> dict[str, Counters]:
    found = {}
    are_read = all(any(not is_port(name) for name in one) for one in (before, after))
    for name in {**before, **after}:
        if name in before and name in after:
            found[name] = after[name].since(before[name])
        elif is_port(name) or not are_read:
            found[name] = Counters(is_least=True, link=(after.get(name) or before[name]).link)
    return found
