"""Simulate chance in an A/A study by swapping the labels of its two sides at random."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tare.stats.intervals import Floats


def relabellings(n_blocks: int, n_pairs: int, random: np.random.Generator, most: int) -> Iterator[Floats]:
    """Yield signs, blocks × pairs: −1 where the two sides of a pair swap their labels in a block.

    If both sides are the same, the labels of the two runs of a block are arbitrary. So each log ratio is
    equally likely with the other sign, which gives 2ⁿ campaigns out of the one that was run (Fisher 1935, The
    Design of Experiments, § 21). Swapping all labels at once changes no width, so half of the campaigns are
    enough. For a single pair with few blocks, all of these are returned. Otherwise `most` are drawn at
    random, with independent labels for each pair.
    """
    if n_pairs == 1 and 0 < n_blocks <= 1 + int(np.log2(most)):
        for rest in itertools.product((1.0, -1.0), repeat=n_blocks - 1):
            yield np.array([[1.0], *([sign] for sign in rest)])
        return
    for _ in range(most):
        yield random.choice((-1.0, 1.0), (n_blocks, n_pairs))
