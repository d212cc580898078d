"""Attempts as tasks of a batch system: many under way, on nodes that it chooses."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypedDict

import msgspec

from tare.beneath import Beneath
from tare.compose import Composer
from tare.errors import BackendError, CampaignError, DiskFull
from tare.model.attempt import Attempt, State, Traffic
from tare.model.case import Case, Run
from tare.model.clock import SteadyClock
from tare.model.plan import Plan
from tare.model.scheduler import Landing, NodeFiles, Scheduler, SharedCounter, SharedSampler, Step, Task
from tare.model.site import Network
from tare.model.telemetry import Host, Settle, Span
from tare.runner.cache import StageCache
from tare.runner.execution import difference
from tare.runner.judging import StagesEnd, judge
from tare.runner.own_storage import owner_of
from tare.runner.owners import owned_by_storage
from tare.runner.staging import Staged, compose_stages, keep, require_room, settle_outputs, stage_all


class _Flight(NamedTuple):
    """An attempt under way, with the stages that its task runs."""

    case: Case
    attempt: Attempt
    stages: tuple[Staged, ...]
    task: Task


class BatchSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a batch crew works with, for the campaign in `folder`, an absolute path.

    `campaign` names its jobs. `traffic` reads counters out of the files of nodes, `environment` records
    the facts of where a task landed and returns their hash, `hostnames` what the nodes of an attempt call
    themselves, where that tells ranks apart. `sampler` is where the program that watches
    nodes lies, None where nothing does, and `settle` makes figures of what it saw. So does `counter` for what
    counts packets; `gather` keeps in an attempt's folder what was counted on its nodes. `label` is this
    session's, by which attempts' folders on storage paths are named; they stay where it `keeps_storage`.
    `on_wait` is told what an attempt waits for, and of an empty reason when it goes on.
    """

    folder: Path
    plan: Plan
    composer: Composer
    scheduler: Scheduler
    campaign: str
    traffic: Callable[[NodeFiles], Traffic]
    environment: Callable[[Case, Landing], str | None]
    hostnames: Callable[[Attempt], Collection[str]] = lambda attempt: ()
    clock: Callable[[], float] = msgspec.field(default_factory=SteadyClock)
    sampler: Path | None = None
    settle: Settle = lambda folder, span: {}
    counter: Path | None = None
    gather: Callable[[Path, Collection[str]], None] = lambda folder, nodes: None
    label: str = ""
    keeps_storage: bool = False
    on_wait: Callable[[Attempt, str], None] = lambda attempt, reason: None


