"""The section on curves: latency and bandwidth fits, crossovers and saturation, in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tare.analysis.curves import Curves
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.units import format_bytes
from tare.core.values import Settings
from tare.report.section import LAST, Section, SectionFacts
from tare.report.variants import Variant, Variants
from tare.report.words.curves import crossover_words, misfit_words, saturation_words
from tare.report.words.numbers import NARROW, words
from tare.report.words.scaling import measured, settings_words


@dataclasses.dataclass(frozen=True)
class HockneyRow:
    """Hockney's line of one case, in words; if there is no fit, `misfit` says why."""

    side: Variant
    place: str
    fom: str
    latency: str
    bandwidth: str
    half_size: str
    misfit: str
    n_blocks: int
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class CrossoverRow:
    """The point at which two variants change their order, as a sentence."""

    place: str
    fom: str
    text: str
    n_blocks: int
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SaturationRow:
    """The point at which a figure comes near its best, in words.

    `side` is None if the figure is taken along several variants.
    """

    side: Variant | None
    place: str
    fom: str
    plateau: str
    reached: str
    n_blocks: int
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class CurveTables:
    """The tables of the section."""

    hockney: tuple[HockneyRow, ...]
    crossovers: tuple[CrossoverRow, ...]
    saturations: tuple[SaturationRow, ...]
    margin: float | None


def _made(facts: SectionFacts) -> CurveTables | None:
    found = curve_tables(facts.answers.curves, facts.sides)
    return found if found.hockney or found.crossovers or found.saturations else None


SECTION = Section(
    "curves",
    "Where do they cross, and where does more stop paying?",
    after="charts",
    make=_made,
    order=LAST,
    template=Path(__file__).with_suffix(".html"),
)


def curve_tables(curves: Curves, sides: Variants) -> CurveTables:
    """Return the rows of the section, in the order of the plan."""
    return CurveTables(
        hockney=tuple(_hockney(one, sides) for one in curves.hockney),
        crossovers=tuple(_crossover(one, sides) for one in curves.crossovers),
        saturations=tuple(_saturation(one, sides) for one in curves.saturations),
        margin=next((one.margin for one in curves.saturations), None),
    )


def _hockney(one: HockneyFit, sides: Variants) -> HockneyRow:
    return HockneyRow(
        side=sides.side_of[one.case],
        place=sides.place_of[one.case].label,
        fom=_figure(one.fom, one.at),
        latency=measured(one.latency, one.unit),
        bandwidth=measured(one.bandwidth, "MB/s"),
        half_size="–"
        if one.half_size is None
        else format_bytes(round(one.half_size.value)).replace(" ", NARROW),
        misfit=misfit_words(one),
        n_blocks=one.n_blocks,
        cases=(one.case,),
    )


def _crossover(one: Crossover, sides: Variants) -> CrossoverRow:
    return CrossoverRow(
        place=_place(one.workload, one.settings, sides),
        fom=_figure(one.fom, one.at),
        text=crossover_words(one, sides.kinds_of(one.workload)),
        n_blocks=one.n_blocks,
        cases=(*one.first_cases, *one.second_cases),
    )


def _saturation(one: Saturation, sides: Variants) -> SaturationRow:
    crossed = {sides.side_of[case] for case in one.cases}
    return SaturationRow(
        side=crossed.pop() if len(crossed) == 1 else None,
        place=_place(one.workload, one.settings, sides),
        fom=_figure(one.fom, one.at),
        plateau=measured(one.plateau, one.unit),
        reached=saturation_words(one, sides.kinds_of(one.workload)),
        n_blocks=one.n_blocks,
        cases=one.cases,
    )


def _place(workload: str, settings: Settings, sides: Variants) -> str:
    rest = {name: value for name, value in settings.items() if name not in sides.keys}
    return " · ".join(
        filter(None, (settings_words({"workload": workload}), settings_words(rest, sides.kinds_of(workload))))
    )


def _figure(fom: str, at: Settings) -> str:
    return " · ".join(filter(None, (words(fom), settings_words(at))))
