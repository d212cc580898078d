"""`tare status`: show the state of every planned run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tare.analysis.repeats.budget import describe_budget
from tare.analysis.spans import spans_of
from tare.cli.logs import moment, print_log
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.units import format_seconds
from tare.terminal.output import echo, json_option, print_json, print_table

_VAGUE = 10.0
"""The half width of an interval, as a share, above which its exact width is not printed."""

if TYPE_CHECKING:
    from tare.analysis.accounting import Accounting, PlannedRun
    from tare.analysis.repeats.stop_reason import StopReason
    from tare.analysis.repeats.stopping import CasePrecision


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--all", "is_all", is_flag=True, help="Also list the runs that are done.")
@click.option("--log", "is_log", is_flag=True, help="Show the campaign's log: what 'tare run' did, and why.")
@click.option(
    "--since",
    callback=moment,
    metavar="TIME",
    help="With --log: only entries since then, such as 30min (ago), or 2026-11-23T14:00 (local time).",
)
@click.option(
    "--level",
    type=click.Choice(("debug", "info", "warning")),
    help="With --log: only entries of this level or above; 'tare run -vv' writes debug.  [default: debug]",
)
@json_option
def command(
    folder: Path, is_all: bool, is_log: bool, since: float | None, level: str | None, as_json: bool
) -> None:
    """Show the state of every planned run of the campaign in DIR, also while it runs.

    A run is done, failed (with the reason), invalid (with the check), lost (tare ended before the run did;
    it is repeated when the campaign continues), running or pending. If the study repeats until its results
    are precise enough, the cases that are not yet precise are listed, and whether the budget stopped it.

    \b
    Examples:
      tare status campaigns/demo
      tare status campaigns/demo --log --since 1h --level warning
    """
    from tare.analysis.accounting import account
    from tare.analysis.repeats.stop_reason import stop_reason
    from tare.storage.pseudonymous import read_shown

    if is_log:
        print_log(folder, since or 0.0, level or "debug", as_json=as_json)
        return
    if since is not None or level is not None:
        raise UsageError("--since and --level choose among the lines of the log; add --log")
    campaign = read_shown(folder)
    found = account(campaign)
    end = stop_reason(campaign)
    if as_json:
        print_json("tare.status/1", _body(campaign, found, end))
        return
    echo(summary_line(campaign, found))
    for line in (*_session_lines(campaign), *_span_lines(campaign), *stop_reason_lines(campaign, end)):
        echo(line)
    shown = [one for one in found.runs if is_all or one.state not in {State.DONE, State.PENDING}]
    if shown:
        echo()
        _print_runs(campaign, shown)


def _print_runs(campaign: Campaign, shown: Sequence[PlannedRun]) -> None:
    """Print runs as a table; if there are several sessions, with the session of each run's last attempt."""
    cases, has_sessions = campaign.cases, len(campaign.sessions) > 1
    rows = [
        (
            str(run.block),
            *([str(attempt.session) if attempt and attempt.session > 0 else ""] if has_sessions else []),
            campaign.plan.describe(cases[run.case]),
            state,
            attempt.reason if attempt else "",
        )
        for run, state, attempt in shown
    ]
    print_table(("block", *(["session"] if has_sessions else []), "case", "state", "why"), rows)


def _session_lines(campaign: Campaign) -> Iterator[str]:
    """Yield a line for each session if there are several: when it began, and how many runs it has done."""
    for one in campaign.sessions if len(campaign.sessions) > 1 else ():
        began = datetime.fromtimestamp(one.began_at, UTC)
        n_done = sum(attempt.session == one.number for attempt in campaign.measured())
        runs = f"{count(n_done, 'run')} done"
        yield f"session {one.number}, begun {began:%Y-%m-%d %H:%M} UTC: {runs}"


def _span_lines(campaign: Campaign) -> Iterator[str]:
    """Yield the time spent in queues, in starting and in ending runs, if they ran in a batch system."""
    spent = spans_of(campaign.attempts)
    if spent.besides_s > 0:
        yield (
            f"time of all runs: {format_seconds(spent.program_s)} in programs, "
            f"{format_seconds(spent.queued_s)} in queues, {format_seconds(spent.starting_s)} in starting and "
            f"{format_seconds(spent.ending_s)} in ending them"
        )


