"""What speaks against the numbers of a campaign, below its comparisons and in their JSON."""

from __future__ import annotations

import click

from tare.answers.trust import Doubt, trust
from tare.answers.variability import Variability, variabilities
from tare.model.campaign import Campaign
from tare.model.values import Scalar, Settings


def print_doubts(campaign: Campaign) -> None:
    """Print a line for each doubt that touches an answer, and one for the runs that lie far off."""
    from tare.report.sides import lay_out
    from tare.report.words.doubts import finding

    doubts = trust(campaign).doubts
    if not doubts:
        return
    sides = lay_out(campaign, ())
    lines = []
    for one in doubts:
        if one.is_serious:
            where = "all cases" if one.case is None else f"{sides.case_label(one.case)}, {one.fom}"
            lines.append(f"  {where}: {finding(one)}")
    n_odd = len({(one.case, block) for one in doubts if not one.is_serious for block in one.blocks})
    if n_odd:
        lines.append(f"  {n_odd} {'run lies' if n_odd == 1 else 'runs lie'} far off the others of a case")
    click.echo("\n".join(["\nNot to be taken at its word ('tare report' says what to do):", *lines]))


def doubts_body(campaign: Campaign, reference: Settings | None) -> dict[str, object]:
    """Return the keys ``doubts`` and ``variability`` of the JSON of a comparison."""
    return {
        "doubts": [_doubt(one, campaign) for one in trust(campaign).doubts],
        "variability": [_variability(one) for one in variabilities(campaign, reference=reference)],
    }


def _doubt(one: Doubt, campaign: Campaign) -> dict[str, object]:
    return {
        "case": one.case,
        "at": None if one.case is None else _place(campaign, one.case),
        "fom": one.fom,
        "unit": one.unit,
        "suspicion": one.suspicion,
        "is_serious": one.is_serious,
        "blocks": one.blocks,
        "n_blocks": one.n_blocks,
        "size": one.size,
        "levels": one.levels,
        "p": one.p,
    }


def _place(campaign: Campaign, case: str) -> dict[str, Scalar]:
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
        "verdict": one.verdict,
        "note": one.note,
    }
