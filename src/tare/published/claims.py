"""Read the articles' claims from data/claims.toml, and compare them with the published tables in data/."""

from __future__ import annotations

import functools
import tomllib

import msgspec

from tare.analysis.claims import Claim, ClaimFinding, judge_claim
from tare.core.campaign import Campaign
from tare.published.runs import as_campaign
from tare.published.tables import DATA, read_publication


class _ClaimsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    claims: tuple[Claim, ...]


def read_claims() -> tuple[Claim, ...]:
    """Return every claim in the order of the file, including those without figures in a table."""
    text = (DATA / "claims.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _ClaimsFile).claims


def judge_claims(table: str | None = None) -> list[ClaimFinding]:
    """Return the finding for each claim, or only for the claims that are based on `table`.

    Raises UsageError if there is no such table.
    """
    if table is not None:
        table = read_publication(table).name
    campaigns = functools.cache(_campaign)
    return [
        judge_claim(claim, campaigns(claim.data) if claim.data else None)
        for claim in read_claims()
        if table is None or claim.data == table
    ]


def _campaign(table: str) -> Campaign:
    return as_campaign(read_publication(table))
