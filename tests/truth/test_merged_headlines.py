"""An answer that speaks of several cases at once says nothing of all of them that holds of some only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from statistics import geometric_mean

import msgspec
import pytest

from tare.analysis.verdicts.equivalence_limits import own_note
from tare.analysis.verdicts.headline import Headline, headlines
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from tare.report.words.answer import reading
from tare.report.words.assumed import assumed_words
from truth.campaigns import Truth, by_level, campaign
from truth.noise import lognormal
from truth.told_campaigns import plain, said

SEEDS = range(24)


def measured(seed: int, sigma: float = 0.06) -> Campaign:
    """Return a campaign of six cases a side, whose noise leaves most pairs undecided."""
    factors = {"network": ("a", "b"), "nodes": (1, 2, 4, 8, 16, 32)}
    return campaign(Truth(factors=factors, blocks=7, noise=lognormal(sigma), margin=0.02), seed=seed)


def merged(sigma: float = 0.06) -> Iterator[Headline]:
    for seed in SEEDS:
        yield from (one for one in headlines(measured(seed, sigma)) if len(one.rows) > 1)


def told(found: Campaign) -> str:
    (answer,) = said(found)
    return plain(f"{answer.sentence} {answer.beside}")


def test_a_note_is_told_with_the_number_of_cases_that_have_it() -> None:
    n_partial = 0
    for one in merged():
        notes = Counter(filter(None, map(own_note, one.rows)))
        for note in filter(None, one.note.split("; in ")):
            part = re.fullmatch(r"(?:in )?(\d+) of (\d+) cases, (.*?)(?:; \d+ more cases? .*)?", note)
            if part is None:
                assert notes[note] == len(one.rows), one.note
            else:
                n_partial += 1
                assert (int(part[1]), int(part[2])) == (notes[part[3]], len(one.rows)), one.note
    assert n_partial >= 5, "no campaign had what this is about"


def test_what_would_settle_the_undecided_counts_cases() -> None:
    for seed in SEEDS:
        found = measured(seed)
        n_open = sum(row.verdict is Verdict.UNDECIDED for one in headlines(found) for row in one.rows)
        text = told(found)
        if n_open > 2:
            assert f"of the {n_open} undecided" in text or f"all {n_open} undecided" in text, text


def test_the_cost_of_a_single_case_is_told_as_that() -> None:
    n_single = 0
    for one in merged(0.5):
        if one.mean_cost is not None and any(row.mean_cost is one.mean_cost for row in one.rows):
            n_single += 1
    assert n_single >= 5, "no campaign had what this is about"
    texts = [told(measured(seed, 0.5)) for seed in SEEDS]
    averages = [one for one in texts if re.search(r"on average[^)]*in the mean of", one)]
    assert averages
    assert all(re.search(r"in the mean of [^)]*\] in one case\)", one) for one in averages)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_verdicts_that_hold_anyway_are_counted_as_the_table_counts_them(seed: int) -> None:
    truth = Truth(
        factors={"network": ("a", "b"), "nodes": (1, 2, 4, 8)},
        slowing=lambda settings, fom: 1.12 if settings["network"] == "b" else 1.0,
        blocks=6,
        noise=lognormal(0.02),
    )
    found = campaign(truth, seed=seed)
    rows = [row for one in headlines(found) for row in one.rows]
    assert assumed_words(rows, "All of it") in reading(headlines(found), 0.02)


def test_a_mean_over_scales_holds_a_scale_that_was_added_later() -> None:
    """Four nodes ran in a session of their own, a day later, beside their own reference."""
    truth = Truth(
        factors={"network": ("a", "b"), "nodes": (1, 4)},
        slowing=lambda settings, fom: 1.3 if settings["network"] == "b" else 1.0,
        late=("nodes", 4),
        late_reference=False,
    )
    (one,) = headlines(campaign(truth))
    assert len(one.rows) == 2
    assert one.n_blocks == truth.blocks
    assert one.ratio == pytest.approx(geometric_mean([row.ratio or 0.0 for row in one.rows]))
    assert one.note == ""


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_mean_over_cases_of_which_none_lacks_a_block_lies_between_them(seed: int) -> None:
    """Half of the cases are added later, and blocks of all cases after that."""
    truth = Truth(
        factors={"network": ("a", "b"), "nodes": (1, 2, 4, 8)}, slowing=by_level("network", {"b": 1.5})
    )
    found = campaign(truth, seed=seed)
    late = {case.id for case in found.plan.cases if case.layout.nodes > 2}
    attempts = [
        msgspec.structs.replace(one, session=2 if one.case in late or one.block > 3 else 1)
        for one in found.attempts
    ]
    (one,) = headlines(msgspec.structs.replace(found, attempts=tuple(attempts)))
    ratios = [row.ratio or 0.0 for row in one.rows]
    assert one.ratio == pytest.approx(geometric_mean(ratios))
    assert one.least == min(ratios)
