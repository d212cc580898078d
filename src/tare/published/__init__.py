"""Published results as data: the tables of studies that others made, mapped to Tare's figures of merit."""

from __future__ import annotations

from tare.published.claims import judge_claims, read_claims
from tare.published.runs import PublishedRun, as_campaign, as_runs
from tare.published.tables import Figure, Publication, names, read_publication

__all__ = [
    "Figure",
    "Publication",
    "PublishedRun",
    "as_campaign",
    "as_runs",
    "judge_claims",
    "names",
    "read_claims",
    "read_publication",
]
