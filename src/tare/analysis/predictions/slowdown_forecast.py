"""Predict what a known network will be measured to cost a program, from its messages and its bytes."""

from __future__ import annotations

import numpy as np

from tare.analysis.causes.profiles import mean, profiles
from tare.analysis.predictions.forecast_interval import Error, forecast
from tare.analysis.predictions.prediction import CONFIDENCE
from tare.analysis.predictions.tolerance import Slowdown, narrowing, slowdown
from tare.core.campaign import Campaign
from tare.core.interval import Bounded
from tare.core.prediction import Tolerance
from tare.stats.intervals import Floats

_EXACT = Error(0.0, 1.0)


def with_latency(campaign: Campaign, found: Tolerance, latency_s: float) -> Bounded:
    """Return the ratio of wall times that so much more latency a message makes, with its interval at 90 %.

    The interval holds the scatter of both sides' runs (`forecast`), and goes down to where all non-blocking
    messages are hidden, and up to where large ones take three latencies and receives wait for several.
    """
    slower = slowdown(found, latency_s)
    return _forecast(slower, _walls(campaign, found))


def with_bandwidth(campaign: Campaign, found: Tolerance, bandwidth: float) -> Bounded | None:
    """Return the ratio of wall times that a bandwidth in bytes per second makes, with its interval at 90 %.

    The interval holds the scatter of both sides' runs, and goes down to where the link is busy all the time.
    None if the bandwidth of the program's own network is not known.
    """
    if not found.link_bytes_per_s:
        return None
    most, least = narrowing(found, found.link_bytes_per_s, bandwidth)
    return _forecast(Slowdown(most, least, most), _walls(campaign, found))


def _walls(campaign: Campaign, found: Tolerance) -> Floats:
    return np.array([mean(one.profile.wall_s) for one in profiles(campaign).by_case[found.case].values()])


def _forecast(slower: Slowdown, walls: Floats) -> Bounded:
    known = forecast(1 + slower.value, walls, _EXACT, CONFIDENCE)
    if known.low is None or known.high is None:
        return known
    return Bounded(
        known.value,
        max(0.0, known.low + slower.least - slower.value),
        known.high + slower.most - slower.value,
    )
