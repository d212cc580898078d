"""The full report of a campaign as it is now, made when somebody asks for it."""

from __future__ import annotations

import msgspec

from tare.beneath import Beneath
from tare.collectors.sampler import read_timeline
from tare.report.charts.painting import Here
from tare.report.content import content
from tare.report.formats.page import render
from tare.report.report_answers import ReportAnswers
from tare.serve.watch import Watched
from tare.store.manifest import altered
from tare.store.shown import Shower, read_shown
from tare.store.telemetry import imported_timeline


def full_report(watched: Watched) -> str:
    """Return the page that `tare report` would write now, kept until another run has ended.

    It is never taken from the campaign's folder: what lies there may be old, or somebody else's.
    Raises CampaignError.
    """
    with watched.reporting:
        book = watched.book
        revision = max(book.ended_revision, book.matrix_revision) if book else 0
        if watched.report is None or watched.report[0] != revision:
            watched.report = (revision, _render(watched))
        return watched.report[1]


def _render(watched: Watched) -> str:
    campaign = read_shown(watched.folder, watched.signs.entries)
    shower = Shower(campaign.signs)
    campaign = msgspec.structs.replace(campaign, altered=altered(campaign))
    place = Beneath(watched.folder)
    answers = ReportAnswers.of(campaign)
    found = content(
        campaign,
        answers,
        painter=Here(),
        read_timeline=lambda one: shower.signed(
            read_timeline(place / one.folder) or imported_timeline(place / one.folder)
        ),
    )
    return render(campaign, found)
