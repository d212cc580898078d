"""Campaigns whose runs are slowed in a known way, for tests of what finds it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tare.core.attempt import Attempt, Series
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.workload import Better


def slowed(campaign: Campaign, factor: Callable[[Case, int], float]) -> Campaign:
    """Return `campaign` with every run slower by the factor of its case and block: times up, rates down."""
    cases = campaign.cases
    attempts = tuple(_slowed(one, factor(cases[one.case], one.block)) for one in campaign.attempts)
    return msgspec.structs.replace(campaign, attempts=attempts)


def _slowed(attempt: Attempt, factor: float) -> Attempt:
    return msgspec.structs.replace(attempt, series=[_scaled(one, factor) for one in attempt.series])


def _scaled(series: Series, factor: float) -> Series:
    by = 1 / factor if series.better is Better.HIGHER else factor
    return msgspec.structs.replace(series, values=[value * by for value in series.values])
