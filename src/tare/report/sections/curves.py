"""The section on curves: latency and bandwidth fits, crossovers and saturation, in words."""

from __future__ import annotations

import dataclasses

from tare.analysis.scales.curves import Curves
from tare.core.curves import Crossover, HockneyFit, Saturation
from tare.core.units import format_bytes
from tare.core.values import Settings
from tare.report.section import SectionFacts, own_section
from tare.report.variants import Variant, Variants
from tare.report.words.assumed import assumed_of_intervals
from tare.report.words.curves import crossover_words, misfit_words, saturation_words
from tare.report.words.numbers import NARROW, words
from tare.report.words.scaling import measured, settings_words


@dataclasses.dataclass(frozen=True)
class HockneyRow:
    """Hockney's line of one case, in words; if there is no fit, `misfit` says why."""

    variant: Variant
    configuration: str
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

    configuration: str
    fom: str
    text: str
    n_blocks: int
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SaturationRow:
    """The point at which a figure comes near its best, in words.

    `variant` is None if the figure is taken along several variants.
    """

    variant: Variant | None
    configuration: str
    fom: str
    plateau: str
    reached: str
    n_blocks: int
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class CurveTables:
    """The tables of the section; `n_lines` counts Hockney's lines, of which `hockney` has the first.

    `assumed` is what intervals of few blocks assume.
    """

    hockney: tuple[HockneyRow, ...]
    n_lines: int
    crossovers: tuple[CrossoverRow, ...]
    saturations: tuple[SaturationRow, ...]
    margin: float | None
    assumed: str


def _made(facts: SectionFacts) -> CurveTables | None:
    found = curve_tables(facts.statistics.curves, facts.variants)
    return found if found.hockney or found.crossovers or found.saturations else None


SECTION = own_section(
    __file__, "Where do they cross, and where does more stop paying?", after="charts", make=_made
)


def curve_tables(curves: Curves, variants: Variants) -> CurveTables:
    """Return the rows of the section, in the order of the plan."""
    return CurveTables(
        hockney=tuple(_hockney(one, variants) for one in curves.hockney),
        n_lines=curves.n_lines,
        crossovers=tuple(_crossover(one, variants) for one in curves.crossovers),
        saturations=tuple(_saturation(one, variants) for one in curves.saturations),
        margin=next((one.margin for one in curves.saturations), None),
        assumed=assumed_of_intervals(curves.numbers_of_blocks),
    )


def _hockney(one: HockneyFit, variants: Variants) -> HockneyRow:
    return HockneyRow(
        variant=variants.variant_of[one.case],
        configuration=variants.configuration_of[one.case].label,
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


def _crossover(one: Crossover, variants: Variants) -> CrossoverRow:
    return CrossoverRow(
        configuration=_configuration(one.workload, one.settings, variants),
        fom=_figure(one.fom, one.at),
        text=crossover_words(one, variants.kinds_of(one.workload)),
        n_blocks=one.n_blocks,
        cases=(*one.first_cases, *one.second_cases),
    )


def _saturation(one: Saturation, variants: Variants) -> SaturationRow:
    crossed = {variants.variant_of[case] for case in one.cases}
    return SaturationRow(
        variant=crossed.pop() if len(crossed) == 1 else None,
        configuration=_configuration(one.workload, one.settings, variants),
        fom=_figure(one.fom, one.at),
        plateau=measured(one.plateau, one.unit),
        reached=saturation_words(one, variants.kinds_of(one.workload)),
        n_blocks=one.n_blocks,
        cases=one.cases,
    )


def _configuration(workload: str, settings: Settings, variants: Variants) -> str:
    rest = {name: value for name, value in settings.items() if name not in variants.keys}
    return " · ".join(
        filter(
            None, (settings_words({"workload": workload}), settings_words(rest, variants.kinds_of(workload)))
        )
    )


def _figure(fom: str, at: Settings) -> str:
    return " · ".join(filter(None, (words(fom), settings_words(at))))
