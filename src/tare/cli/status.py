"""`tare status`: what became of every planned run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from tare.cli.output import json_option, print_json, print_table
from tare.cli.progress import describe
from tare.model.attempt import Attempt, State
from tare.model.campaign import Campaign
from tare.model.case import Run


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--all", "is_all", is_flag=True, help="List the runs that are done, too.")
@json_option
def command(folder: Path, is_all: bool, as_json: bool) -> None:
    """Account for every planned run of the campaign in FOLDER, also while it runs.

    A run is done, failed (why), invalid (which check), lost (tare ended before it did; it is run
    again on resume), running or pending.

    \b
    Example:
      tare status campaigns/demo
    """
    from tare.store.campaign import read_campaign

    campaign = read_campaign(folder)
    rows = account(campaign)
    counts = Counter(row[1] for row in rows)
    if as_json:
        print_json("tare.status/1", _body(campaign, rows, counts))
        return
    click.echo(summary_line(campaign, counts))
    shown = [row for row in rows if is_all or row[1] not in {State.DONE, State.PENDING}]
    if shown:
        click.echo()
        cases = campaign.cases
        print_table(
            ("block", "case", "state", "why"),
            [
                (
                    str(run.block),
                    describe(cases[run.case], campaign.plan.varied),
                    state,
                    attempt.reason if attempt else "",
                )
                for run, state, attempt in shown
            ],
        )


def account(campaign: Campaign) -> list[tuple[Run, State, Attempt | None]]:
    """Return every planned run with its state and last attempt; no run is left out."""
    latest = campaign.latest()
    return [
        (run, latest[run].state if run in latest else State.PENDING, latest.get(run))
        for run in campaign.planned()
    ]


def summary_line(campaign: Campaign, counts: Counter[State]) -> str:
    """Return one line of counts, such as ``demo at lab: 82 of 84 runs done, 2 invalid``."""
    total = sum(counts.values())
    rest = [f"{counts[state]} {state}" for state in State if state is not State.DONE and counts[state]]
    text = f"{campaign.plan.study} at {campaign.plan.site}: {counts[State.DONE]} of {total} runs done"
    return ", ".join([text, *rest])


def _body(
    campaign: Campaign, rows: list[tuple[Run, State, Attempt | None]], counts: Counter[State]
) -> dict[str, object]:
    cases = campaign.cases
    return {
        "study": campaign.plan.study,
        "site": campaign.plan.site,
        "is_running": campaign.is_running,
        "counts": {str(state): counts[state] for state in State},
        "runs": [
            {
                "case": run.case,
                "block": run.block,
                "state": state,
                "reason": attempt.reason if attempt else "",
                "check": attempt.check if attempt else "",
                "attempts": attempt.attempt if attempt else 0,
                "folder": attempt.folder if attempt else None,
                "elapsed_s": attempt.elapsed_s if attempt and not attempt.source else None,
                "transport": attempt.transport if attempt else "",
                "workload": cases[run.case].workload,
                **{
                    name: value
                    for name, value in cases[run.case].settings.items()
                    if name in campaign.plan.varied
                },
            }
            for run, state, attempt in rows
        ],
    }
