"""Print the quality warnings of a campaign, below its comparisons and in their JSON."""

from __future__ import annotations

from tare.analysis.quality import QualityWarning, trust
from tare.analysis.variability import Variability, variabilities
from tare.core.campaign import Campaign
from tare.core.values import Scalar, Settings
from tare.terminal.output import echo


def print_quality_warnings(campaign: Campaign) -> None:
    """Print a line for each serious quality warning, and one with the number of outlying runs."""
    from tare.report.variants import lay_out
    from tare.report.words.quality_warnings import finding, imprecision_words
    from tare.report.words.session_changes import changes_words

    found = trust(campaign)
    variants = lay_out(campaign, ())
    lines = [] if found.imprecision is None else [f"  {imprecision_words(found.imprecision)}"]
    lines += [f"  {line}" for line in changes_words(found.changes, variants.case_label)]
    for one in found.doubts:
        if one.is_serious:
            where = "all cases" if one.case is None else f"{variants.case_label(one.case)}, {_figure(one)}"
            lines.append(f"  {where}: {finding(one)}")
    n_odd = len({(one.case, odd) for one in found.doubts if not one.is_serious for odd in one.passes})
    if n_odd:
        lines.append(f"  {n_odd} {'run lies' if n_odd == 1 else 'runs lie'} far off the others of a case")
    if not lines:
        return
    echo("", "Not to be taken at its word ('tare report' says what to do):", *lines)


def quality_body(campaign: Campaign, reference: Settings | None) -> dict[str, object]:
    """Return the keys ``doubts``, ``session_changes`` and ``variability`` of the JSON of a comparison."""
    found = trust(campaign)
    return {
        "doubts": [_warning_body(one, campaign) for one in found.doubts],
        "imprecision": found.imprecision,
        "session_changes": found.changes,
        "variability": [_variability(one) for one in variabilities(campaign, reference=reference)],
    }


def _warning_body(one: QualityWarning, campaign: Campaign) -> dict[str, object]:
    from tare.report.words.quality_warnings import finding

    return {
        "case": one.case,
        "at": None if one.case is None else _varied_settings(campaign, one.case),
        "fom": one.fom,
        "unit": one.unit,
        "labels": one.labels,
        "suspicion": one.suspicion,
        "is_serious": one.is_serious,
        "may_wander": one.may_wander,
        "finding": finding(one),
        "blocks": one.blocks,
        "n_blocks": one.n_blocks,
        "size": one.size,
        "levels": one.levels,
        "p": one.p,
        "is_of_ratio": one.is_of_ratio,
    }


def _figure(one: QualityWarning) -> str:
    labels = " ".join(f"{name}={value}" for name, value in one.labels.items())
    return f"{one.fom} ({labels})" if labels else one.fom


def _varied_settings(campaign: Campaign, case: str) -> dict[str, Scalar]:
    settings = campaign.cases[case].settings
    return {name: settings[name] for name in ("workload", *campaign.plan.varied) if name in settings}


def _variability(one: Variability) -> dict[str, object]:
    return {
        "fom": one.fom,
        "unit": one.unit,
        "at": one.at,
        "reference": one.reference,
        "contender": one.contender,
        "n_blocks": one.n_blocks,
        "reference_cv": one.reference_cv,
        "contender_cv": one.contender_cv,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "confidence": one.confidence,
        "verdict": one.verdict.value,
        "note": one.note,
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "p_equivalence": one.p_equivalence,
        "p_equivalence_adjusted": one.p_equivalence_adjusted,
        "n_comparisons": one.n_comparisons,
    }
