"""The table of values: each value is where its case and its cell say, whatever other cases measured."""

from __future__ import annotations

import warnings

import msgspec
import numpy as np
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.estimate import estimate_rows
from tare.analysis.table import tabulate
from tare.analysis.verdicts.compare import comparisons
from tare.core.attempt import Attempt, Series
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict
from tare.report.charts.panels import is_shown
from tare.report.sections.quality import noises
from tare.report.value_tables import value_tables
from tare.report.variants import lay_out


def cut(one: Attempt, sizes: slice) -> Attempt:
    """Return an attempt with only some of its sizes."""
    series = [
        msgspec.structs.replace(
            each, values=each.values[sizes], at={name: column[sizes] for name, column in each.at.items()}
        )
        for each in one.series
    ]
    return msgspec.structs.replace(one, series=series)


@pytest.fixture
def ragged() -> Campaign:
    """Return a campaign whose cases measure other sizes from block to block; one run has values twice."""
    made = make_campaign([make_case(name) for name in ("host", "overlay", "macvlan")], sizes=(0, 1, 64, 4096))
    overlay = made.plan.cases[1].id
    attempts = []
    for one in made.attempts:
        if one.case == overlay:
            parts = (slice(0, 2), slice(2, 4), slice(0, 4), slice(1, 3), slice(0, 4))
            one = cut(one, parts[one.block - 1])
        elif one.block == 3:
            one = msgspec.structs.replace(one, series=[*one.series, *map(doubled, one.series)])
        attempts.append(one)
    return msgspec.structs.replace(made, attempts=tuple(attempts))


def doubled(one: Series) -> Series:
    return msgspec.structs.replace(one, values=[3 * value for value in one.values])


def test_each_value_is_in_the_column_of_its_case_and_cell(ragged: Campaign) -> None:
    table = tabulate(ragged)
    rows = {one: row for row, one in enumerate(table.passes)}
    n_values = 0
    for one in ragged.attempts:
        found: dict[tuple[str, object], list[float]] = {}
        for series in one.series:
            for value, size in zip(series.values, series.at["bytes"], strict=True):
                found.setdefault((series.fom, size), []).append(value)
        for cell in table.cells(one.case):
            values = found.get((cell.fom, dict(cell.at)["bytes"]), [])
            (column,) = table.find(one.case, [cell]).tolist()
            held = table.values[rows[one.together], column]
            assert (np.isnan(held) and not values) or held == pytest.approx(np.mean(values))
            n_values += bool(values)
    assert np.isfinite(table.values).sum() == n_values
    assert np.isnan(table.values[:, -1]).all(), "the last column belongs to no case"


def test_a_cell_that_a_case_lacks_is_in_the_last_column(ragged: Campaign) -> None:
    table = tabulate(ragged)
    (cell, *_) = table.cells(*ragged.cases)
    other = msgspec.structs.replace(cell, unit="parsec")
    nothing = table.values.shape[1] - 1
    for case in (*ragged.cases, "no case"):
        assert table.find(case, [other, other]).tolist() == [nothing, nothing]
    assert table.find(next(iter(ragged.cases)), [other, cell])[1] < nothing


def test_estimates_of_some_cases_are_those_of_the_campaign(ragged: Campaign) -> None:
    every = list(estimate_rows(ragged))
    for case in ragged.cases:
        alone = estimate_rows(msgspec.structs.replace(ragged)).of_cases({case})
        assert alone == [one for one in every if one.case == case]
    assert len(every) == len(estimate_rows(ragged))


def test_the_noise_of_a_case_is_that_of_its_estimates(ragged: Campaign) -> None:
    for campaign in (ragged, make_campaign(blocks=1)):
        rows = estimate_rows(campaign)
        noise = {one.case: one for one in noises(rows, campaign, lay_out(campaign, ()))}
        for case in campaign.cases:
            alike = [one for one in rows.of_cases({case}) if is_shown(campaign, case, one.fom)]
            scatters = sorted(one.cv for one in alike if one.cv is not None)
            if not scatters:
                assert case not in noise
                continue
            assert noise[case].largest == scatters[-1]
            assert noise[case].median == pytest.approx(np.median(scatters))
            assert noise[case].n_blocks == max(one.n_blocks for one in alike if one.cv is not None)


def test_a_table_of_values_has_as_many_rows_as_it_says(ragged: Campaign) -> None:
    rows = estimate_rows(ragged)
    (table,) = value_tables(rows, lay_out(ragged, ()))
    assert table.n_rows == len(table.rows) == 8
    assert sum(len(row.estimates) for row in table.rows) == len(rows)


@pytest.mark.parametrize("size", [1e-310, 5e-324, 1e-200])
def test_figures_that_are_all_but_zero_count_as_zero_and_overflow_nowhere(size: float) -> None:
    """NumPy warned of subnormal figures five times, on the terminal of whoever compared them."""
    campaign = make_campaign(blocks=8)
    tiny = msgspec.structs.replace(
        campaign,
        attempts=tuple(
            msgspec.structs.replace(
                one,
                series=[
                    msgspec.structs.replace(
                        s, values=[size * (i + 1 + one.block) for i in range(len(s.values))]
                    )
                    for s in one.series
                ],
            )
            for one in campaign.attempts
        ),
    )
    with warnings.catch_warnings(action="error"):
        rows = comparisons(tiny)
        assert {one.value for one in estimate_rows(tiny)} == {0.0}
    assert {one.verdict for one in rows} == {Verdict.UNDECIDED}
