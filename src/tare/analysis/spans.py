"""Measure the time that a batch system takes in its queue, before programs start, and after they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tare.core.attempt import Attempt
from tare.core.campaign import Campaign


class Spans(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds; runs that overlap count separately."""

    queued_s: float = 0.0
    starting_s: float = 0.0
    program_s: float = 0.0
    ending_s: float = 0.0

    @property
    def besides_s(self) -> float:
        """Return the time outside of programs, in seconds."""
        return self.queued_s + self.starting_s + self.ending_s


class Quartiles(msgspec.Struct, frozen=True, kw_only=True):
    """The quartiles of `n` runs, in seconds."""

    lower: float
    median: float
    upper: float
    n: int


class PlatformSpans(msgspec.Struct, frozen=True, kw_only=True):
    """The times of the successful runs of one platform."""

    platform: str
    queued: Quartiles
    starting: Quartiles
    program: Quartiles
    ending: Quartiles


def spans_of(attempts: Iterable[Attempt]) -> Spans:
    """Return the total times of attempts; imported attempts have none."""
    own = [one for one in attempts if one.source is None]
    return Spans(
        queued_s=sum(one.queued_s for one in own),
        starting_s=sum(one.starting_s for one in own),
        program_s=sum(one.elapsed_s for one in own),
        ending_s=sum(one.ending_s for one in own),
    )


def platform_spans(campaign: Campaign) -> Iterator[PlatformSpans]:
    """Yield the platforms with time outside of programs, in the order of the plan."""
    cases = campaign.cases
    by_platform: dict[str, list[Attempt]] = {}
    for one in campaign.measured():
        if one.source is None:
            by_platform.setdefault(cases[one.case].platform, []).append(one)
    for platform in dict.fromkeys(case.platform for case in campaign.plan.cases):
        found = by_platform.get(platform, [])
        if any(one.queued_s or one.starting_s or one.ending_s for one in found):
            yield PlatformSpans(
                platform=platform,
                queued=_quartiles([one.queued_s for one in found]),
                starting=_quartiles([one.starting_s for one in found]),
                program=_quartiles([one.elapsed_s for one in found]),
                ending=_quartiles([one.ending_s for one in found]),
            )


def _quartiles(values: list[float]) -> Quartiles:
    import numpy as np

    lower, median, upper = (float(one) for one in np.quantile(values, (0.25, 0.5, 0.75)))
    return Quartiles(lower=lower, median=median, upper=upper, n=len(values))
