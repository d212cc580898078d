"""Which figures of merit a campaign has, for those who name some."""

from __future__ import annotations

from collections.abc import Iterable

from tare.core.campaign import Campaign
from tare.core.errors import UsageError


def require_figures(foms: Iterable[str], campaign: Campaign, option: str) -> None:
    """Raise UsageError, with the figures to choose from, unless the campaign has all of `foms`.

    `option` is how they were given, for the message.
    """
    measured = {series.fom for attempt in campaign.attempts for series in attempt.series}
    measured |= {series.fom for attempt in campaign.attempts for series in attempt.telemetry_series}
    known = {fom.name for foms in campaign.plan.foms.values() for fom in foms} | measured
    for fom in foms:
        if fom not in known:
            raise UsageError(
                f"{option} {fom}: no workload of this campaign has it; choose from {', '.join(sorted(known))}"
            )