class BatchCrew:
    """Hands attempts to a scheduler, and judges what lands (see runner.crew.Crew)."""

    def __init__(self, setup: BatchSetup) -> None:
        self._setup = setup
        self._flights: dict[str, _Flight] = {}
        self._to_submit: list[Task] = []
        self._refused: list[Attempt] = []
        setup.scheduler.tell_waits(self._wait_for)

    def has_room(self, case: Case) -> bool:
        """Return whether another job may be in flight; a packed one takes what comes (see Crew)."""
        platform = self._setup.composer.site.platforms[case.platform]
        if platform.is_packed:
            return len(self._to_submit) == len(self._flights)
        return not self._to_submit and len(self._flights) < platform.in_flight

    def start(self, case: Case, run: Run, number: int) -> None:
        """Lay out the attempt's folder and submit it, or hold it until its allocation is full (see Crew).

        Raises DiskFull when there is no room for its evidence.
        """
        require_room(self._setup.folder)
        with self._told():
            self._start(self._attempt(case, run, number), case)

    def _start(self, attempt: Attempt, case: Case) -> None:
        work = self._setup.folder / attempt.folder
        staged = stage_all(self._setup.composer, case, work, None, owner_of(self._setup.label, attempt))
        cache = StageCache(self._setup.folder / "cache")
        stages = tuple(one for one in staged if one.key is None or not cache.restore(one.key, work))
        flight = self._flight(case, attempt, stages)
        self._flights[flight.task.name] = flight
        self._to_submit.append(flight.task)
        if not flight.task.platform.is_packed:
            self._submit()

    def adopt(self, begun: Sequence[tuple[Case, Run, int]]) -> Collection[Run]:
        """Take over the tasks that are still queued, running or landed (see Crew)."""
        found: dict[str, tuple[_Flight, Run]] = {}
        for case, run, number in begun:
            attempt = self._attempt(case, run, number)
            stages = compose_stages(self._setup.composer, case, self._setup.folder / attempt.folder)
            flight = self._flight(case, attempt, stages)
            found[flight.task.name] = flight, run
        names = self._setup.scheduler.adopt([flight.task for flight, _ in found.values()])
        self._flights |= {name: found[name][0] for name in names}
        return [found[name][1] for name in names]

    def wait(self) -> Sequence[Attempt]:
        """Submit what is held, then wait for what lands next (see Crew)."""
        with self._told():
            self._submit()
            if self._refused:
                ended, self._refused = self._refused, []
                return ended
            landings = self._setup.scheduler.wait()
            self._require_room(landings)
            return [self._finish(self._flights.pop(landing.name), landing) for landing in landings]

    def _require_room(self, landings: Sequence[Landing]) -> None:
        """Raise DiskFull where no room is left by now: what landed may be cut short, and must not count.

        Nor may the next session take it over: without its record a task has not landed.
        """
        if not landings:
            return
        try:
            require_room(self._setup.folder)
        except DiskFull:
            for landing in landings:
                for name in ("landed", "progress"):
                    Beneath(self._flights[landing.name].task.folder, name).remove()
            raise

    def _wait_for(self, names: Collection[str], reason: str) -> None:
        for name in names:
            if name in self._flights:
                self._setup.on_wait(self._flights[name].attempt, self._setup.composer.signs.text(reason))

    def abandon(self) -> None:
        """Cancel every job (see Crew)."""
        self._to_submit.clear()
        self._setup.scheduler.cancel(list(self._flights))
        self._flights.clear()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise what keeps the campaign's files from being written, such as a full disk, as CampaignError."""
        try:
            yield
        except OSError as error:
            raise CampaignError.from_os(self._setup.folder, error) from error

    def _attempt(self, case: Case, run: Run, number: int) -> Attempt:
        return Attempt(
            case=case.id,
            block=run.block,
            attempt=number,
            state=State.RUNNING,
            started_at=self._setup.clock(),
        )

    def _flight(self, case: Case, attempt: Attempt, stages: tuple[Staged, ...]) -> _Flight:
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
        }
        counter = self._counter(case, task.network)
        task = msgspec.structs.replace(
            task,
            labels=labels,
            sampler=self._sampler(case),
            counter=counter,
            keeps_storage=setup.keeps_storage,
        )
        return _Flight(case, attempt, stages, task)

    def _sampler(self, case: Case) -> SharedSampler | None:
        """Return what watches the nodes of `case`; None where nothing does."""
        program, period_s = self._setup.sampler, self._setup.plan.telemetry.period_of(case.platform)
        return None if program is None or period_s is None else SharedSampler(program, period_s)

    def _counter(self, case: Case, network: Network | None) -> SharedCounter | None:
        """Return what counts the packets of `case`; None where nothing does."""
        program = self._setup.counter
        if program is None or network is None or not self._setup.plan.telemetry.counts_packets(case.platform):
            return None
        return SharedCounter(program, network.interface)

    def _telemetry(self, flight: _Flight, landing: Landing) -> dict[str, float]:
        if flight.task.sampler is None:
            return {}
        network = flight.task.network
        hosts = {node: Host() for node in landing.nodes}
        span = Span(hosts=hosts, epochs=landing.epochs, interface=network.interface if network else None)
        return dict(self._setup.settle(flight.task.folder, span))

    def _submit(self) -> None:
        """Submit what is held as one job; what the scheduler refuses, the infrastructure has failed."""
        tasks, self._to_submit = self._to_submit, []
        if not tasks:
            return
        try:
            self._setup.scheduler.submit(tasks)
        except BackendError as error:
            for task in tasks:
                attempt = self._flights.pop(task.name).attempt
                self._refused.append(
                    msgspec.structs.replace(
                        attempt,
                        state=State.FAILED,
                        reason=self._setup.composer.signs.text(str(error)),
                        is_infrastructure=True,
                    )
                )

    def _keep_products(self, flight: _Flight, landing: Landing) -> tuple[Staged, str]:
        """Keep what the stages that ended well have made; return the last one, and what it lacks."""
        cache = StageCache(self._setup.folder / "cache")
        names = [one.stage.name for one in flight.stages]
        n_ran = names.index(landing.step) + 1 if landing.step in names else 0
        lacking = ""
        for number, one in enumerate(flight.stages[:n_ran], 1):
            settle_outputs(one, flight.task.folder)
            if number < n_ran or landing.exit.code == 0:
                lacking = lacking or keep(cache, one, flight.task.folder)
        return flight.stages[max(n_ran, 1) - 1], lacking

    def _finish(self, flight: _Flight, landing: Landing) -> Attempt:
        setup, case = self._setup, flight.case
        work = flight.task.folder
        last, lacking = self._keep_products(flight, landing)
        if flight.task.counter is not None:
            setup.gather(work, landing.nodes)
        attempt = msgspec.structs.replace(
            flight.attempt,
            started_at=landing.started_at or flight.attempt.started_at,
            elapsed_s=landing.exit.elapsed_s,
            exit_code=landing.exit.code,
            signal=landing.exit.signal,
            hosts=list(landing.nodes),
            traffic=difference(setup.traffic(landing.before), setup.traffic(landing.after)),
            environment=setup.environment(case, landing) if landing.before or landing.facts else None,
            telemetry=self._telemetry(flight, landing),
            clock_set_s=landing.clock_set_s,
            **_spans(flight.attempt.started_at or 0.0, setup.clock(), landing),
        )
        if landing.reason:
            reason = setup.composer.signs.text(landing.reason)
            return msgspec.structs.replace(attempt, state=State.FAILED, reason=reason, check="job")
        name = last.stage.name if len(flight.stages) > 1 else ""
        end = StagesEnd(landing.exit, last.stdout, last.stderr, name, lacking)
        names = setup.hostnames(attempt)
        judged = judge(attempt, case, setup.composer, end, work, setup.plan.timeout_s, names)
        judged = owned_by_storage(judged, landing.room, flight.task.storage_path)
        if judged.state is State.DONE and landing.problems:
            return msgspec.structs.replace(
                judged,
                state=State.INVALID,
                reason=setup.composer.signs.text("; ".join(landing.problems[:3])),
                check="placement",
                series=[],
            )
        return judged


