"""One rule says what an interval shows, to verdicts, calibrations and published claims alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.margins import are_within, excludes_one, is_beyond, is_within
from tare.core.verdict import Verdict, verdict_of
from tare.core.workload import Better
from tare.published.claims import Claim, ClaimVerdict, Judgement, _of_interval

ENDS = st.sampled_from([0.5, 1 / 1.02, 0.99, 1.0, 1.01, 1.02, 2.0])


@given(ends=st.tuples(ENDS, ENDS).map(sorted))
def test_arrays_and_single_intervals_are_judged_alike(ends: list[float]) -> None:
    low, high = ends
    arrays = np.array([low]), np.array([high])
    word = verdict_of(low, high, margin=0.02, better=Better.LOWER)
    assert (word is Verdict.EQUIVALENT) == is_within(low, high, 0.02) == bool(are_within(*arrays, 0.02)[0])
    if not is_within(low, high, 0.02):
        assert (word is not Verdict.UNDECIDED) == bool(excludes_one(*arrays)[0])
    assert not (is_within(low, high, 0.02) and is_beyond(low, high, 0.02))


def test_a_claim_of_equivalence_holds_where_the_verdict_is_equivalent() -> None:
    """At the very end of the margin the verdict was equivalent, and the claim undecided."""
    claim = Claim(id="c", article="a", claim="c", kind=Judgement.EQUIVALENT, margin=0.02)
    for low, high in ((1.0, 1.02), (1 / 1.02, 1.0)):
        assert verdict_of(low, high, margin=0.02, better=Better.LOWER) is Verdict.EQUIVALENT
        assert _of_interval(claim, low, high) is ClaimVerdict.SUPPORTED


@pytest.mark.parametrize("ends", [(math.nan, math.nan), (0.9, math.nan)])
def test_where_there_is_no_interval_nothing_is_shown(ends: tuple[float, float]) -> None:
    arrays = np.array([ends[0]]), np.array([ends[1]])
    assert not is_within(*ends, 0.02)
    assert not is_beyond(math.nan, math.nan, 0.02)
    assert not are_within(*arrays, 0.02).any()
