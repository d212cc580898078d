"""Put a published table beside what was measured here: each of its numbers, both as ratios to one column.

No network of this machine is one of the article's. An article says which one stands for each (`TableMatch`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from bench.articles.article import TableMatch
from bench.articles.results import FigureHere, Results, TableHere
from tare.core.campaign import Campaign
from tare.core.values import Scalar
from tare.published import Figure, Publication, read_publication
from tare.stats.ratios import ratios

HEAD = (
    "figure",
    "unit",
    "published for",
    "published",
    "ratio",
    "here on",
    "measured here",
    "ratio here",
    "n",
)


def measure(matches: Iterable[TableMatch], campaigns: Mapping[str, Campaign]) -> Iterator[TableHere]:
    """Yield what the `campaigns`, by the name of their study, have for each number of the tables."""
    for one in matches:
        if campaign := campaigns.get(one.study):
            figures = read_publication(one.table).figures
            yield TableHere(
                table=one.table,
                test=one.test,
                figures=tuple(_here(one, figure, campaign) for figure in figures),
            )


def rows(one: TableMatch, table: Publication, results: Results) -> Iterator[tuple[str, ...]]:
    """Yield one row for each published number, with the columns of `HEAD`."""
    measured = {(here.series, here.fom): here for here in results.figures_of(one)}
    base = {figure.kind.fom: figure.value for figure in table.figures if figure.series == one.reference}
    for figure in table.figures:
        here = measured.get((figure.series, figure.kind.fom))
        yield (
            figure.kind.fom,
            figure.kind.unit,
            figure.series,
            f"{figure.value:.10g}",
            f"{figure.value / base[figure.kind.fom]:.3g}",
            str(one.levels[figure.series]),
            here.measured if here else "–",
            here.ratio if here else "–",
            str(here.n) if here else "–",
        )


def _here(one: TableMatch, figure: Figure, campaign: Campaign) -> FigureHere:
    fom = figure.kind.fom
    values, base = (
        _by_block(campaign, fom, {one.over: one.levels[series]}) for series in (figure.series, one.reference)
    )
    blocks = sorted(values.keys() & base.keys())
    return FigureHere(
        series=figure.series,
        fom=fom,
        measured=f"{math.exp(np.log(list(values.values())).mean()):.4g}" if values else "–",
        ratio=_ratio([base[block] for block in blocks], [values[block] for block in blocks]),
        n=len(values),
    )


def _by_block(campaign: Campaign, fom: str, settings: Mapping[str, Scalar]) -> dict[int, float]:
    """Return the positive values of a figure that is one number a run, by block."""
    cases = {case.id for case in campaign.plan.cases if settings.items() <= dict(case.settings).items()}
    return {
        attempt.block: series.values[0]
        for attempt in campaign.measured()
        for series in attempt.series
        if attempt.case in cases and series.fom == fom and len(series.values) == 1 and series.values[0] > 0
    }


def _ratio(base: list[float], values: list[float]) -> str:
    """Return the mean of the ratios of all blocks, with its 95 % interval."""
    if not values:
        return "–"
    if base == values:
        return "1"
    found = ratios(np.array(base).reshape(-1, 1), np.array(values).reshape(-1, 1))
    ratio, low, high = (float(one[0]) for one in (found.ratio, found.low, found.high))
    return f"{ratio:.3g} [{low:.3g}, {high:.3g}]" if math.isfinite(low) else f"{ratio:.3g}"
