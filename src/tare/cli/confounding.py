"""Print what else differed between the compared sides, below a comparison and in its JSON."""

from __future__ import annotations

from tare.analysis.confounding import Confounder, confounders
from tare.core.campaign import Campaign
from tare.core.values import Settings
from tare.terminal.output import echo

_MOST = 5


def print_confounders(campaign: Campaign, reference: Settings | None) -> None:
    """Print the facts that differed between the sides besides what was varied, if there are any."""
    found = confounders(campaign, reference)
    if not found:
        return
    lines = [f"  {_describe(one)}" for one in found[:_MOST]]
    if len(found) > _MOST:
        lines.append(f"  and {len(found) - _MOST} more; see: tare environment diff")
    echo("", "The sides differ in more than what was varied:", *lines)


def confounders_body(campaign: Campaign, reference: Settings | None) -> list[dict[str, object]]:
    """Return the key ``confounders`` of the JSON of a comparison."""
    return [
        {
            "fact": one.difference.fact,
            "reference": one.difference.left,
            "contender": one.difference.right,
            "varied": one.settings,
            "cases": one.cases,
        }
        for one in confounders(campaign, reference)
    ]


def _describe(one: Confounder) -> str:
    varied = " ".join(f"{name}={value}" for name, value in one.settings.items())
    left, right = (
        _shortened("; ".join(values)) or "not recorded"
        for values in (one.difference.left, one.difference.right)
    )
    return f"{varied}: {one.difference.fact} is {right}, and {left} on the reference"


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
