"""`tare published --claims`: whether the published figures support the claims made with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tare.published.claims import ClaimFinding, ClaimVerdict, Evidence
from tare.terminal.output import echo, json_fields, print_table


def print_claims(found: Sequence[ClaimFinding]) -> None:
    """Print each claim with its verdict, and below it the numbers with their runs and verdicts."""
    for finding in found:
        claim = finding.claim
        echo(f"{claim.id}  {finding.verdict.sign} {finding.verdict}: {claim.claim} ({claim.article})")
        if finding.evidence:
            rows = [
                (f"  {one.what}", _number(one), _runs(one), f"{one.verdict}: {one.why}")
                for one in finding.evidence
            ]
            print_table(("  what", "number", "runs", "verdict"), rows)
        if finding.why:
            echo(f"  {finding.why}")
        echo()
    counts = Counter(finding.verdict for finding in found)
    echo(", ".join(f"{counts[verdict]} {verdict}" for verdict in ClaimVerdict))
    echo("A number is a ratio, or Kendall's tau of an order; in brackets its 95 % interval.")


def _number(one: Evidence) -> str:
    if one.tau is not None:
        return f"τ = {one.tau:+.2f}".replace("-", "−")
    if one.ratio is None:
        return "–"
    interval = "" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]"
    return f"{one.ratio:.3f}{interval}"


def _runs(one: Evidence) -> str:
    if one.tau is not None:
        return f"{one.n_contender} levels"
    return f"{one.n_contender} / {one.n_reference}"


def claims_body(found: Sequence[ClaimFinding]) -> Mapping[str, object]:
    """Return the findings as ``tare.claims/1`` has them."""
    return {"claims": [_finding_body(one) for one in found]}


def _finding_body(one: ClaimFinding) -> dict[str, object]:
    claim = one.claim
    margin = claim.margin if claim.kind == "equivalent" else None
    shown = json_fields(claim, "fom", "held", "cause", "over", "note", margin=margin)
    return {**shown, **json_fields(one, "claim")}
