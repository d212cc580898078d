"""How runs of the same thing differ: factors that multiply what a run would have measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tare.stats.intervals import Floats

Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]
"""Draws factors of a shape whose first axis is the runs in the order of time; the rest are independent."""


def normal(spread: float = 0.02) -> Noise:
    """Return noise that adds, as a share of the level."""
    return lambda random, shape: np.maximum(1 + spread * random.standard_normal(shape), 0.01)


def lognormal(spread: float = 0.02) -> Noise:
    """Return noise that multiplies: its logarithm is normal."""
    return lambda random, shape: np.exp(spread * random.standard_normal(shape))


def t3(spread: float = 0.02) -> Noise:
    """Return noise whose logarithm has Student's t with 3 degrees of freedom: heavy tails on both sides."""
    return lambda random, shape: np.exp(spread * random.standard_t(3, shape))


def exponential(spread: float = 0.1) -> Noise:
    """Return a floor that nothing is faster than, and exponential delays above it."""
    return lambda random, shape: 1 + spread * random.standard_exponential(shape)


def bimodal(spread: float = 0.02, *, slower: float = 1.1, share: float = 0.3) -> Noise:
    """Return two levels, of which a `share` of the runs has the slower one: pages placed well or badly."""
    return lambda random, shape: (
        np.where(random.random(shape) < share, slower, 1.0) * lognormal(spread)(random, shape)
    )


def sometimes_slow(spread: float = 0.02, *, slower: float = 1.5, share: float = 0.1) -> Noise:
    """Return one run in ten that is slow: a daemon, a page fault storm, a retransmission."""
    return bimodal(spread, slower=slower, share=share)


def autocorrelated(spread: float = 0.02, *, r: float = 0.7) -> Noise:
    """Return log-normal noise of which a share `r` lasts from one run to the next (AR 1, stationary)."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        steps = spread * random.standard_normal(shape)
        for run in range(1, shape[0]):
            steps[run] = r * steps[run - 1] + np.sqrt(1 - r * r) * steps[run]
        return np.exp(steps)

    return draw


NOISES: dict[str, Noise] = {
    "normal": normal(),
    "log-normal": lognormal(),
    "t3": t3(),
    "exponential": exponential(),
    "bimodal": bimodal(),
    "one in ten slow": sometimes_slow(),
}
"""The shapes that every promise is held against: independent from run to run."""


def sides(
    noise: Noise, n_blocks: int, n_studies: int, *, seed: int, contender: Noise | None = None
) -> tuple[Floats, Floats]:
    """Return both sides of many studies of nothing at once, blocks × studies, without any campaign.

    Each side has its noise to itself, so that the noise of a side that is autocorrelated lasts from block to
    block. `contender` has the noise of its own if given.
    """
    random = np.random.default_rng(seed)
    return noise(random, (n_blocks, n_studies)), (contender or noise)(random, (n_blocks, n_studies))
