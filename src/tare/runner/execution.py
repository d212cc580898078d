"""Run one attempt here and now, stage by stage, and see what it did to the network."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from tare.compose import Composer
from tare.errors import BackendError, CampaignError
from tare.model.attempt import Attempt, State, Traffic
from tare.model.backend import Backend, Job
from tare.model.case import Case, Run
from tare.model.plan import Plan
from tare.runner.cache import StageCache
from tare.runner.judging import StagesEnd, judge
from tare.runner.staging import Staged, keep, require_room, settle_outputs, stage_all
from tare.runner.telemetry import Telemetry, Unwatched, Watched


class Executor(msgspec.Struct, frozen=True, kw_only=True):
    """Runs attempts of the campaign in `folder`, an absolute path.

    `counters` returns what has crossed each interface of the hosts so far; `environment` the hash of
    the recorded facts of the hosts that a case uses, `hostnames` what the hosts of an attempt call
    themselves. `label` prefixes the marks of its processes. `telemetry` watches the hosts meanwhile.
    """

    folder: Path
    plan: Plan
    composer: Composer
    backend: Backend
    counters: Callable[[Sequence[str | None]], Traffic]
    environment: Callable[[Composer, Case], str | None]
    label: str
    hostnames: Callable[[Attempt], Collection[str]] = lambda attempt: ()
    clock: Callable[[], float] = time.time
    telemetry: Telemetry = Unwatched()

    def execute_on(self, nodes: tuple[str, ...], case: Case, run: Run, number: int) -> Attempt:
        """Run an attempt on these nodes of the site."""
        there = msgspec.structs.replace(self, composer=self.composer.on(nodes))
        return there.execute(case, run, number)

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
        work, names = self.folder / attempt.folder, self.hostnames(attempt)
        return judge(attempt, case, self.composer, end, work, self.plan.timeout_s, names)

    def _carry_out(self, attempt: Attempt, case: Case) -> tuple[Attempt, StagesEnd]:
        """Run the stages; return the attempt with what was seen of it, and how they ended."""
        environment = self.environment(self.composer, case)
        work = self.folder / attempt.folder
        head = self.composer.head(case)
        stages = stage_all(self.composer, case, work, head)
        hosts: list[str | None] = list(attempt.hosts) if head else [None]
        label = f"{self.label}{case.id}/{attempt.block}.{attempt.attempt};"
        before = self.counters(hosts)
        with self.telemetry.watch(self.composer, case, work) as watched:
            end = self._run_stages(stages, work, attempt.hosts, head, label, watched)
        attempt = msgspec.structs.replace(
            attempt,
            elapsed_s=end.exit.elapsed_s,
            exit_code=end.exit.code,
            signal=end.exit.signal,
            traffic=difference(before, self.counters(hosts)),
            environment=environment,
            telemetry=watched.figures(),
        )
        return attempt, end

    def _run_stages(
        self,
        stages: Sequence[Staged],
        work: Path,
        hosts: Sequence[str],
        head: str | None,
        label: str,
        watched: Watched,
    ) -> StagesEnd:
        """Run the stages in order until one fails; what a stage keeps is not made twice."""
        cache = StageCache(self.folder / "cache")
        elapsed_s = 0.0
        for one in stages:
            if one.key is not None and cache.restore(one.key, work):
                continue
            job = Job(
                label=label,
                invocation=one.invocation,
                host=head,
                folder=work,
                stdout=one.stdout,
                stderr=one.stderr,
                timeout_s=max(self.plan.timeout_s - elapsed_s, 0.001),
                place=self.composer.site.place(work) if head else None,
                hosts=tuple(hosts),
            )
            with watched.stage(one.stage.name):
                ended = self.backend.run(job)
            elapsed_s += ended.elapsed_s
            settle_outputs(one, work)
            lacking = keep(cache, one, work) if ended.code == 0 else ""
            if ended.code != 0 or ended.is_timeout or ended.fault or lacking:
                break
        ended = msgspec.structs.replace(ended, elapsed_s=elapsed_s)
        name = one.stage.name if len(stages) > 1 else ""
        return StagesEnd(ended, one.stdout, one.stderr, name, lacking)


def difference(before: Traffic, after: Traffic) -> Traffic:
    """Return what crossed each interface between two readings, where both have it."""
    return {
        host: {
            name: counters.since(before[host][name])
            for name, counters in interfaces.items()
            if name in before.get(host, {})
        }
        for host, interfaces in after.items()
    }
