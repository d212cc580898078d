"""Holm's procedure in intervals, against its definition in p values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tare.stats.multiplicity import step_down

p_values = st.lists(st.floats(1e-6, 1), min_size=1, max_size=12)


def holm(p: list[float], alpha: float) -> list[bool]:
    made = [False] * len(p)
    for k, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[index] > alpha / (len(p) - k):
            break
        made[index] = True
    return made


def test_a_claim_that_alone_would_be_made_is_not_among_many() -> None:
    p = np.array([0.03, 0.5, 0.6])
    made, levels = step_down(lambda level: p <= 1 - level, np.ones(3, np.bool_), 0.95)
    assert not made.any()
    assert levels.tolist() == [1 - 0.05 / 3] * 3
    assert step_down(lambda level: p[:1] <= 1 - level, np.ones(1, np.bool_), 0.95)[0].all()


def test_what_has_no_interval_does_not_count() -> None:
    p = np.array([0.03, np.nan, np.nan])
    made, _ = step_down(lambda level: p <= 1 - level, np.isfinite(p), 0.95)
    assert made.tolist() == [True, False, False]


@given(p_values)
def test_it_is_holms_procedure(p: list[float]) -> None:
    found = np.array(p)
    made, _ = step_down(lambda level: found <= 1 - level + 1e-15, np.ones(len(p), np.bool_), 0.95)
    if all(abs(one - 0.05 / k) > 1e-9 for one in p for k in range(1, len(p) + 1)):
        assert made.tolist() == holm(p, 0.05)


def test_correlated_claims_none_of_which_is_true_are_seldom_made() -> None:
    random = np.random.default_rng(7)
    n_false = 0
    for _ in range(2000):
        values = random.normal(size=8) * 0.7 + random.normal() * 0.7
        p = 2 * stats.norm.sf(np.abs(values) / np.sqrt(0.98))

        def decide(level: float, p: npt.NDArray[np.float64] = p) -> npt.NDArray[np.bool_]:
            return np.asarray(p <= 1 - level)

        n_false += bool(step_down(decide, np.ones(8, np.bool_), 0.95)[0].any())
    assert n_false <= 2000 * 0.05 + 3 * np.sqrt(2000 * 0.05 * 0.95)
