"""Print comparisons as a table, and explain its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.comparison import Comparison, Correction, Mean
from tare.core.plan import Plan
from tare.core.study import setting_order
from tare.core.telemetry import PREFIX
from tare.core.values import Scalar, Settings
from tare.plan.checks import across_workloads
from tare.terminal.output import Painted, echo, plain, print_table

if TYPE_CHECKING:
    from tare.analysis.pairs import Unpaired
    from tare.analysis.verdicts.families import FamilyKind

_TOGETHER = {
    Correction.HOLM: "Among {n} comparisons{of} the chance that any 'worse' or 'better' is false is at "
    "most {alpha} %; so is the chance that any 'equivalent' is.",
    Correction.FDR: "Among {n} comparisons{of} at most {alpha} % of those called worse or better are not, in "
    "the mean; so with those called equivalent.",
    Correction.NONE: "Each of {n} comparisons{of} is judged by itself: if nothing differs, {alpha} of 100 "
    "are called worse or better.",
}
"""The error rate of all verdicts of one family, as a sentence."""


def _print_nothing(campaign: Campaign, reference: Settings) -> None:
    """Print why there is no row: nothing was measured, or no case has a reference."""
    plan = msgspec.structs.replace(campaign.plan, reference=reference or campaign.plan.reference)
    sentences = uncompared_sentences(plan) if campaign.measured() else []
    echo("Nothing to compare" + (":" if sentences else " yet; 'tare status' shows what has run."))
    for sentence in sentences[:_MOST_SENTENCES]:
        echo(f"  {sentence}")
    if len(sentences) > _MOST_SENTENCES:
        echo(f"  … and {len(sentences) - _MOST_SENTENCES} more")


_MOST_SENTENCES = 10


def uncompared_sentences(plan: Plan) -> list[str]:
    """Return a sentence for each case without a reference: how the nearest one differs, and the cure."""
    from tare.analysis.pairs import without_reference

    return _uncompared(plan, without_reference(plan))


def _uncompared(plan: Plan, unpaired: Iterable[Unpaired]) -> list[str]:
    sentences = []
    for one in unpaired:
        near, own = one.nearest.settings, one.case.settings
        differing = ", ".join(
            f"{name} ({near.get(name, 'unknown')}, not {own.get(name, 'unknown')})" for name in one.differing
        )
        named = " ".join(f"{name}={near[name]}" for name in one.differing if name in near)
        cure = f"; to hold it against that all the same, add {named} to the reference" if named else ""
        sentences.append(
            f"{plan.describe(one.case)} is held against nothing: the nearest reference has other "
            f"{differing}{cure}"
        )
    return sentences


def print_comparisons(
    campaign: Campaign, found: Sequence[Comparison], reference: Settings, *, is_default: bool = True
) -> None:
    """Print one row for each comparison, explain the columns, and name the cases that have no reference.

    Families are named if each is corrected as by default (`is_default`): that tells points from figures.
    """
    from tare.analysis.pairs import without_reference
    from tare.report.words.changes import from_to, legend
    from tare.report.words.numbers import is_manifold
    from tare.report.words.pairing import cure, unpaired_warning

    if not found:
        _print_nothing(campaign, reference)
        return
    cases, margin = campaign.cases, campaign.plan.margin
    written = campaign.plan.written
    sides = sorted(reference, key=setting_order)
    against = " · ".join(written(name, reference[name]) for name in sides)
    contenders = _Contenders(campaign.plan, sides)
    plan = msgspec.structs.replace(campaign.plan, reference=reference)
    compared = {one.workload for one in (cases[one.contender_case] for one in found)}
    unpaired = [one for one in without_reference(plan) if one.case.workload in compared]
    settings_shown = _distinguishing_settings(
        [*(one.at for one in found), *map(_shared_of(plan), unpaired)], leave_out=reference
    )
    columns = (
        "contender",
        "workload",
        "at",
        "figure of merit",
        *_LEVELS,
        f"against {against}",
        "n",
        "verdict",
    )
    rows = [
        (
            contenders.name(one),
            cases[one.contender_case].workload,
            " ".join(f"{name}={written(name, one.at[name])}" for name in settings_shown if name in one.at),
            _figure(one),
            *_levels(one),
            format_ratio(one),
            str(one.n_blocks),
            describe_verdict(one),
        )
        for one in found
    ]
    print_table(columns, rows, frozenset({"n", *_LEVELS}), optional=frozenset({"at", *_LEVELS}))
    within = f"within ± {margin * 100:.6g} %{plain(from_to(margin))}"
    echo("", *_explained(found, against, within), legend())
    manifold = [one for one in found if one.ratio is not None and is_manifold(one.ratio)]
    if manifold:
        ratio = format_ratio(manifold[0]).partition(" [")[0]
        echo(f"Beyond tenfold it is the ratio itself: {ratio} that of {against}.")
    profiled = _WITHOUT_PROFILE if campaign.profiled() else ""
    across = across_workloads(plan)
    for line in (
        profiled,
        *_error_rates(found, is_default=is_default),
        unpaired_warning(found),
        cure(campaign, found),
        *across,
    ):
        if line:
            echo(line)
    _print_uncompared(plan, unpaired)


def _print_uncompared(plan: Plan, unpaired: Sequence[Unpaired]) -> None:
    """Name the cases that the table leaves out, as there is no reference for them."""
    if not unpaired:
        return
    shown = _uncompared(plan, unpaired[:_MOST_SENTENCES])
    more = [f"… and {len(unpaired) - _MOST_SENTENCES} more"] if len(unpaired) > _MOST_SENTENCES else []
    echo("", "Not in the table:", *(f"  {line}" for line in (*shown, *more)))


def _shared_of(plan: Plan) -> Callable[[Unpaired], Settings]:
    """Return what gives the settings of a case that would be shared with its reference."""
    names = ("workload", *plan.varied)
    return lambda one: {name: value for name, value in one.case.settings.items() if name in names}


_WITHOUT_PROFILE = (
    "All are of runs without the profile. 'tare why' judges profiled runs, and may find otherwise."
)


def _explained(found: Sequence[Comparison], against: str, within: str) -> tuple[str, ...]:
    """Return what the numbers of the rows are, and when one of them is equivalent."""
    from tare.report.words.pairing import over_words

    each, over = f"Each is the change against {against}", over_words(found)
    if all(one.low is None for one in found):
        return (f"{each}, {over}; none has an interval, so nothing is decided.",)
    return (
        f"{each} with its {found[0].confidence:.0%} interval, {over};",
        f"equivalent where the whole interval is {within}.",
    )


_LEVELS = ("reference", "measured")
"""Columns with the values of both sides, in the unit of the figure; a mean over sizes has no unit."""


def _levels(one: Comparison) -> tuple[str, str]:
    from tare.report.words.changes import levels

    reference, contender = levels(one) or ("", "")
    return " ".join(reference.split()), " ".join(contender.split())


def _figure(one: Comparison) -> str:
    over = f" over {' and '.join(one.over)}" if one.over else ""
    return f"{named_with_unit(one.fom, one.unit)}{over}"


def named_with_unit(fom: str, unit: str) -> str:
    """Return a figure with its unit, if it has one: ``time, s``."""
    return f"{fom}, {unit}" if unit else fom


def _error_rates(found: Sequence[Comparison], *, is_default: bool) -> Iterator[str]:
    """Yield sentences on the error rates of families with several rows, and on repeated looks and means."""
    from tare.report.words.mean_cost import averaged_words, misasked_words

    families = dict.fromkeys(
        (_kind(one) if is_default else None, one.correction, one.family, one.confidence) for one in found
    )
    kinds = {kind for kind, *_ in families}
    for kind, correction, size, confidence in families:
        if size > 1:
            of = f" of {kind.value}" if kind and len(kinds) > 1 else ""
            yield _TOGETHER[correction].format(n=size, of=of, alpha=f"{100 - confidence * 100:.3g}")
    if any(one.look > 1 for one in found):
        yield (
            "Blocks were added after results could be read: verdicts share the allowed error with the "
            "earlier ones; intervals do not, and miss the true value in 6 instead of 5 of 100 studies."
        )
    if any(one.planned_blocks for one in found):
        yield "Preliminary: more blocks are planned, and these results may change."
    mean = found[0].mean
    if any(one.mean_cost is not None and one.mean_cost.is_notable for one in found):
        rest = "median" if mean is Mean.MEDIAN else f"{mean} mean"
        yield "If the mean of what adds up (of costs arithmetic, of rates harmonic) differs, it is shown;"
        yield f"verdicts rest on the {rest} (docs/trust.md)."
    else:
        yield averaged_words(mean)
    yield misasked_words(mean, [one.better for one in found])
    yield from _assumptions(found)


def _kind(one: Comparison) -> FamilyKind:
    """Return the family in which a row is judged."""
    from tare.analysis.verdicts.families import FamilyKind

    if one.fom.startswith(PREFIX):
        return FamilyKind.TELEMETRY
    if one.correction is Correction.FDR:
        return FamilyKind.POINTS
    return FamilyKind.QUOTED if one.is_primary else FamilyKind.OTHERS


def _assumptions(found: Sequence[Comparison]) -> Iterator[str]:
    """Yield the assumptions that a comparison of few blocks makes and cannot check."""
    from tare.report.words.assumed import assumed_words, footnote

    yield from filter(None, (assumed_words(found), footnote(found)))


class _Contenders:
    """Names contenders by the settings `sides` that the reference names, and by what these do not tell.

    Cases that a study lists may differ in more: two ranks with n=14 are then held against one with n=12.
    """

    def __init__(self, plan: Plan, sides: Sequence[str]) -> None:
        self._plan, self._sides = plan, sides
        self._values: dict[tuple[object, ...], set[Scalar]] = {}
        """The values that a setting has among the cases that are alike in workload and `sides`."""
        for case in plan.cases:
            for name, value in case.settings.items():
                self._values.setdefault((name, *self._alike(case)), set()).add(value)

    def _alike(self, case: Case) -> tuple[object, ...]:
        return (case.workload, *(case.settings.get(name) for name in self._sides))

    def name(self, one: Comparison) -> str:
        """Return the name of the contender of `one`."""
        case, written = self._plan.cases_by_id[one.contender_case], self._plan.written
        alike = self._alike(case)
        named = [written(name, case.settings.get(name, "none")) for name in self._sides]
        further = [
            f"{name}={written(name, value)} against {written(name, one.reference[name])}"
            for name, value in one.contender.items()
            if name not in self._sides and name in one.reference and len(self._values[name, *alike]) > 1
        ]
        return " · ".join((*named, *further))


def _distinguishing_settings(settings_shown: Sequence[Settings], leave_out: Settings) -> list[str]:
    """Return the settings that distinguish rows, without those that the workload or earlier ones imply."""
    names = dict.fromkeys(name for at in settings_shown for name in at if name not in leave_out)
    distinguishing = ["workload"]
    for name in names:
        seen: dict[tuple[Scalar | None, ...], Scalar | None] = {}
        for at in settings_shown:
            key = tuple(at.get(before) for before in distinguishing)
            if seen.setdefault(key, at.get(name)) != at.get(name):
                distinguishing.append(name)
                break
    return distinguishing[1:]


def format_ratio(one: Comparison) -> str:
    """Return the change of a figure as the report shows it, such as ``+68 % [61, 75]``.

    If the change is more than tenfold, it is the ratio: ``161 × [155, 167]``.
    """
    from tare.report.words.changes import change

    return " ".join(str(change(one) or "–").split())


def describe_verdict(one: Comparison) -> str:
    """Return the text of a verdict, with its note and with what would decide an undecided one."""
    from tare.report.words.assumed import assumed_mark
    from tare.report.words.mean_cost import beside_words
    from tare.report.words.pairing import APART, UNCROSSED, verdict_mark

    if one.is_apart:
        return f"– {APART}"
    if one.is_uncrossed:
        return f"– {UNCROSSED}: {one.note}"
    mark = verdict_mark(one)
    text = f"{one.verdict.sign} {one.verdict}{assumed_mark(one)}{mark}"
    needs = f"needs ~{one.more_blocks} more block{'s'[: one.more_blocks > 1]}" if one.more_blocks else ""
    note = one.note.removeprefix("unpaired: ") if mark else one.note
    rest = "; ".join(filter(None, (needs, note, " ".join(beside_words(one).split()))))
    rest = f": {rest}" if rest else ""
    colour = one.verdict.look.terminal
    return f"{text}{rest}" if colour is None else Painted.of(text, colour, rest)