class _Spans(TypedDict):
    queued_s: float
    starting_s: float
    ending_s: float


def _spans(submitted_at: float, landed_at: float, landing: Landing) -> _Spans:
    """Return what a task took besides its program, between two moments of this machine's clock.

    When the program began is told by its node, whose clock may be another: what is before and after it lies
    within the whole, and only its parts are off by the difference of the clocks.
    """
    whole_s = max(landed_at - submitted_at, 0.0)
    besides_s = max(whole_s - landing.exit.elapsed_s, 0.0)
    began_at = landing.epochs[0].began_at if landing.epochs else landing.started_at
    before_s = besides_s if began_at is None else min(max(began_at - submitted_at, 0.0), besides_s)
    placed_at = landing.started_at if landing.started_at is not None else began_at
    queued_s = landing.queued_s
    if queued_s is None:
        queued_s = before_s if placed_at is None else max(placed_at - submitted_at, 0.0)
    queued_s = min(queued_s, before_s)
    return _Spans(queued_s=queued_s, starting_s=before_s - queued_s, ending_s=besides_s - before_s)


def make_task(
    composer: Composer,
    case: Case,
    name: str,
    work: Path,
    timeout_s: float,
    stages: Sequence[Staged] | None = None,
    owner: str | None = None,
) -> Task:
    """Return an attempt of `case` in the folder `work` as a task; of all its stages where none are named.

    `owner` names its own folder on the storage path.
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
        network=composer.site.networks[case.network] if case.network else None,
        storage=case.storage,
        storage_path=composer.storage_path(case),
        own_storage=composer.own_storage(case, owner) if composer.needs_own_storage(case) else "",
        labels={"case": case.id},
    )
