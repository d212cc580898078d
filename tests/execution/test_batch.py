"""What goes wrong in the campaign's folder while a batch system runs its attempts."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from execution.test_execution import SITE, DoubleLauncher, DoubleRuntime
from support.doubles import DoubleWorkload, MemoryLog
from tare.core.attempt import Attempt, State
from tare.core.case import Case, Layout, Run
from tare.core.errors import DiskFull
from tare.core.job import Exit
from tare.core.plan import Plan
from tare.core.scheduler import Held, JobResult, OnWait, Task
from tare.core.site import Platform, Site
from tare.core.study import Repeats
from tare.core.telemetry import Epoch, Span
from tare.core.workload import Stage
from tare.execution import job_spans, staging
from tare.execution.batch import BatchExecutor, BatchSetup
from tare.execution.compose import Composer
from tare.execution.loop import Loop
from tare.plugins.backends.batch.options import JobMode
from tare.plugins.backends.slurm.options import SlurmOptions

CASE = Case(id="c", workload="double", platform="bare", network="host", layout=Layout(nodes=1, ranks=1))


class PromptScheduler:
    """Stands for a batch system whose tasks have ended well as soon as they are submitted."""

    def __init__(self, *, is_full: bool = False) -> None:
        self._names: list[str] = []
        self.jobs: list[list[str]] = []
        self._is_full = is_full

    def report_waits(self, on_wait: OnWait) -> None:
        self.on_wait = on_wait

    def submit(self, tasks: Sequence[Task]) -> None:
        if self._is_full:
            raise OSError(errno.ENOSPC, "No space left on device", "job.sh")
        self.jobs.append([task.name.split("-", 2)[2] for task in tasks])
        self._names += [task.name for task in tasks]
        for task in tasks:
            (task.folder / "stdout").write_text("value: 1.5\n")
            (task.folder / "stderr").touch()

    def adopt(self, tasks: Sequence[Task]) -> Collection[str]:
        return ()

    def wait(self) -> Sequence[JobResult]:
        names, self._names = self._names, []
        return [JobResult(name=name, exit=Exit(code=0), nodes=("n1",)) for name in names]

    def held(self, name: str) -> Held | None:
        return None

    def cancel(self, names: Collection[str]) -> None:
        self._names = []


class ChainScheduler(PromptScheduler):
    """The same for a chain: its first task writes a mesh and figures, each later one nothing."""

    def submit(self, tasks: Sequence[Task]) -> None:
        self._names = [task.name for task in tasks]
        for task in tasks:
            self.steps = [step.name for step in task.steps]
            self.found = sorted(str(one.relative_to(task.folder)) for one in task.folder.glob("out/*"))
            for step in task.steps:
                (task.folder / step.stdout).touch()
                (task.folder / step.stderr).touch()
            if "mesh" in self.steps:
                (task.folder / "out").mkdir()
                for name in ("mesh", "figures"):
                    (task.folder / "out" / name).write_text("value: 1.5\n")

    def wait(self) -> Sequence[JobResult]:
        return [JobResult(name=name, exit=Exit(code=0), step="run", nodes=("n1",)) for name in self._names]


def full(folder: Path, span: Span) -> Mapping[str, float]:
    raise OSError(errno.ENOSPC, "No space left on device", str(folder / "telemetry.jsonl.gz"))


def executor(
    folder: Path,
    scheduler: PromptScheduler,
    on_wait: Callable[[Attempt, str], None] = lambda attempt, reason: None,
    *,
    workload: DoubleWorkload | None = None,
    settle: Callable[[Path, Span], Mapping[str, float]] = full,
    site: Site = SITE,
) -> BatchExecutor:
    workloads = {"double": workload or DoubleWorkload(argv=("true",), needs_transport=False)}
    setup = BatchSetup(
        folder=folder,
        plan=Plan(study="s", site="here", cases=(CASE,)),
        composer=Composer(site, workloads, lambda _: DoubleLauncher(), lambda _: DoubleRuntime()),
        scheduler=scheduler,
        campaign="0123456789ab",
        traffic=lambda files: {},
        environment=lambda case, job_result: None,
        sampler=folder / "sampler.py",
        settle=settle,
        on_wait=on_wait,
    )
    return BatchExecutor(setup)


def test_a_disk_that_is_full_when_a_job_has_ended_is_reported_as_that(tmp_path: Path) -> None:
    one = executor(tmp_path, PromptScheduler())
    one.start(CASE, Run(1, "c"), 1)
    with pytest.raises(DiskFull, match="free some space"):
        one.wait()


def test_what_a_program_left_in_the_place_of_a_file_makes_its_run_invalid(tmp_path: Path) -> None:
    def obstructed(folder: Path, span: Span) -> Mapping[str, float]:
        raise OSError(errno.EISDIR, "a folder, not a file", str(folder / "telemetry.jsonl.gz"))

    one = executor(tmp_path, PromptScheduler(), settle=obstructed)
    one.start(CASE, Run(1, "c"), 1)
    [ended] = one.wait()
    assert (ended.state, ended.is_infrastructure) == (State.INVALID, False)
    assert ended.reason == "attempts/c/1.1/telemetry.jsonl.gz cannot be written: a folder, not a file"


def test_a_case_whose_folder_is_a_file_is_invalid_and_not_submitted(tmp_path: Path) -> None:
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts/c").touch()
    scheduler = PromptScheduler()
    one = executor(tmp_path, scheduler)
    one.start(CASE, Run(1, "c"), 1)
    [ended] = one.wait()
    assert (ended.state, ended.reason) == (
        State.INVALID,
        "attempts/c cannot be written: a file, not a folder",
    )
    assert scheduler.jobs == []


def test_what_ended_on_a_full_disk_does_not_count_now_or_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its output may be cut short, in a place that no parser sees."""
    one = executor(tmp_path, PromptScheduler())
    one.start(CASE, Run(1, "c"), 1)
    landed = tmp_path / "attempts/c/1.1/landed"
    landed.touch()
    monkeypatch.setattr(staging, "_LEAST_SPACE", float("inf"))
    with pytest.raises(DiskFull, match="no space left on this file system"):
        one.wait()
    assert not landed.exists()


