"""Print which compared networks are not proven to have carried data, below a comparison and in its JSON."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.proofs import Uncrossed, Weakness, uncrossed
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.terminal.output import echo

_MOST = 5


def print_uncrossed(campaign: Campaign, reference: Settings | None) -> None:
    """Print the cases whose compared network carried nothing, or is not proven; nothing if there are none."""
    from tare.report.variants import lay_out

    found = uncrossed(campaign, reference)
    if not found:
        return
    variants = lay_out(campaign, ())
    lines = [f"  {variants.case_label(one.case)}: {_describe(one)}" for one in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"  and {len(found) - _MOST} more; see: tare compare --json")
    echo("", "What the networks carried:", *lines)


def uncrossed_body(campaign: Campaign, reference: Settings | None) -> Sequence[dict[str, object]]:
    """Return the key ``networks`` of the JSON of a comparison."""
    return [
        {"case": one.case, "weakness": one.weakness, "n_runs": one.n_runs, "n_measured": one.n_measured}
        for one in uncrossed(campaign, reference)
    ]


def _describe(one: Uncrossed) -> str:
    match one.weakness:
        case Weakness.ONE_NODE:
            return "all ranks are on one node; nothing that they send each other crosses its network"
        case Weakness.NOT_PROVEN:
            of = f"{one.n_runs} of {one.n_measured} {'run' if one.n_measured == 1 else 'runs'}"
            return f"on {of} it is not proven that its network carried the data"
