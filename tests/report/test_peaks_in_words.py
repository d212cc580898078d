"""What is said of the scale at which throughput peaks, and of efficiencies without intervals."""

from __future__ import annotations

import math
import re

import pytest

from report.studies import plain
from support.scales import Law, make_application, usl
from tare.analysis.scales.scaling import scalings
from tare.core.case import Case
from tare.report.words.scaling import sentences

_NO_PEAK = r"The USL’s best fit has no peak of throughput; one at ([\d.]+) nodes? or more is not excluded\."


def said(law: Law, *, blocks: int = 5, noise: float = 0.01, seed: int = 1) -> str:
    campaign = make_application({"host": law}, (1, 2, 4, 8), blocks=blocks, noise=noise, seed=seed)
    (curve,) = scalings(campaign)
    return plain(" ".join(sentences(curve)))


def test_a_peak_that_the_fit_does_not_show_is_not_denied() -> None:
    sigma, kappa = 0.02, 0.002
    peak = math.sqrt((1 - sigma) / kappa)
    texts = [said(usl(6, sigma, kappa), noise=0.05, seed=seed) for seed in range(60)]
    assert not any("sees no" in text for text in texts)
    least = [float(found[1]) for text in texts if (found := re.search(_NO_PEAK, text))]
    assert len(least) >= 5
    assert sum(one > peak for one in least) <= 0.05 * len(texts)


def test_without_intervals_no_peak_is_excluded() -> None:
    text = said(usl(6, 0.0, 0.0), blocks=2)
    assert "peak at" not in text
    assert "no peak of throughput; without intervals, none is excluded." in text or "puts the peak" in text


def falling(case: Case) -> float:
    return 6 / math.sqrt(case.layout.nodes)


def flat(case: Case) -> float:
    return 6.0


@pytest.mark.parametrize("law", [falling, usl(6, 1.0, 0.1)])
def test_what_does_not_grow_peaks_at_the_smallest_scale_and_not_at_none(law: Law) -> None:
    text = said(law, noise=0.001)
    assert "peak of throughput at 1 node, the smallest that was measured, or below" in text
    assert not re.search(r"at 0 nodes|e[-−]\d", text)


def test_what_stays_the_same_has_a_peak_at_no_scale_or_at_any() -> None:
    texts = [said(flat, noise=0.001, seed=seed) for seed in range(8)]
    assert not any(re.search(r"at 0 nodes|\b0\.\d+ nodes?|e[-−]\d", text) for text in texts)
    assert all(re.search(r"no peak|the smallest that was measured, or below|\[0, ", text) for text in texts)
    assert all("if there is one" in text for text in texts if "…" in text)


def test_a_peak_lies_within_its_interval_as_it_is_printed() -> None:
    """Where σ or κ is at a bound, the estimate is an end of the interval: 5.06, which is no 5.1."""

    def rising_late(case: Case) -> float:
        return {1: 0.1, 2: 0.19, 4: 0.32, 8: 0.25}[case.layout.nodes]

    for seed in range(6):
        text = said(rising_late, blocks=8, seed=seed)
        found = re.search(r"peak of throughput at ([\d.]+) nodes \[([\d.]+), ([\d.]+)\]", text)
        assert found, text
        peak, low, high = map(float, found.groups())
        assert low <= peak <= high


@pytest.mark.parametrize("blocks", [1, 2])
def test_efficiencies_without_intervals_are_not_stated_as_sure(blocks: int) -> None:
    text = said(usl(6, 0.3, 0.0), blocks=blocks)
    assert "Efficiency seems to stay at 70 % or more up to 2 nodes" in text
    assert "Efficiency seems below 70 % from 2 nodes on" in said(usl(6, 0.9, 0.0), blocks=blocks)
    assert "Efficiency stays at 70 % or more up to 2 nodes" in said(usl(6, 0.3, 0.0))
    assert "Efficiency is below 70 % from 2 nodes on" in said(usl(6, 0.9, 0.0))


def test_of_two_floors_that_reach_the_same_scale_the_higher_one_is_told() -> None:
    """Efficiencies of 96, 81 and 47 %: that 4 nodes stay above 70 % says more than above 50 %."""
    text = said(usl(6, 0.0, 0.02), noise=0.001)
    assert "Efficiency stays at 70 % or more up to 4 nodes." in text