def test_a_disk_that_is_full_when_a_job_is_submitted_is_reported_as_that(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="free some space"):
        executor(tmp_path, PromptScheduler(is_full=True)).start(CASE, Run(1, "c"), 1)


def test_the_reason_for_waiting_is_reported_for_attempts_that_are_under_way(tmp_path: Path) -> None:
    told: list[tuple[Attempt, str]] = []
    scheduler = PromptScheduler()
    one = executor(tmp_path, scheduler, lambda attempt, reason: told.append((attempt, reason)))
    one.start(CASE, Run(1, "c"), 2)
    scheduler.on_wait(["tare-0123456789ab-c-1.2", "another"], "the controller does not answer")
    ((attempt, reason),) = told
    assert (attempt.case, attempt.block, attempt.attempt) == ("c", 1, 2)
    assert reason == "the controller does not answer"


def test_a_later_run_does_not_find_the_figures_of_the_one_that_made_its_mesh(tmp_path: Path) -> None:
    """Products are cached when the whole job is over; by then the measured stage wrote beside them."""
    chain = (Stage(name="mesh", argv=("mesher",), keeps=("out",)), Stage(argv=("solver",)))
    workload = DoubleWorkload(stage_list=chain, output="out/figures", needs_transport=False)
    scheduler = ChainScheduler()
    one = executor(tmp_path, scheduler, workload=workload, settle=lambda folder, span: {})
    one.start(CASE, Run(1, "c"), 1)
    [first] = one.wait()
    assert (first.state, scheduler.steps, scheduler.found) == (State.DONE, ["mesh", "run"], [])
    one.start(CASE, Run(2, "c"), 1)
    [second] = one.wait()
    assert (scheduler.steps, scheduler.found) == (["run"], ["out/mesh"])
    assert second.state is State.INVALID
    assert "wrote no out/figures" in second.reason


def packed(partition: str, mpi: str | None = None) -> Platform:
    options = SlurmOptions(mode=JobMode.PACKED, partition=partition, mpi=mpi)
    return Platform(launcher="none", backend="slurm", options=options)


