"""Sentences of random campaigns are true, and of every workload something is said."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.headline import Headline
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from tare.core.workload import Better, QuestionKind
from tare.report.words.clauses import Clause
from truth.campaigns import Figure, Truth, campaign, campaigns
from truth.told_campaigns import QUIET, mixed, plain, said, slowed


def is_true(truth: Truth, found: Campaign, one: Headline) -> bool:
    """Return whether the truth at every place of a headline is what its verdict says."""
    ratios = [
        truth.ratio(found.cases[reference], found.cases[contender], one.fom, one.better)
        for reference, contender in one.cases
    ]
    match one.verdict:
        case Verdict.UNDECIDED:
            return True
        case Verdict.EQUIVALENT:
            return all(1 / (1 + truth.margin) <= ratio <= 1 + truth.margin for ratio in ratios)
        case _:
            is_up = (one.verdict is Verdict.WORSE) == (one.better is Better.LOWER)
            return all(ratio > 1 if is_up else ratio < 1 for ratio in ratios)


_CHANGE = re.compile(r"(\d+(?:\.\d+)?) % (longer|higher|shorter|lower)")


def words_are_those_of_the_value(clause: Clause) -> bool:
    """Return whether the number and the direction in the text are those of the headline."""
    match = _CHANGE.search(plain(clause.text))
    if match is None or clause.is_range:
        return True
    (one,) = clause.headlines
    assert one.ratio is not None
    is_more = match[2] in ("longer", "higher")
    return is_more == (one.ratio > 1) and abs(float(match[1]) - 100 * abs(one.ratio - 1)) <= 0.51


def test_sentences_of_random_campaigns_are_true() -> None:
    random = np.random.default_rng(11)
    n_studies, with_false = 0, 0
    for seed in range(40):
        truth = mixed(random)
        for found in campaigns(truth, 3, seed=seed):
            n_studies += 1
            (answer,) = said(found)
            told = [one for clause in answer.clauses for one in clause.headlines]
            with_false += not all(is_true(truth, found, one) for one in told)
            assert all(words_are_those_of_the_value(clause) for clause in answer.clauses)
            assert all(
                clause.text in answer.text and clause.where in answer.text for clause in answer.clauses
            )
            rows = aggregates(found)
            is_slow = any(row.verdict is Verdict.WORSE and row.unit == "s" for row in rows)
            assert not (is_slow and "equivalent to" in answer.text)
            verdicts = {(row.contender_case, row.fom): row.verdict for row in rows}
            for one in told:
                for _, case in one.cases:
                    if one.sizes == "all":
                        assert one.verdict is verdicts[case, one.fom], "the row of the table says the same"
    assert with_false / n_studies <= 0.1, "two families at 5 % each"


def test_every_installed_workload_has_a_figure_that_answers_each_kind_of_question() -> None:
    from tare.plugins import registry

    for name, workload in registry.workloads().items():
        for kind in QuestionKind:
            assert any(kind in fom.answers or fom.is_primary for fom in workload.foms), (name, kind)


def test_a_figure_at_sizes_between_latency_and_bandwidth_is_told_all_the_same() -> None:
    between = Figure(name="latency", unit="us", at={"bytes": (4096, 8192)})
    slower = slowed("network", "overlay", {"latency": 1.5})
    truth = Truth(workloads={"osu.latency": (between,)}, slowing=slower, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.match(r"overlay is worse than host in osu\.latency’s latency \((50|49|4\d\.\d) % higher", text)


def test_figures_without_a_direction_are_not_called_unmeasured() -> None:
    found = campaign(Truth(noise=QUIET, blocks=8))
    attempts = tuple(
        msgspec.structs.replace(
            one, series=[msgspec.structs.replace(series, better=None) for series in one.series]
        )
        for one in found.attempts
    )
    (answer,) = said(msgspec.structs.replace(found, attempts=attempts))
    assert answer.text == "has no figure that says which way is better, so nothing is claimed of it."
