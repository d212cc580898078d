"""A row that is made alone, and says the same as among all rows of its table."""

from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import numpy as np
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.verdicts.compare import comparison_rows, comparisons
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.judged_family import JudgedFamily, Terms
from tare.core.attempt import Series
from tare.core.campaign import Campaign
from tare.core.comparison import Correction, Mean
from tare.core.workload import Better
from tare.stats.intervals import Floats

N_BLOCKS, N_COLUMNS = 12, 60


def hostile_sides(n_blocks: int) -> tuple[Floats, Floats]:
    """Return two sides with columns of ties, zeros, values below zero, gaps, and nothing at all."""
    random = np.random.default_rng(7)
    reference, contender = np.exp(random.normal(0, 0.02, (2, n_blocks, N_COLUMNS)))
    contender[:, :6] = reference[:, :6]
    reference[:, 6:12] = contender[:, 6:12] = 1.0
    contender[0, 12:18] = 0.0
    contender[0, 18:21] = -1.0
    reference[:, 21:24] = 0.0
    reference[:, 24:27] = np.nan
    contender[:, 27:30] = np.nan
    reference[1:, 30:33] = np.nan
    reference[::2, 33:36] = contender[1::2, 33:36] = np.nan
    contender[:, 36:42] *= np.linspace(1, 1.3, n_blocks)[:, np.newaxis]
    contender[:, 42:48] *= 1.5
    return reference, contender


def judged(n_blocks: int, mean: Mean, *, is_unpaired: bool) -> JudgedFamily:
    better = [*itertools.islice(itertools.cycle([Better.LOWER, Better.HIGHER, None]), N_COLUMNS)]
    sessions = np.arange(n_blocks) // 4
    with np.errstate(divide="ignore"):
        return judge(
            *hostile_sides(n_blocks),
            better,
            Terms(margin=0.02, correction=Correction.FDR, mean=mean),
            np.arange(N_COLUMNS) % 5 > 0,
            rounding=np.full(N_COLUMNS, 0.001),
            ends=SessionEnds(sessions, tuple(range(int(sessions[-1]) + 1))),
            is_unpaired=is_unpaired,
        )


@pytest.mark.parametrize("n_blocks", [1, 2, 5, N_BLOCKS])
@pytest.mark.parametrize("mean", list(Mean))
@pytest.mark.parametrize("is_unpaired", [False, True])
def test_a_column_alone_has_the_finding_that_it_has_among_all(
    n_blocks: int, mean: Mean, is_unpaired: bool
) -> None:
    family = judged(n_blocks, mean, is_unpaired=is_unpaired)
    with np.errstate(divide="ignore"):
        every = family.findings()
        some = family.of([45, 3, 3]).findings()
        for column, found in itertools.islice(enumerate(every), 1, None, 3):
            (alone,) = family.of([column]).findings()
            assert rounded(alone) == rounded(found)
    assert list(map(rounded, some)) == [rounded(every[column]) for column in (45, 3, 3)]


def rounded(found: msgspec.Struct) -> object:
    """Return all that is said of a comparison, with 12 digits: sums of one column may end differently."""
    return _rounded(msgspec.to_builtins(found, enc_hook=str))


def _rounded(value: object) -> object:
    match value:
        case dict():
            return {name: _rounded(one) for name, one in value.items()}
        case float():
            return f"{value:.12g}"
        case _:
            return value


@pytest.fixture
def campaign() -> Campaign:
    """Return a campaign of two contenders and two workloads; the second one has a single size."""
    networks = ("host", "overlay", "macvlan")
    cases = [make_case(network, workload=name) for name in ("a", "b") for network in networks]
    made = make_campaign(cases, sizes=(1, 64, 65536), blocks=6)
    single = {case.id for case in cases if case.workload == "b"}
    attempts = [
        msgspec.structs.replace(one, series=list(map(_first_size, one.series))) if one.case in single else one
        for one in made.attempts
    ]
    return msgspec.structs.replace(made, attempts=tuple(attempts))


def _first_size(one: Series) -> Series:
    at = {name: column[:1] for name, column in one.at.items()}
    return msgspec.structs.replace(one, at=at, values=one.values[:1])


def test_rows_of_some_contenders_are_those_of_the_table(campaign: Campaign) -> None:
    every = comparisons(campaign)
    for case in campaign.cases:
        alone = comparison_rows(fresh(campaign)).of_contenders({case})
        assert list(map(rounded, alone)) == [rounded(one) for one in every if one.contender_case == case]


def test_a_table_of_rows_is_a_sequence_of_them(campaign: Campaign) -> None:
    rows, every = comparison_rows(fresh(campaign)), comparisons(campaign)
    assert rounded(rows[-1]) == rounded(every[-1])
    assert list(map(rounded, rows[2:5])) == list(map(rounded, every[2:5]))
    assert len(rows) == len(every) == 16
    assert list(map(rounded, rows)) == list(map(rounded, every))


def test_what_is_said_of_all_rows_is_what_they_say(campaign: Campaign) -> None:
    for one in (campaign, make_campaign(blocks=2), make_campaign(reference={})):
        rows = comparison_rows(one)
        assert rows.has_intervals == any(row.is_paired and row.low is not None for row in rows)
        assert rows.has_unpaired == any(not row.is_paired for row in rows)
        figures = Counter((row.contender_case, (row.fom, tuple(row.labels.items()))) for row in rows)
        assert rows.n_points() == figures
        sides = {(row.reference_case, row.contender_case) for row in rows}
        assert {(pair.reference_case.id, pair.contender_case.id) for pair in rows.pairs()} == sides
        assert len(rows.pairs()) == len(sides)


def fresh(campaign: Campaign) -> Campaign:
    """Return the campaign without anything that was computed of it."""
    return msgspec.structs.replace(campaign)
