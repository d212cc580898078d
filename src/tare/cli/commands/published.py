"""`tare published`: list and print results that others published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.options import OutputPath
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.published import Figure, Publication
from tare.terminal.output import echo, json_fields, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.published.claims import ClaimFinding, Evidence


@click.command()
@click.argument("name", required=False)
@click.option(
    "--out",
    "folder",
    type=OutputPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Make a campaign from it in this new folder, for compare, report and export.",
)
@click.option(
    "--claims", "is_claims", is_flag=True, help="Check the claims of the articles against these figures."
)
@json_option
def command(name: str | None, folder: Path | None, is_claims: bool, as_json: bool) -> None:
    """List published results; with NAME, or NAME/SERIES, print its figures.

    They can be the reference of a comparison (see 'tare compare --against'). Most are from single runs, so
    they have no interval, and no verdict can be drawn from them.

    \b
    Examples:
      tare published
      tare published hpcc-fabrics
      tare published --claims
      tare published hpcg-containers --out campaigns/hpcg-containers
      tare compare campaigns/ours --against published:hpcc-fabrics/ib-100g
    """
    from tare.published import names, read_publication

    if is_claims:
        if folder is not None:
            raise UsageError("--claims makes no campaign; leave --out out")
        _judge(name, as_json=as_json)
        return
    if name is None:
        if folder is not None:
            raise UsageError("--out takes one table; name it, as 'tare published' lists them")
        found = [read_publication(one) for one in names()]
        if as_json:
            print_json("tare.published/1", {"publications": [_body(one) for one in found]})
        else:
            _list(found)
        return
    publication = read_publication(name)
    if folder is not None:
        _write(publication, folder)
    if as_json:
        figures = [_figure(one) for one in publication.figures]
        print_json("tare.published/1", {"publications": [{**_body(publication), "figures": figures}]})
    else:
        _print(publication)
        if folder is not None:
            echo("", f"next: tare compare {folder}")


def _judge(name: str | None, *, as_json: bool) -> None:
    from tare.published import judge_claims

    found = judge_claims(name)
    if as_json:
        print_json("tare.claims/1", _claims_body(found))
    else:
        _print_claims(found)


def _list(found: Sequence[Publication]) -> None:
    rows = [(one.name, str(len(one.figures)), one.what, one.source) for one in found]
    print_table(("name", "figures", "what", "source"), rows, frozenset({"figures"}))
    echo("", "More on one of them: tare published NAME")


def _print(publication: Publication) -> None:
    echo(*publication.comment.split("\n"), "")
    coordinates = dict.fromkeys(name for one in publication.figures for name in one.kind.at)
    settings = dict.fromkeys(name for one in publication.figures for name in one.settings)
    varied = [name for name in settings if len({one.settings.get(name) for one in publication.figures}) > 1]
    rows = [
        [
            one.series,
            *(str(one.settings.get(name, "")) for name in varied),
            one.kind.workload if one.kind.has_counterpart else "–",
            one.kind.fom,
            *(str(one.kind.at.get(name, "")) for name in coordinates),
            f"{one.value:.10g}",
            one.kind.unit,
        ]
        for one in publication.figures
    ]
    columns = ["series", *varied, "workload", "figure of merit", *coordinates, "value", "unit"]
    print_table(columns, rows, frozenset({"value", *coordinates}))


def _write(publication: Publication, folder: Path) -> None:
    """Make the campaign in `folder`, or complete one that a killed command left there."""
    from tare.app.importing import existing_import
    from tare.published import as_campaign, as_runs
    from tare.storage.imports import Imported, write_import

    existing, made = existing_import(folder), as_campaign(publication)
    known = {(one.case, one.block) for one in existing.attempts} if existing else set()
    runs = [one for one in as_runs(publication) if (one.attempt.case, one.attempt.block) not in known]
    if existing is not None and (existing.plan.cases != made.plan.cases or not runs):
        raise UsageError(f"{folder} is there already; choose another --out")
    argv = ("tare", "published", publication.name)
    imported = [
        Imported(publication.file, one.case, one.attempt, "stdout", argv, is_linked=False) for one in runs
    ]
    write_import(folder, made.plan, imported, existing)


def _body(publication: Publication) -> dict[str, object]:
    return {
        "name": publication.name,
        "what": publication.what,
        "source": publication.source,
        "series": publication.series,
        "reference": publication.reference,
        "n_figures": len(publication.figures),
    }


def _figure(one: Figure) -> dict[str, object]:
    return json_fields(one, "kind", "started") | json_fields(one.kind, "factors")


def _print_claims(found: Sequence[ClaimFinding]) -> None:
    """Print each claim with its verdict, and below it the numbers with their runs and verdicts."""
    from tare.published.claims import ClaimVerdict

    for finding in found:
        claim = finding.claim
        echo(f"{claim.id}  {finding.verdict.sign} {finding.verdict}: {claim.claim} ({claim.article})")
        if finding.evidence:
            rows = [
                (f"  {one.what}", _evidence_number(one), _runs(one), f"{one.verdict}: {one.why}")
                for one in finding.evidence
            ]
            print_table(("  what", "number", "runs", "verdict"), rows)
        if finding.why:
            echo(f"  {finding.why}")
        echo()
    counts = Counter(finding.verdict for finding in found)
    echo(", ".join(f"{counts[verdict]} {verdict}" for verdict in ClaimVerdict))
    echo("A number is a ratio, or Kendall's tau of an order; in brackets its 95 % interval.")


def _evidence_number(one: Evidence) -> str:
    if one.tau is not None:
        return f"τ = {one.tau:+.2f}".replace("-", "−")
    if one.ratio is None:
        return "–"
    interval = "" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]"
    return f"{one.ratio:.3f}{interval}"


def _runs(one: Evidence) -> str:
    if one.tau is not None:
        return f"{count(one.n_contender, 'level')}"
    return f"{one.n_contender} / {one.n_reference}"


def _claims_body(found: Sequence[ClaimFinding]) -> Mapping[str, object]:
    """Return the findings as ``tare.claims/1`` has them."""
    return {"claims": [_finding_body(one) for one in found]}


def _finding_body(one: ClaimFinding) -> dict[str, object]:
    claim = one.claim
    margin = claim.margin if claim.kind == "equivalent" else None
    shown = json_fields(claim, "fom", "held", "cause", "over", "note", margin=margin)
    return {**shown, **json_fields(one, "claim")}
