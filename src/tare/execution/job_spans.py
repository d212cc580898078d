"""Divide the time of a task among queue, start, program and end. Pure."""

from __future__ import annotations

from typing import TypedDict

import msgspec

from tare.core.attempt import Attempt
from tare.core.program import around_of
from tare.core.scheduler import Held, JobResult


def until_now(attempt: Attempt, held: Held | None, now: float) -> Attempt:
    """Return an attempt that has not ended, with its times until `now`; without `held`, it is queued.

    Its nodes' clock may differ from this machine's, by which the attempt began.
    """
    submitted_at = min(now if attempt.started_at is None else attempt.started_at, now)
    since = now if held is None else min(max(held.since, submitted_at), now)
    return msgspec.structs.replace(
        attempt,
        started_at=since,
        queued_s=since - submitted_at,
        elapsed_s=now - since,
        hosts=list(held.nodes) if held else [],
    )


def without_around(job_result: JobResult) -> JobResult:
    """Return `job_result` without the time and the epochs of prologue and epilogue."""
    around = [one for one in job_result.epochs if around_of(one.stage)]
    if not around:
        return job_result
    elapsed_s = job_result.exit.elapsed_s - sum(one.ended_at - one.began_at for one in around)
    return msgspec.structs.replace(
        job_result,
        exit=msgspec.structs.replace(job_result.exit, elapsed_s=max(elapsed_s, 0.0)),
        epochs=tuple(one for one in job_result.epochs if one not in around),
    )


class Spans(TypedDict):
    """The fields of an attempt for the time outside of its program, in seconds."""

    queued_s: float
    starting_s: float
    ending_s: float


def spans(submitted_at: float, ended_at: float, job_result: JobResult) -> Spans:
    """Return the seconds that a task spent outside its program: queued, starting and ending.

    `submitted_at` and `ended_at` are times of this machine's clock. The time when the program began comes
    from its node, whose clock may differ. So the sum of the three spans is right, and only the division
    between them is wrong by the difference of the clocks.
    """
    whole_s = max(ended_at - submitted_at, 0.0)
    besides_s = max(whole_s - job_result.exit.elapsed_s, 0.0)
    began_at = job_result.epochs[0].began_at if job_result.epochs else job_result.started_at
    before_s = besides_s if began_at is None else min(max(began_at - submitted_at, 0.0), besides_s)
    placed_at = job_result.started_at if job_result.started_at is not None else began_at
    queued_s = job_result.queued_s
    if queued_s is None:
        queued_s = before_s if placed_at is None else max(placed_at - submitted_at, 0.0)
    queued_s = min(queued_s, before_s)
    return Spans(queued_s=queued_s, starting_s=before_s - queued_s, ending_s=besides_s - before_s)
