"""Shares of a variance, and how often their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from tare.stats.scatter_shares import scatter_shares


def test_shares_of_the_variance_are_those_of_the_covariances_and_sum_to_one() -> None:
    parts = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 3.0], [2.0, 1.0]])  # whole: 3, 4, 6, 3
    found = scatter_shares(parts)
    assert found.share == pytest.approx([0.5, 0.5])  # covariances: 1, 1; variance: 2
    random = np.random.default_rng(3)
    many = np.column_stack([random.normal(5, 1.0, 4000), random.normal(5, 0.5, 4000)])
    assert scatter_shares(many).share == pytest.approx([0.8, 0.2], abs=0.03)


def test_a_part_that_makes_up_for_others_has_a_negative_share() -> None:
    noise = np.random.default_rng(1).normal(0, 1, 20)
    found = scatter_shares(np.column_stack([2 * noise, -noise]))
    assert found.share == pytest.approx([2, -1])


def test_intervals_hold_as_often_as_they_say() -> None:
    random = np.random.default_rng(7)
    n, held = 2000, 0
    for _ in range(n):
        found = scatter_shares(random.normal(5, [0.5, 0.25], (6, 2)))
        held += bool(found.low[0] <= 0.8 <= found.high[0])
    assert abs(held / n - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / n)


def test_a_part_without_scatter_is_certain_in_no_more_studies_than_it_may() -> None:
    random = np.random.default_rng(8)
    n = 2000
    p_values = np.array(
        [scatter_shares(random.normal(5, [0.5, 0.001], (6, 2))).p_values[1] for _ in range(n)]
    )
    assert (p_values <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)
    constant = scatter_shares(np.column_stack([[1.0, 2.0, 4.0, 3.0], [1.0] * 4]))
    assert constant.p_values[1] == 1


def test_few_blocks_have_no_interval_and_no_scatter_has_no_share() -> None:
    assert np.isnan(scatter_shares(np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 3.0]])).low).all()
    assert np.isnan(scatter_shares(np.ones((5, 2))).share).all()
