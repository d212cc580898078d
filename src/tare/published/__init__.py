"""Results from published studies, as data: their tables, mapped to Tare's figures of merit.

`read_publication` reads a table, `as_campaign` makes a campaign of it, and `judge_claims` compares what the
articles claim with their tables.

Example::

    campaign = as_campaign(read_publication(names()[0]))
"""

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
