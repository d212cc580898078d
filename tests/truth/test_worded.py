"""Sentences on scales, curves and doubts are read from their words, and false ones among them are found."""

from __future__ import annotations

import numpy as np
import pytest

from tare.core.campaign import Campaign
from tare.report.content import Content, content
from tare.report.report_statistics import ReportStatistics
from truth.__main__ import add
from truth.claimed import Asked
from truth.counting import Table
from truth.shapes import of_shapes
from truth.wild import Wild, wild
from truth.worded import of_remarks, of_saturation, of_words

SPEEDS = {1: 1.0, 2: 1.9, 4: 3.0, 8: 2.8}
"""Efficiencies of 95, 75 and 35 %; slower at 8 than at 4."""


@pytest.mark.parametrize(
    ("sentence", "n_false"),
    [
        ("Efficiency is below 80 % from 2 nodes on.", 1),
        ("Efficiency is below 80 % from 4 nodes on.", 0),
        ("Efficiency stays at 70 % or more up to 4 nodes, and at 50 % or more to the last.", 1),
        (
            "Efficiency stays at 90 % or more up to 4 nodes (surely up to 2), and at 30 % to the last.",
            0,
        ),
        ("Efficiency stays at 90 % or more up to 4 nodes.", 1),
        ("Scaling is negative from 4 to 8 nodes: throughput × 0.93 [0.9, 0.96].", 0),
        ("Scaling is negative from 2 to 4 nodes: throughput × 0.93 [0.9, 0.96].", 1),
        ("Scaling seems negative from 2 to 4 nodes: throughput × 0.93 [0.9, 0.96].", 0),
        ("Super-linear (efficiency above 100 %) at 2 nodes, 104 % [102, 106].", 1),
        ("Super-linear (efficiency above 100 %) at seemingly 2 nodes, 104 % [99, 106].", 0),
    ],
)
def test_a_false_sentence_on_scales_is_found_and_a_true_one_is_none(sentence: str, n_false: int) -> None:
    assert sum(one.is_false for one in of_remarks(SPEEDS, sentence)) == n_false


@pytest.mark.parametrize(
    ("sentence", "is_false"),
    [
        ("from 256 KiB: 93 % [92, 94] of the best, surely", True),
        ("from 1 MiB: 100 % [99, 100] of the best, surely", False),
        ("from 64 KiB: 78 % [70, 96] of the best; surely from 256 KiB", True),
        ("from 64 KiB: 78 % [70, 96] of the best; not surely below 1 MiB, the best", False),
    ],
)
def test_a_false_sentence_on_saturation_is_found(sentence: str, *, is_false: bool) -> None:
    """Of a line with a start of 20 µs and 1,000 bytes a µs 256 KiB have 95 % of the rate of 1 MiB less 1."""
    (one,) = of_saturation((20.0, 1000.0), sentence)
    assert one.is_false is is_false


@pytest.mark.parametrize("seed", [0, 6, 80, 100, 140, 555])
def test_sentences_on_zeros_and_on_longer_times_can_be_read_and_outputs_agree(seed: int) -> None:
    """A mean over places of which each has zeros is none, and no note on their ratios holds of it."""
    table = Table()
    add(table, seed, is_written=True)
    assert (table.unknown, table.wrong, table.disagreeing) == ({}, {}, {})


def measured(seed: int) -> tuple[Wild, Campaign, Content]:
    study = wild(np.random.default_rng(seed))
    found = study.measured(seed)
    return study, found, content(found, ReportStatistics.of(found))


def test_what_the_words_claim_is_what_the_figures_behind_them_do() -> None:
    """No reader falls silent when a sentence is worded otherwise."""
    counts = dict.fromkeys(PAIRS, (0, 0))
    for seed in range(60):
        study, found, page = measured(seed)
        if study.truth.zeros or study.truth.decimals is not None or study.special:
            continue
        said, typed = list(of_words(study, found, page)), list(of_shapes(study, found))
        for words, figures in PAIRS.items():
            one, other = n_claimed(said, words), n_claimed(typed, figures)
            assert one == other, f"seed {seed}, {words}"
            counts[words] = counts[words][0] + one, counts[words][1] + other
    assert all(all(each) for each in counts.values()), counts


PAIRS = {
    "crossover in words": "crossover: claimed",
    "interval in words: crossover": "interval of a crossover",
    "saturation in words": "saturation: surely reached",
}


def n_claimed(found: list[Asked], family: str) -> int:
    return sum(one.is_claimed for one in found if one.family == family)
