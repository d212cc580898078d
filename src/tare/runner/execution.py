"""Run one attempt and judge it: done, failed or invalid, and why."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.compose import Composer
from tare.errors import BackendError, CampaignError, DiskFull
from tare.model.attempt import Attempt, State, Traffic, gather_series
from tare.model.backend import Backend, Exit, Job
from tare.model.case import Case, Run
from tare.model.launch import Invocation
from tare.model.plan import Plan
from tare.model.workload import Parsed, Stage, Workload
from tare.runner.cache import StageCache, stage_keys
from tare.runner.transport import prove

_LEAST_ROOM = 64 * 1024  # bytes; with less, an output may be cut short without anybody noticing
_TAIL = 300  # characters of an output that a reason quotes


class Outcome(NamedTuple):
    """How an attempt came out, before its numbers are kept."""

    state: State
    reason: str = ""
    check: str = ""
    is_infrastructure: bool = False


class Executor(msgspec.Struct, frozen=True, kw_only=True):
    """Runs attempts of the campaign in `folder`, an absolute path.

    `counters` returns what has crossed each interface of the hosts so far; `environment` the hash of
    the recorded facts of the hosts that a case uses. `label` prefixes the marks of its processes.
    """

    folder: Path
    plan: Plan
    composer: Composer
    backend: Backend
    counters: Callable[[Sequence[str | None]], Traffic]
    environment: Callable[[Case], str | None]
    label: str
    clock: Callable[[], float] = time.time

    def execute(self, case: Case, run: Run, number: int) -> Attempt:
        """Run attempt `number` of `run` and return what came of it.

        Raises DiskFull when there is no room for its evidence; the attempt must then not count.
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
        require_room(self.folder)
        try:
            attempt, end = self._carry_out(attempt, case)
        except BackendError as error:
            return msgspec.structs.replace(
                attempt, state=State.FAILED, reason=str(error), is_infrastructure=True
            )
        except OSError as error:
            raise CampaignError.from_os(self.folder, error) from error
        require_room(self.folder)
        return self._judge(attempt, case, self.folder / attempt.folder, end)

    def _carry_out(self, attempt: Attempt, case: Case) -> tuple[Attempt, _StagesEnd]:
        """Run the stages; return the attempt with what was seen of it, and how they ended."""
        environment = self.environment(case)
        work = self.folder / attempt.folder
        stages = self._prepare(case, work)
        hosts: list[str | None] = list(attempt.hosts) if self.composer.head(case) else [None]
        before = self.counters(hosts)
        end = self._run_stages(
            case, stages, work, f"{self.label}{case.id}/{attempt.block}.{attempt.attempt};"
        )
        attempt = msgspec.structs.replace(
            attempt,
            elapsed_s=end.exit.elapsed_s,
            exit_code=end.exit.code,
            signal=end.exit.signal,
            traffic=_difference(before, self.counters(hosts)),
            environment=environment,
        )
        return attempt, end

    def _prepare(self, case: Case, work: Path) -> list[tuple[Stage, Invocation]]:
        """Make the attempt's folder, with the exact commands and the input files in it."""
        _make_folder(work)
        stages = list(self.composer.compose(case, work))
        head = self.composer.head(case)
        record = [
            {"stage": stage.name, "host": head, "argv": command.argv, "env": command.env}
            for stage, command in stages
        ]
        (work / "command.json").write_bytes(msgspec.json.encode(record))
        for stage, _ in stages:
            for name, text in stage.files.items():
                path = work / name
                if not path.resolve().is_relative_to(work.resolve()):
                    raise CampaignError(f"{case.workload}: input file {name!r} is outside its working folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return stages

    def _run_stages(
        self, case: Case, stages: list[tuple[Stage, Invocation]], work: Path, label: str
    ) -> _StagesEnd:
        """Run the stages in order until one fails; what a stage keeps is not made twice."""
        cache = StageCache(self.folder / "cache")
        keys = stage_keys(self.composer, case) if len(stages) > 1 else (None,)
        elapsed_s = 0.0
        for (stage, invocation), key in zip(stages, keys, strict=True):
            if key is not None and cache.restore(key, work):
                continue
            prefix = "" if stage is stages[-1][0] else f"{stage.name}."
            job = Job(
                label=label,
                invocation=invocation,
                host=self.composer.head(case),
                folder=work,
                stdout=f"{prefix}stdout",
                stderr=f"{prefix}stderr",
                timeout_s=max(self.plan.timeout_s - elapsed_s, 0.001),
            )
            ended = self.backend.run(job)
            elapsed_s += ended.elapsed_s
            _drop_if_empty(work / job.stderr)
            lacking = ""
            if ended.code == 0 and key is not None:
                lacking = _keep(cache, key, stage, work)
            if ended.code != 0 or ended.is_timeout or ended.fault or lacking:
                break
        ended = msgspec.structs.replace(ended, elapsed_s=elapsed_s)
        return _StagesEnd(ended, job, stage.name if len(stages) > 1 else "", lacking)

    def _judge(self, attempt: Attempt, case: Case, work: Path, end: _StagesEnd) -> Attempt:
        workload = self.composer.workloads[case.workload]
        outcome = _judge_exit(end, self.plan.timeout_s, work)
        evidence = ""
        parsed = Parsed()
        if outcome is None:
            parsed = parse_output(workload.expecting(case), work)
            outcome = judge_figures(workload, parsed)
        if (
            outcome.state is State.DONE
            and workload.needs_transport
            and case.layout.nodes > 1
            and case.network
        ):
            site = self.composer.site
            proof = prove(
                site.networks[case.network],
                attempt.hosts,
                attempt.traffic,
                payload_bytes=parsed.payload_bytes,
                management=site.management,
            )
            evidence = proof.evidence
            if proof.fault:
                outcome = Outcome(State.INVALID, proof.fault, check="transport")
        is_done = outcome.state is State.DONE
        better = {fom.name: fom.better for fom in workload.foms}
        return msgspec.structs.replace(
            attempt,
            state=outcome.state,
            reason=outcome.reason,
            check=outcome.check,
            is_infrastructure=outcome.is_infrastructure,
            transport=evidence,
            series=gather_series(parsed.measurements, better) if is_done else [],
        )


def _make_folder(work: Path) -> None:
    try:
        work.mkdir()
    except FileNotFoundError:  # the first attempt of its case
        work.mkdir(parents=True)


class _StagesEnd(NamedTuple):
    """How the last stage that ran ended; `lacking` says what it should have made and did not."""

    exit: Exit
    job: Job
    stage: str
    lacking: str = ""


def _keep(cache: StageCache, key: str, stage: Stage, work: Path) -> str:
    """Keep what `stage` made; return what it did not make, if anything."""
    try:
        cache.keep(key, stage, work)
    except FileNotFoundError as error:
        return f"made no {Path(error.filename).name}"
    return ""


def _drop_if_empty(path: Path) -> None:
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


def parse_output(workload: Workload, work: Path) -> Parsed:
    """Return what the workload's parser finds in its output file; a missing file is a problem."""
    path = work / workload.output
    if "*" in workload.output:  # some programs put the date into the name of their report
        path = max(work.glob(workload.output), default=path)
    try:
        return parse_file(workload, path)
    except FileNotFoundError:
        return Parsed(problems=(f"the program wrote no {workload.output}",))
    except OSError as error:
        return Parsed(problems=(f"{workload.output} cannot be read: {error.strerror}",))


def parse_file(workload: Workload, path: Path) -> Parsed:
    """Return what the workload's parser finds in the file at `path`. Raises OSError as opening it does."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        try:
            return workload.parse(lines)
        except Exception as error:  # a plug-in's parser may do anything; the run is on record all the same
            return Parsed(problems=(f"the parser of {workload.name} broke: {type(error).__name__}: {error}",))


def require_room(folder: Path) -> None:
    """Raise DiskFull unless the file system of `folder` has room for one more attempt's evidence."""
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < _LEAST_ROOM:
        raise DiskFull(folder)


def _judge_exit(end: _StagesEnd, timeout_s: float, work: Path) -> Outcome | None:
    """Return why the programs failed, or None when all of them ended well."""
    ended = end.exit
    where = f"stage {end.stage} " if end.stage else ""
    if ended.fault:
        return Outcome(State.FAILED, f"{where}{ended.fault}{_tail(work, end.job)}", is_infrastructure=True)
    if ended.is_timeout:
        return Outcome(
            State.FAILED,
            f"{where}was still running after {timeout_s:g} s and was ended (time-out)",
            "timeout",
        )
    if ended.signal is not None:
        return Outcome(
            State.FAILED, f"{where}ended by signal {_signal_name(ended.signal)}{_tail(work, end.job)}"
        )
    if end.lacking:
        return Outcome(State.FAILED, f"{where}{end.lacking}{_tail(work, end.job)}", "stage")
    if ended.code != 0:
        return Outcome(State.FAILED, f"{where}exit code {ended.code}{_tail(work, end.job)}", "exit code")
    return None


def judge_figures(workload: Workload, parsed: Parsed) -> Outcome:
    """Return whether what was read counts, and if not, why."""
    if parsed.problems:
        return Outcome(State.INVALID, "; ".join(parsed.problems[:3]), check="output")
    if not parsed.is_complete:
        return Outcome(State.INVALID, "the output is not complete", check="complete")
    if workload.foms and not parsed.measurements:
        return Outcome(State.INVALID, "the output holds no figure of merit", check="output")
    return Outcome(State.DONE)


def _tail(work: Path, job: Job) -> str:
    """Return the end of what the program wrote, from standard error if there is any, to quote it."""
    for name in (job.stderr, job.stdout):
        try:
            with (work / name).open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - 4 * _TAIL, 0))
                text = file.read().decode(errors="replace").strip()
        except OSError:
            continue
        if text:
            return ": " + " ".join(text[-_TAIL:].split())
    return ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _difference(before: Traffic, after: Traffic) -> Traffic:
    return {
        host: {
            name: counters.since(before[host][name])
            for name, counters in interfaces.items()
            if name in before.get(host, {})
        }
        for host, interfaces in after.items()
    }
