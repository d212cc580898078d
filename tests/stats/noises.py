"""Noise of runs as machines make it: blocks × studies of multiplicative noise, seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tare.stats.intervals import Floats

Noise = Callable[[np.random.Generator, tuple[int, int]], Floats]


def normal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return ± 5 % that adds, so that its logarithm is a little skewed."""
    return 1 + 0.05 * random.standard_normal(shape)


def lognormal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return ± 10 % that multiplies."""
    return random.lognormal(0, 0.1, shape)


def bimodal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return ± 2 % about two levels 10 % apart, the slower in 3 of 10 runs: pages placed well or badly."""
    return np.where(random.random(shape) < 0.3, 1.1, 1.0) * random.lognormal(0, 0.02, shape)


def drifting(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return ± 2 % on a machine that slows by 20 % over the study, in time: see `in_turns` for its order."""
    return random.lognormal(0, 0.02, shape) * np.exp(np.linspace(0, 0.2, shape[0]))[:, np.newaxis]


NOISES: dict[str, Noise] = {
    "normal": normal,
    "log-normal": lognormal,
    "bimodal": bimodal,
    "drifting": drifting,
}


def in_turns(noise: Noise, seed: int, n_blocks: int, n_studies: int) -> tuple[Floats, Floats]:
    """Return the noise of both sides, run in blocks: both sides in each, in a random order."""
    random = np.random.default_rng(seed)
    runs = noise(random, (2 * n_blocks, n_studies)).reshape(n_blocks, 2, n_studies)
    is_first = random.random((n_blocks, n_studies)) < 0.5
    return np.where(is_first, runs[:, 0], runs[:, 1]), np.where(is_first, runs[:, 1], runs[:, 0])


def one_after_the_other(noise: Noise, seed: int, n_blocks: int, n_studies: int) -> tuple[Floats, Floats]:
    """Return the noise of both sides, all runs of the reference first."""
    runs = noise(np.random.default_rng(seed), (2 * n_blocks, n_studies))
    return runs[:n_blocks], runs[n_blocks:]
