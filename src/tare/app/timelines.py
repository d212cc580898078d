"""Read the telemetry of runs over time, from Tare's own samples or from those that were imported."""

from __future__ import annotations

from collections.abc import Callable

from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Timeline
from tare.plugins.collectors.sampler import read_timeline
from tare.storage.pseudonymous import PseudonymousView
from tare.storage.telemetry import imported_timeline


def timelines(campaign: Campaign) -> Callable[[Attempt], Timeline | None]:
    """Return what reads the telemetry of an attempt's nodes over time; None where there is none."""
    view, place = PseudonymousView(campaign.pseudonyms), SafeFolder(campaign.folder)

    def read(attempt: Attempt) -> Timeline | None:
        found = place / attempt.folder
        return view.signed(read_timeline(found) or imported_timeline(found))

    return read
