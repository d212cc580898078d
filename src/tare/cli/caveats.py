"""Print what limits the conclusions of a comparison, below its table and in its JSON.

These are quality warnings, facts that differ between the compared sides besides what was varied, and networks
that are not proven to have carried data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from tare.analysis.accounting import UncountedRuns, uncounted
from tare.analysis.confounding import Confounder, confounders
from tare.analysis.pairs import pairs, without_reference
from tare.analysis.proofs import Uncrossed, Weakness, uncrossed
from tare.analysis.trust.quality import Quality, QualityWarning, quality
from tare.analysis.verdicts.variability import variabilities
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.terminal.output import echo, json_fields

_MOST = 5


def print_caveats(campaign: Campaign, reference: Settings | None) -> None:
    """Print quality warnings, runs that do not count, other differences, and networks not proven."""
    _print_warnings(campaign, quality(campaign))
    _print_uncounted(campaign, reference)
    _print_confounders(campaign, reference)
    _print_uncrossed(campaign, reference)


def caveats_body(campaign: Campaign, reference: Settings | None) -> dict[str, object]:
    """Return the keys of the JSON of a comparison that tell what `print_caveats` prints."""
    found = quality(campaign)
    return {
        "doubts": _warnings_body(found.warnings, campaign),
        "imprecision": found.imprecision,
        "session_changes": found.changes,
        "variability": [
            json_fields(one, "reference_case", "contender_case")
            for one in variabilities(campaign, reference=reference)
        ],
        "uncounted": _uncounted_sides(campaign, reference),
        "confounders": [
            {
                "fact": one.difference.fact,
                "reference": one.difference.left,
                "contender": one.difference.right,
                "varied": one.settings,
                "cases": one.cases,
            }
            for one in confounders(campaign, reference)
        ],
        "networks": uncrossed(campaign, reference),
        "without_reference": _without_reference(campaign, reference),
    }


def print_doubts(campaign: Campaign, cases: Collection[str]) -> None:
    """Print the quality warnings about some cases, and those about all cases, if any."""
    found = quality(campaign)
    kept = tuple(one for one in found.warnings if one.case is None or one.case in cases)
    _print_warnings(campaign, msgspec.structs.replace(found, warnings=kept, imprecision=None, changes=()))


def doubts_body(campaign: Campaign, cases: Collection[str]) -> list[dict[str, object]]:
    """Return what `print_doubts` prints, as in the JSON of a comparison."""
    kept = [one for one in quality(campaign).warnings if one.case is None or one.case in cases]
    return _warnings_body(kept, campaign)


def _warnings_body(warnings: Iterable[QualityWarning], campaign: Campaign) -> list[dict[str, object]]:
    return [_warning_body(one, campaign) for one in warnings]


def _print_warnings(campaign: Campaign, found: Quality) -> None:
    """Print a line for each serious quality warning, and one with the number of outlying runs."""
    from tare.report.variants import lay_out
    from tare.report.words.quality_warnings import finding, imprecision_words, subject
    from tare.report.words.session_changes import changes_words

    variants = lay_out(campaign, ())
    lines = [] if found.imprecision is None else [f"  {imprecision_words(found.imprecision)}"]
    lines += [f"  {line}" for line in changes_words(found.changes, variants.case_label)]
    for one in found.warnings:
        if one.is_serious:
            where = subject(one) if one.case is None else f"{variants.case_label(one.case)}, {_figure(one)}"
            lines.append(f"  {where}: {finding(one)}")
    n_odd = len({(one.case, odd) for one in found.warnings if not one.is_serious for odd in one.passes})
    if n_odd:
        lines.append(f"  {n_odd} {'run lies' if n_odd == 1 else 'runs lie'} far off the others of a case")
    if lines:
        echo("", "Results to treat with caution ('tare report' shows what to do):", *lines)


def _warning_body(one: QualityWarning, campaign: Campaign) -> dict[str, object]:
    from tare.report.words.quality_warnings import finding

    settings = {} if one.case is None else campaign.cases[one.case].settings
    varied = {name: settings[name] for name in ("workload", *campaign.plan.varied) if name in settings}
    return json_fields(
        one,
        "passes",
        at=None if one.case is None else varied,
        is_serious=one.is_serious,
        may_wander=one.may_wander,
        finding=finding(one),
    )


def _figure(one: QualityWarning) -> str:
    labels = " ".join(f"{name}={value}" for name, value in one.labels.items())
    return f"{one.fom} ({labels})" if labels else one.fom


def _uncounted_sides(campaign: Campaign, reference: Settings | None) -> list[UncountedRuns]:
    """Return the runs of compared cases that failed or are invalid."""
    sides = {
        one.id for pair in pairs(campaign, reference) for one in (pair.reference_case, pair.contender_case)
    }
    return uncounted(campaign, sides)


def _without_reference(campaign: Campaign, reference: Settings | None) -> list[dict[str, object]]:
    plan = msgspec.structs.replace(campaign.plan, reference=reference or campaign.plan.reference)
    return [
        {"case": one.case.id, "nearest": one.nearest.id, "differing": one.differing}
        for one in without_reference(plan)
    ]


def _print_uncounted(campaign: Campaign, reference: Settings | None) -> None:
    from tare.report.variants import lay_out

    if found := _uncounted_sides(campaign, reference):
        variants = lay_out(campaign, ())
        lines = [
            f"{variants.case_label(one.case)}: "
            + ", ".join(f"{n} of {one.n_runs} {state}" for state, n in one.counts.items())
            for one in found
        ]
        _print_some("Runs that do not count:", lines, "tare status")


def _print_confounders(campaign: Campaign, reference: Settings | None) -> None:
    lines = [_confounder_line(one) for one in confounders(campaign, reference)]
    _print_some("The sides differ in more than what was varied:", lines, "tare environment diff")


def _confounder_line(one: Confounder) -> str:
    varied = " ".join(f"{name}={value}" for name, value in one.settings.items())
    left, right = (
        _shortened("; ".join(values)) or "not recorded"
        for values in (one.difference.left, one.difference.right)
    )
    return f"{varied}: {one.difference.fact} is {right}, and {left} on the reference"


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _print_uncrossed(campaign: Campaign, reference: Settings | None) -> None:
    from tare.report.variants import lay_out

    if found := uncrossed(campaign, reference):
        variants = lay_out(campaign, ())
        lines = [f"{variants.case_label(one.case)}: {_describe_proof(one)}" for one in found]
        _print_some("What the networks carried:", lines, "tare compare --json")


def _describe_proof(one: Uncrossed) -> str:
    match one.weakness:
        case Weakness.ONE_NODE:
            return "all ranks are on one node; nothing that they send each other crosses its network"
        case Weakness.NOT_PROVEN:
            of = f"{one.n_runs} of {one.n_measured} {'run' if one.n_measured == 1 else 'runs'}"
            return f"on {of} it is not proven that its network carried the data"


def _print_some(heading: str, lines: Sequence[str], command: str) -> None:
    """Print the first of `lines` below `heading`, and the `command` that shows the others."""
    if not lines:
        return
    more = [f"  and {len(lines) - _MOST} more; see: {command}"] if len(lines) > _MOST else []
    echo("", heading, *(f"  {line}" for line in lines[:_MOST]), *more)
