"""Shares of a difference, and how often their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from tare.stats.shares import mean_p_values, shares


def test_shares_sum_to_one_and_means_to_the_whole() -> None:
    parts = np.random.default_rng(1).normal([3.0, 1.0, -0.5], 0.1, (6, 3))
    found = shares(parts, 0.95)
    assert found.share.sum() == pytest.approx(1)
    assert found.mean.sum() == pytest.approx(parts.sum(axis=1).mean())


def test_a_share_is_bounded_only_where_the_whole_is_not_zero() -> None:
    parts = np.array([[1.0, -1.1], [-1.0, 1.2], [0.5, -0.4]])
    assert np.isnan(shares(parts, 0.95).share_low).all()


def test_intervals_of_shares_are_nominal_where_a_bootstrap_is_not() -> None:
    random = np.random.default_rng(7)
    n, n_fieller, n_bootstrap = 2000, 0, 0
    for _ in range(n):
        parts = random.normal([3.0, 1.0], 0.3, (5, 2))
        found = shares(parts, 0.95)
        n_fieller += bool(found.share_low[0] <= 0.75 <= found.share_high[0])
        drawn = parts[random.integers(0, 5, (400, 5)), 0].mean(axis=1)
        low, high = np.quantile(drawn, (0.025, 0.975))
        n_bootstrap += bool(low <= 3.0 <= high)
    assert abs(n_fieller / n - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / n)
    assert n_bootstrap / n < 0.88


def test_a_part_that_is_always_zero_has_p_one() -> None:
    found = mean_p_values(np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.1], [0.0, 1.0, 1.9]]))
    assert found[0] == 1
    assert found[1] == 0
    assert found[2] < 0.01
