"""A queue that takes no more jobs of a user is waited for; one that never will is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.simulated_slurm import FULL, SimulatedSlurm
from backends.slurm_scheduler.conftest import Clock, task
from tare.core.errors import BackendError
from tare.plugins.backends.batch.queue import QueueFullError, request_of
from tare.plugins.backends.batch.scheduler import BatchScheduler
from tare.plugins.backends.slurm.commands import Slurm


def test_a_job_that_a_limit_of_jobs_refuses_is_submitted_when_others_have_ended(
    scheduler: BatchScheduler,
    slurm: SimulatedSlurm,
    clock: Clock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[tuple[str, ...], str]] = []
    scheduler.report_waits(lambda names, reason: told.append((tuple(names), reason)))
    slurm.most_jobs = 1
    scheduler.submit([task(tmp_path)])
    sleep, naps = clock.sleep, iter(range(100))

    def run_meanwhile(seconds: float) -> None:
        sleep(seconds)
        if next(naps) == 3:
            slurm.run(1)

    monkeypatch.setattr(scheduler, "_sleep", run_meanwhile)
    scheduler.submit([task(tmp_path, 2)])
    assert list(slurm.in_queue) == ["1", "2"]
    names, reason = told[0]
    assert names == ("tare-abc-2",)
    assert reason.startswith("Slurm takes no more jobs until others have ended: sbatch: error: QOSMaxSubmit")
    assert told[1:] == [(("tare-abc-2",), "")], "each is told once"


def test_a_job_that_ends_while_another_is_refused_leaves_the_other_to_be_submitted(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm.most_jobs = 1
    scheduler.submit([task(tmp_path)])
    ask = slurm.jobs

    def ended_meanwhile(ids: object = ()) -> object:
        slurm.run(1)
        return ask()

    monkeypatch.setattr(slurm, "jobs", ended_meanwhile)
    scheduler.submit([task(tmp_path, 2)])
    assert list(slurm.in_queue) == ["1", "2"]


def test_a_limit_that_allows_no_job_is_a_refusal(
    scheduler: BatchScheduler, slurm: SimulatedSlurm, tmp_path: Path
) -> None:
    slurm.most_jobs = 0
    with pytest.raises(BackendError, match="QOSMaxSubmitJobPerUserLimit"):
        scheduler.submit([task(tmp_path)])


@pytest.mark.parametrize(
    "limit", ["QOSMaxSubmitJobPerUserLimit", "AssocGrpSubmitJobsLimit", "MaxSubmitJobsPerAccount"]
)
def test_sbatch_s_words_for_a_limit_of_jobs_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    sbatch = tmp_path / "sbatch"
    words = FULL.replace("QOSMaxSubmitJobPerUserLimit", limit)
    sbatch.write_text(f'#!/bin/sh\nprintf %s "{words}" >&2\nexit 1\n')
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(QueueFullError, match=limit):
        Slurm((), None, {}).submit(script, request_of([task(tmp_path)]))
