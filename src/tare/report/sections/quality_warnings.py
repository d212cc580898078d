"""The page's tables of quality warnings, of outliers, and of the variants' scatter."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from tare.analysis.trust.quality import CaseScatter, Quality, QualityWarning
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.analysis.verdicts.variability import Variability
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.counting import count
from tare.report.variants import Variants
from tare.report.words.changes import labelled
from tare.report.words.numbers import NARROW, SPACE, listed, percent, ratio, ratio_bounds, visible, words
from tare.report.words.quality_warnings import (
    brief,
    cure,
    cure_of_noise,
    finding,
    imprecision_words,
    subject,
    tested,
)
from tare.report.words.session_changes import CURE, changes_words

_MOST_ALTERED = 3


@dataclasses.dataclass(frozen=True)
class QualityWarningRow:
    """A quality warning about one case or about all; `cases` are the cases whose runs it links to."""

    where: str
    foms: str
    finding: str
    cure: str
    cases: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class OddRun:
    """A run far from the others of its case; `folder` has its evidence."""

    where: str
    foms: str
    block: int
    finding: str
    folder: str


@dataclasses.dataclass(frozen=True)
class QualityWarnings:
    """The effects that were tested, the warnings that affect an answer, and single outliers."""

    tested: str
    rows: tuple[QualityWarningRow, ...]
    odd_runs: tuple[OddRun, ...]
    is_clear: bool


@dataclasses.dataclass(frozen=True)
class VariabilityRow:
    """The scatter of a contender compared with that of its reference."""

    variant: str
    configuration: str
    fom: str
    reference_cv: str
    contender_cv: str
    ratio: str
    interval: str
    n_blocks: int
    paint: str
    sign: str
    verdict: str
    note: str
    cases: tuple[str, ...]


def quality_warnings(quality: Quality, campaign: Campaign, variants: Variants) -> QualityWarnings:
    """Return the quality warnings of `quality` for the page.

    Figures of a case with the same warning share a row.
    """
    grouped: dict[tuple[str | None, RepeatabilityWarning, tuple[Pass, ...]], list[QualityWarning]] = {}
    for one in quality.warnings:
        grouped.setdefault((one.case, one.kind, one.passes), []).append(one)
    rows, odd = [], []
    if campaign.altered:
        rows.append(_altered(campaign))
    if campaign.unreadable:
        rows.append(_unreadable(campaign))
    if quality.imprecision is not None:
        text = imprecision_words(quality.imprecision)
        rows.append(QualityWarningRow("The campaign", "", text, cure_of_noise(quality.imprecision), ()))
    changes = changes_words(quality.changes, variants.case_label)
    if changes:
        text = "; ".join(changes)
        rows.append(QualityWarningRow("Between sessions", "", text, CURE, _changed(quality)))
    odd_cases = {one.case for one in quality.warnings if not one.is_serious}
    runs: dict[str, dict[Pass, Attempt]] = {}
    for run in campaign.measured():
        if run.case in odd_cases:
            runs.setdefault(run.case, {})[run.together] = run
    for alike in grouped.values():
        if alike[0].is_serious:
            rows.append(_row(alike, campaign, variants))
        else:
            odd += _odd_runs(alike, runs, variants)
    is_clear = (
        not (quality.warnings or changes or campaign.altered or campaign.unreadable)
        and quality.imprecision is None
        and any(quality.n_tested.values())
    )
    return QualityWarnings(tested(quality), tuple(rows), tuple(odd), is_clear)


def _some(faults: Mapping[str, str]) -> tuple[str, str, str]:
    """Return how many runs have `faults`, their pronoun, and the first ones with what is wrong."""
    n_runs = len(faults)
    some = [f"{folder} ({what})" for folder, what in islice(faults.items(), _MOST_ALTERED)]
    more = [f"{n_runs - len(some)} more"] if n_runs > len(some) else []
    whose, they = count(n_runs, "run"), "it" if n_runs == 1 else "they"
    return whose, they, listed([*some, *more])


def _unreadable(campaign: Campaign) -> QualityWarningRow:
    whose, they, which = _some(campaign.unreadable)
    text = f"Whether the evidence of {whose} changed after {they} ended is unknown: {which}"
    return QualityWarningRow("The campaign", "", text, "make it readable, then report again", ())


def _altered(campaign: Campaign) -> QualityWarningRow:
    """Return a warning that evidence files were changed.

    The figures are in the journal, so they may be unchanged.
    """
    whose, they, which = _some(campaign.altered)
    text = f"The evidence of {whose} is not what it was when {they} ended: {which}"
    return QualityWarningRow(
        "The campaign", "", text, "'tare verify' names each file; restore them from a copy", ()
    )


def _changed(quality: Quality) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.case for one in quality.changes if one.is_serious))


def _row(alike: Sequence[QualityWarning], campaign: Campaign, variants: Variants) -> QualityWarningRow:
    first = alike[0]
    return QualityWarningRow(
        where=subject(first).capitalize() if first.case is None else variants.case_label(first.case),
        foms=_foms(alike),
        finding=finding(first),
        cure=cure(first, campaign.plan.warmup),
        cases=tuple(variants.variant_of) if first.case is None else (first.case,),
    )


def _odd_runs(
    alike: Sequence[QualityWarning], runs: Mapping[str, Mapping[Pass, Attempt]], variants: Variants
) -> list[OddRun]:
    """Return the rows on outliers; `runs` are those of each case, by pass."""
    first = alike[0]
    case = first.case or ""
    return [
        OddRun(
            where=variants.case_label(case),
            foms=_foms(alike),
            block=one.block,
            finding=finding(first),
            folder=runs[case][one].folder,
        )
        for one in first.passes
    ]


def odd_runs(quality: Quality) -> frozenset[tuple[str, Pass]]:
    """Return the case and the pass of each outlier among the runs of its case."""
    return frozenset(
        (warning.case, one)
        for warning in quality.warnings
        if warning.case is not None and warning.kind is RepeatabilityWarning.OUTLIERS
        for one in warning.passes
    )


def _foms(alike: Iterable[QualityWarning]) -> str:
    return listed([labelled(one.fom, one.labels) for one in alike if one.fom])


def variability_rows(
    found: Sequence[Variability], quality: Quality, variants: Variants
) -> list[VariabilityRow]:
    """Return a row for each contender and configuration, for its first primary figure of merit.

    The note names a quality warning that explains the scatter: a slow first block is not noise.
    """
    first: dict[str, Variability] = {}
    for one in found:
        first.setdefault(one.contender_case, one)
    warned = {warning.case: brief(warning) for warning in reversed(quality.warnings)}
    return [_variability_row(one, warned, variants) for one in first.values()]


def _variability_row(
    one: Variability, warned: Mapping[str | None, str], variants: Variants
) -> VariabilityRow:
    is_known = one.ratio is not None
    cases = (one.reference_case, one.contender_case)
    notes = [f"{variants.variant_of[case].name}: {warned[case]}" for case in cases if case in warned]
    return VariabilityRow(
        variant=variants.variant_of[one.contender_case].name,
        configuration=variants.configuration_of[one.contender_case].label,
        fom=words(one.fom),
        reference_cv=_cv(one.reference_cv),
        contender_cv=_cv(one.contender_cv),
        ratio=ratio(one.ratio),
        interval=ratio_bounds(one.ratio, one.low, one.high),
        n_blocks=one.n_blocks,
        paint=one.verdict.css_class if is_known else "missing",
        sign=one.verdict.sign if is_known else "–",
        verdict=one.verdict.scatter if is_known else "not known",
        note=visible("; ".join(filter(None, (one.note, *notes)))),
        cases=cases,
    )


def _cv(value: float | None) -> str:
    return "–" if value is None else percent(value, is_signed=False)


def whole_run_scatters(scatters: Iterable[CaseScatter]) -> dict[str, str]:
    """Return the scatter of each case's first quoted figure as a whole, by case: ``2.1 % [1.5, 3.9]``."""
    found: dict[str, str] = {}
    for one in scatters:
        if one.case not in found and one.cv is not None:
            found[one.case] = _with_interval(one.cv, one.low, one.high)
    return found


def _with_interval(cv: float, low: float | None, high: float | None) -> str:
    text = percent(cv, is_signed=False)
    if low is None or high is None:
        return text
    ends = (percent(end, is_signed=False).removesuffix(f"{NARROW}%") for end in (low, high))
    return f"{text}{SPACE}[{f',{SPACE}'.join(ends)}]"