def summary_line(campaign: Campaign, found: Accounting) -> str:
    """Return one line with the counts of states, such as ``demo at lab: 82 of 84 runs done, 2 invalid``."""
    rest = [f"{n} {state}" for state, n in found.others.items()]
    text = (
        f"{campaign.plan.study} at {campaign.plan.site}: {found.n_done} of {count(found.n_planned, 'run')} "
        "done"
    )
    return ", ".join([text, *rest])


def is_all_done(found: Accounting, end: StopReason) -> bool:
    """Return whether every run is done, except those for which no budget is left."""
    n_fine = found.n_done + (found.counts[State.PENDING] if end.is_budget_spent else 0)
    return n_fine == found.n_planned


def stop_reason_lines(campaign: Campaign, end: StopReason, *, most: int | None = None) -> list[str]:
    """Return lines on why the campaign stopped, and on the cases that are not known precisely enough.

    At most `most` of these cases are named, None for all.
    """
    lines = []
    repeats = campaign.plan.repeats
    if end.is_budget_spent:
        lines.append(
            f"the budget of {describe_budget(repeats.budget)} has no room for the next runs; "
            "raise it and add --extend to continue"
        )
    if end.unsettled and repeats.until is not None:
        n_judged = len(end.unsettled) + end.n_settled
        lines.append(
            f"not yet known within ± {percent(repeats.until)}: {len(end.unsettled)} of "
            f"{count(n_judged, 'case')}"
        )
        lines += [f"  {_precision_line(campaign, one)}" for one in end.unsettled[:most]]
        if most is not None and len(end.unsettled) > most:
            lines.append(f"  and {len(end.unsettled) - most} more: tare status {campaign.folder}")
    return lines


def percent(share: float) -> str:
    """Return a share as a percentage, such as ``2 %`` or ``0.5 %``."""
    return f"{share * 100:.2g} %" if share < 0.995 else f"{share * 100:.0f} %"


def _precision_line(campaign: Campaign, one: CasePrecision) -> str:
    case = campaign.plan.describe(campaign.cases[one.case])
    if one.half_width is None:
        return f"{case}: not measured in enough blocks"
    what = "its ratio to the reference" if one.against else "its own value"
    if one.half_width > _VAGUE:
        return (
            f"{case}: {what} is not even known within ± {percent(_VAGUE)} after "
            f"{count(one.n_blocks, 'block')}"
        )
    return (
        f"{case}: {what} counts as known within ± {percent(one.half_width)} after "
        f"{count(one.n_blocks, 'block')}"
    )


def _body(
    campaign: Campaign,
    found: Accounting,
    end: StopReason,
) -> dict[str, object]:
    cases = campaign.cases
    return {
        "study": campaign.plan.study,
        "site": campaign.plan.site,
        "is_running": campaign.is_running,
        "counts": {str(state): n for state, n in found.counts.items()},
        "budget_spent": end.is_budget_spent,
        "time": msgspec.to_builtins(spans_of(campaign.attempts)),
        "sessions": [
            {
                "number": one.number,
                "began_at": one.began_at,
                "blocks": one.blocks or None,
                "n_resumed": one.n_resumed,
                "is_retrying": one.is_retrying,
                "n_done": sum(attempt.session == one.number for attempt in campaign.measured()),
            }
            for one in campaign.sessions
        ],
        "unsettled": [
            {
                "case": one.case,
                "reference": one.against,
                "n_blocks": one.n_blocks,
                "half_width": one.half_width,
            }
            for one in end.unsettled
        ],
        "runs": [
            {
                "case": run.case,
                "block": run.block,
                "state": state,
                "reason": attempt.reason if attempt else "",
                "check": attempt.check if attempt else "",
                "left_out": attempt.left_out if attempt else [],
                "attempts": attempt.attempt if attempt else 0,
                "session": attempt.session if attempt else None,
                "folder": attempt.folder if attempt else None,
                "elapsed_s": attempt.elapsed_s if attempt and not attempt.source else None,
                "queued_s": attempt.queued_s if attempt and not attempt.source else None,
                "starting_s": attempt.starting_s if attempt and not attempt.source else None,
                "ending_s": attempt.ending_s if attempt and not attempt.source else None,
                "transport": attempt.transport if attempt else "",
                "proof": attempt.proof if attempt else None,
                "chosen": attempt.chosen if attempt else "",
                "workload": cases[run.case].workload,
                **{
                    name: value
                    for name, value in cases[run.case].settings.items()
                    if name in campaign.plan.varied
                },
            }
            for run, state, attempt in found.runs
        ],
    }
