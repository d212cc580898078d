"""What differed meanwhile: named in at most five of a hundred studies in which nothing differs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from tare.analysis.causes.correlates import explanations
from tare.core.campaign import Campaign
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.stats.intervals import Floats
from truth.campaigns import Truth, campaigns
from truth.noise import NOISES, lognormal

WATCHED = [
    name
    for name in telemetry_figures()
    if name not in ("total_sent", "total_packets", "sampler_cpu", "sampler_memory")
]
QUIET, NOISY = WATCHED[-14:], WATCHED[:-14]


def watched(n_blocks: int, n_studies: int, shape: str) -> Iterator[Campaign]:
    """Yield campaigns in which both sides do the same: half of the figures are quiet, half are noisy."""
    random = np.random.default_rng(n_blocks)
    for one in campaigns(Truth(blocks=n_blocks), n_studies):
        size = (len(one.attempts), len(WATCHED))
        values = 1e6 * _noise(shape, random, size)
        values[:, -len(QUIET) :] = 1e6 * lognormal(1e-4)(random, (size[0], len(QUIET)))
        attempts = tuple(
            msgspec.structs.replace(attempt, telemetry=dict(zip(WATCHED, row, strict=True)))
            for attempt, row in zip(one.attempts, values.tolist(), strict=True)
        )
        yield msgspec.structs.replace(one, attempts=attempts)


def _noise(shape: str, random: np.random.Generator, size: tuple[int, int]) -> Floats:
    if shape == "sometimes nothing":
        return np.where(random.random(size) < 0.5, 0.0, 1.0)
    if shape == "two levels":
        return np.where(random.random(size) < 0.5, 1.0, 2.0)
    return NOISES[shape](random, size) ** 5


SHAPES = [*NOISES, "sometimes nothing", "two levels"]


def rate(n_blocks: int, n_studies: int, shape: str) -> float:
    """Return the share of studies in which anything is named."""
    return sum(bool(explanations(one)) for one in watched(n_blocks, n_studies, shape)) / n_studies


# of 10 blocks the table of docs/trust.md is made, by tests/truth/other_rates.py
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_blocks", [4, 5])
def test_where_nothing_differs_something_is_named_in_at_most_five_of_a_hundred_studies(
    n_blocks: int, shape: str
) -> None:
    n_studies = 80
    assert rate(n_blocks, n_studies, shape) <= 0.05 + 3 * (0.05 * 0.95 / n_studies) ** 0.5
