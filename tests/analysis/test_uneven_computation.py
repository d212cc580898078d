"""Which ranks are slowed more than the others, and by how much."""

from __future__ import annotations

import numpy as np
import pytest

from tare.analysis.causes.uneven_computation import uneven


def test_all_ranks_of_a_slow_node_stand_out_the_slowest_first() -> None:
    random = np.random.default_rng(1)
    reference = 10 * np.exp(random.normal(0, 0.002, (6, 8)))
    contender = 10 * np.exp(random.normal(0, 0.002, (6, 8)))
    contender[:, 4:] += [1.0, 1.0, 3.0, 2.0]
    longer, ranks = uneven(reference, contender)
    assert ranks[:2] == (6, 7)
    assert sorted(ranks) == [4, 5, 6, 7]
    assert float(longer.mean()) == pytest.approx(7 / 8, rel=0.05)


def test_without_a_slow_rank_none_stands_out() -> None:
    random = np.random.default_rng(1)
    reference, contender = 10 * np.exp(random.normal(0, 0.01, (2, 6, 8)))
    longer, ranks = uneven(reference, contender)
    assert ranks == ()
    assert not longer.any()