def jobs_of(folder: Path, site: Site, n_blocks: int) -> list[list[str]]:
    """Return the runs of each job in which a campaign of a case on each platform is submitted."""
    scheduler = PromptScheduler()
    cases = tuple(msgspec.structs.replace(CASE, id=name, platform=name) for name in site.platforms)
    plan = Plan(study="s", site="here", cases=cases, repeats=Repeats(min=n_blocks, max=n_blocks), seed=1)
    one = executor(folder, scheduler, settle=lambda folder, span: {}, site=site)
    Loop(plan, MemoryLog(), one).run()
    return [sorted(job) for job in scheduler.jobs]


def test_a_packed_block_is_a_job_and_the_next_block_is_another(tmp_path: Path) -> None:
    platforms = {"a": packed("p", mpi="pmix"), "b": packed("p")}
    site = msgspec.structs.replace(SITE, platforms=platforms)
    assert jobs_of(tmp_path, site, 3) == [["a-1.1", "b-1.1"], ["a-2.1", "b-2.1"], ["a-3.1", "b-3.1"]]


def test_platforms_that_ask_for_other_nodes_share_no_job(tmp_path: Path) -> None:
    """A job has one partition: the runs of the second platform were in the first one's."""
    platforms = {"a": packed("p"), "b": packed("q")}
    site = msgspec.structs.replace(SITE, platforms=platforms)
    assert sorted(jobs_of(tmp_path, site, 2)) == [["a-1.1"], ["a-2.1"], ["b-1.1"], ["b-2.1"]]


def test_a_job_on_one_node_asks_for_the_ranks_of_the_run_and_not_of_its_compiler() -> None:
    stages = (Stage(name="compile", argv=("mpicc",), layout=Layout()), Stage(argv=("solver",)))
    workloads = {"double": DoubleWorkload(stage_list=stages)}
    composer = Composer(SITE, workloads, lambda _: DoubleLauncher(), lambda _: DoubleRuntime())
    case = msgspec.structs.replace(CASE, layout=Layout(ranks=8, ranks_per_node=8))
    assert composer.widest(case) == case.layout


def landed(began_at: float, queued_s: float | None = None) -> JobResult:
    """Return a task that was on its nodes for 3 s before its program ran for 10 s."""
    program = Epoch("run", began_at + 3, began_at + 13)
    ended = Exit(elapsed_s=10.0)
    return JobResult(name="t", exit=ended, started_at=began_at, epochs=(program,), queued_s=queued_s)


@pytest.mark.parametrize(
    ("job_result", "spans"),
    [
        pytest.param(landed(105.0), (5, 3, 2), id="its nodes tell when it began"),
        pytest.param(landed(105.0, queued_s=2.0), (2, 6, 2), id="the batch system tells when it had nodes"),
        pytest.param(landed(3705.0), (10, 0, 0), id="the clock of its node is ahead"),
        pytest.param(landed(-3500.0), (0, 0, 10), id="the clock of its node is behind"),
        pytest.param(JobResult(name="t", exit=Exit()), (20, 0, 0), id="it never began"),
    ],
)
def test_the_time_in_a_batch_system_is_separate_from_that_of_the_program(
    job_result: JobResult, spans: tuple[float, float, float]
) -> None:
    found = job_spans.spans(100.0, 120.0, job_result)
    assert (found["queued_s"], found["starting_s"], found["ending_s"]) == spans


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        (None, (120.0, 20.0, 0.0, [])),
        (Held(105.0, ("n1", "n2")), (105.0, 5.0, 15.0, ["n1", "n2"])),
        (Held(90.0), (100.0, 0.0, 20.0, [])),
        (Held(3700.0), (120.0, 20.0, 0.0, [])),
    ],
    ids=["queued", "on nodes", "a clock that is behind", "a clock that is ahead"],
)
def test_an_attempt_that_has_not_ended_took_time_in_the_queue_and_on_nodes(
    held: Held | None, expected: tuple[float, float, float, list[str]]
) -> None:
    begun = Attempt(case="c", block=1, attempt=1, state=State.RUNNING, started_at=100.0)
    found = job_spans.until_now(begun, held, 120.0)
    assert (found.started_at, found.queued_s, found.elapsed_s, found.hosts) == expected
