"""The full report of a campaign in its current state, made on request."""

from __future__ import annotations

from tare.core.safe_folder import SafeFolder
from tare.live.watch import FollowedCampaign
from tare.plugins.collectors.sampler import read_timeline
from tare.report.charts.painting import Painter
from tare.report.content import content
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics
from tare.storage.manifest import with_altered
from tare.storage.pseudonymous import PseudonymousView, read_shown
from tare.storage.telemetry import imported_timeline


def full_report(watched: FollowedCampaign) -> str:
    """Return the page that `tare report` would write now.

    The page is cached until another run ends. A report in the campaign's folder is never used: it may be old,
    or somebody else may have written it. Raises CampaignError.
    """
    with watched.reporting:
        campaign_state = watched.campaign_state
        revision = max(campaign_state.ended_revision, campaign_state.matrix_revision) if campaign_state else 0
        if watched.report is None or watched.report[0] != revision:
            watched.report = (revision, _render(watched))
        return watched.report[1]


def _render(watched: FollowedCampaign) -> str:
    campaign = read_shown(watched.folder, watched.pseudonyms.entries)
    view = PseudonymousView(campaign.pseudonyms)
    campaign = with_altered(campaign)
    folder = SafeFolder(watched.folder)
    statistics = ReportStatistics.of(campaign)
    found = content(
        campaign,
        statistics,
        painter=Painter(),
        read_timeline=lambda one: view.signed(
            read_timeline(folder / one.folder) or imported_timeline(folder / one.folder)
        ),
    )
    return render(campaign, found)
