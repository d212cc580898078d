"""Which figures of merit a campaign has, for those who name some."""

from __future__ import annotations

from collections.abc import Collection

from tare.core.campaign import Campaign
from tare.core.errors import UsageError, nearest_name
from tare.core.telemetry import PREFIX


def require_figures(foms: Collection[str], campaign: Campaign, option: str) -> None:
    """Raise UsageError, with the figures to choose from, unless the campaign has all of `foms`.

    `option` is how they were given, for the message.
    """
    if not foms:
        return
    measured = {series.fom for attempt in campaign.attempts for series in attempt.series}
    measured |= {series.fom for attempt in campaign.attempts for series in attempt.telemetry_series}
    known = {fom.name for foms in campaign.plan.foms.values() for fom in foms} | measured
    for fom in foms:
        if fom not in known:
            raise UsageError(
                f"{option} {fom}: no workload of this campaign has it; {figure_choices(fom, known)}"
            )


def figure_choices(fom: str, known: Collection[str]) -> str:
    """Return the cure for a figure that is not `known`: those of workloads, or the nearest of telemetry."""
    own = sorted(one for one in known if not one.startswith(PREFIX))
    if not fom.startswith(PREFIX) and own:
        more = (
            f", or one of {len(known) - len(own)} that begin with {PREFIX}" if len(own) < len(known) else ""
        )
        return f"choose from {', '.join(own)}{more}"
    near = nearest_name(fom, known)
    return f"did you mean {near}?" if near else f"choose from {', '.join(sorted(known))}"
