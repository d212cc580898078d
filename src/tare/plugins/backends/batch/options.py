"""The options of a platform that all batch systems share."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Annotated, TypeVar

from msgspec import Meta

from tare.core.backend_options import QueueOptions
from tare.core.fields import Count, Word
from tare.core.site import Platform

_START_AND_END_S = 60  # added to a task's time-out, for probes, slow starts and a slow kill


def minutes_of(timeouts_s: Sequence[float]) -> int:
    """Return the time limit of a job whose tasks have these time-outs, in minutes."""
    return math.ceil(sum(timeout_s + _START_AND_END_S for timeout_s in timeouts_s) / 60)


class JobMode(enum.StrEnum):
    """How runs become jobs."""

    JOB = "job"
    """One job for each run. Short jobs suit a scheduler that fills gaps."""
    PACKED = "packed"
    """One job for a block. Its runs follow each other directly, so that all have the same nodes."""


class JobOptions(QueueOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How runs become jobs, and where jobs are submitted."""

    mode: Annotated[JobMode, Meta(description="A job a run, or a block in one job.", examples=["packed"])] = (
        JobMode.JOB
    )
    in_flight: Annotated[Count, Meta(description="The most jobs at a time.", examples=[50])] = 10
    login: Annotated[
        Word | None,
        Meta(description="The host where its commands are called; default: here.", examples=["login1"]),
    ] = None

    @property
    def is_packed(self) -> bool:
        """Return whether a block's runs share one job (see BackendOptions)."""
        return self.mode is JobMode.PACKED

    def job_minutes(self, timeouts_s: Sequence[float]) -> int | None:
        """Return the time limit of a job (see BackendOptions)."""
        return minutes_of(timeouts_s)


OptionsT = TypeVar("OptionsT", bound=JobOptions)


def options_of(platform: Platform, kind: type[OptionsT]) -> OptionsT:
    """Return the options of a platform, which are of `kind`. Raises TypeError for another backend's."""
    if isinstance(platform.options, kind):
        return platform.options
    raise TypeError(f"a platform of backend {platform.backend} has no {kind.__name__}")
