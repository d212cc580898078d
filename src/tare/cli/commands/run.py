"""`tare run`: run a study, or resume or extend a campaign."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from tare.app import planning
from tare.app.run_options import RunOptions, describe_boost
from tare.app.session import blocks_begun_with, carry_out
from tare.cli.commands.status import is_all_done, stop_reason_lines, summary_line
from tare.cli.logs import is_very_verbose, log_options
from tare.cli.options import OutputPath, redact_option
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.packets import faults as packet_faults
from tare.core.plan import Plan
from tare.core.pseudonyms import Pseudonyms, merged
from tare.core.telemetry_options import LEAST_PERIOD_S
from tare.core.units import Dimension, parse_quantity
from tare.storage.pseudonymous import PseudonymousView
from tare.terminal.output import echo_or_drop
from tare.terminal.progress import make_progress

if TYPE_CHECKING:
    from tare.analysis.accounting import Accounting
    from tare.analysis.repeats.stop_reason import StopReason


_MOST_RUNS_UNASKED = 10_000

_PID = re.compile(r"\[\d+\]")
"""A process id after a program's name, as in ``ssh[4711]``; it would make equal reasons differ."""

_NO_NETWORK = (
    "Packets are counted on a case's network, and no case has one: none will be counted; "
    "name networks in the site file, and network among the factors"
)


class Period(NamedTuple):
    """The seconds between samples that an option asks for; `period_s` is None for no samples."""

    period_s: float | None


def telemetry_period(context: click.Context, parameter: click.Parameter, value: str | None) -> Period | None:
    """Return ``1s`` or ``off`` as a period, for click; None if the option is not given."""
    if value is None:
        return None
    if value == "off":
        return Period(None)
    try:
        period_s = parse_quantity(value, Dimension.SECONDS)
    except ValueError as error:
        raise click.BadParameter(f"{error}, or off", context, parameter) from error
    if period_s < LEAST_PERIOD_S:
        raise click.BadParameter(f"{value!r} is too often; use 10ms or more, or off", context, parameter)
    return Period(period_s)


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=OutputPath(file_okay=False, path_type=Path),
    help="Campaign folder.  [default: campaigns/STUDY-DATE]",
)
@click.option("--extend", is_flag=True, help="Add blocks, or new cases of the study, to a campaign.")
@click.option(
    "--blocks", type=click.IntRange(min=1), help="Run this many blocks instead of the study's number."
)
@click.option("--yes", is_flag=True, help="Begin a campaign of more than 10,000 runs without confirmation.")
@click.option("--retry-failed", is_flag=True, help="Repeat runs that failed or are invalid.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Run at most this many at a time, each on its own nodes. For batch systems, see in_flight.",
)
@click.option(
    "--boost/--no-boost",
    default=True,
    show_default=True,
    help="Give runs a higher priority than other programs on their nodes, if the user may (root).",
)
@click.option(
    "--rehearsal/--no-rehearsal",
    default=True,
    show_default=True,
    help="Before the first run, check that each program can start on each platform.",
)
@click.option(
    "--keep-storage", is_flag=True, help="Keep what runs write on storage paths; each run has its own folder."
)
@click.option(
    "--telemetry",
    callback=telemetry_period,
    metavar="PERIOD|off",
    help="The interval at which nodes are sampled, such as 100ms, or off.  [default: 1s, or the study's]",
)
@click.option(
    "--packets/--no-packets",
    default=None,
    help="Count packets by size on each case's network.  [default: as in the study]",
)
@click.option(
    "--profile",
    is_flag=True,
    help="Run each case once more in each block with a library that profiles its communication.",
)
@redact_option
@log_options
@click.pass_context
def command(
    context: click.Context,
    study: Path,
    out: Path | None,
    extend: bool,
    blocks: int | None,
    yes: bool,
    retry_failed: bool,
    jobs: int,
    boost: bool,
    rehearsal: bool,
    keep_storage: bool,
    telemetry: Period | None,
    packets: bool | None,
    profile: bool,
    redacted: tuple[str, ...],
) -> None:
    """Run STUDY, a study file, or continue STUDY, a campaign folder.

    Each block runs all cases in a new random order. After an interruption, a crash or a full disk, the
    same command continues where it stopped. Finished runs are not repeated, with one exception: after more
    than five minutes, the runs with which the new ones are compared run again, because only runs that ran
    together are compared.

    \b
    Examples:
      tare run studies/demo.yaml --out campaigns/demo
      tare run campaigns/demo                          continue after an interruption
      tare run campaigns/demo --extend --blocks 70     more blocks: 70 in all
      tare run study.yaml --jobs 4                     four runs at a time, on different nodes
      tare run study.yaml --telemetry off --packets    no samples; packets by size
      tare run study.yaml --profile                    where the time of each rank goes, for tare why
      tare run study.yaml -v                           print what is sent where, as in the log
    """
    from tare.analysis.accounting import account
    from tare.analysis.repeats.stop_reason import stop_reason

    planning.require_one_folder(study, out, "--out")
    loaded = planning.load(study, blocks, like=out)
    if study.is_dir() and blocks is None and not extend:
        loaded = planning.load(study, blocks_begun_with(study, loaded))
    loaded = loaded._replace(plan=_with_telemetry(loaded.plan, telemetry, packets))
    loaded = loaded.with_profile() if profile else loaded
    folder = study if study.is_dir() else out or _default_folder(loaded.plan)
    loaded = loaded.with_pseudonyms(Pseudonyms(merged(loaded.composer.pseudonyms.entries, redacted)))
    echo_or_drop(f"campaign {folder}")
    if loaded.plan.telemetry.is_counting_packets and all(one.network is None for one in loaded.plan.cases):
        echo_or_drop(_NO_NETWORK)
    _require_confirmed(loaded.plan, folder, is_confirmed=yes)
    shown = PseudonymousView(loaded.composer.pseudonyms).plan(loaded.plan)
    for note in shown.notes:
        echo_or_drop(f"note: {note}")
    for one in shown.left_out:
        echo_or_drop(f"left out: {one}")
    display = make_progress(shown)
    options = RunOptions(jobs=jobs, keeps_storage=keep_storage, boosts=boost, is_rehearsing=rehearsal)
    is_ours = any(not loaded.composer.is_queued(case) for case in loaded.plan.cases)
    if is_ours and (boost_text := describe_boost(loaded.composer.site, options)):
        echo_or_drop(f"priority of the runs' sessions: {boost_text}")
    campaign = carry_out(
        folder,
        loaded,
        display,
        is_extending=extend,
        is_retrying_failed=retry_failed,
        options=options,
        log_level=logging.DEBUG if is_very_verbose(context) else logging.INFO,
    )
    found, end = account(campaign), stop_reason(campaign)
    _print_summary(campaign, found, end, loaded)
    if not is_all_done(found, end):
        raise click.exceptions.Exit(1)


def _require_confirmed(plan: Plan, folder: Path, *, is_confirmed: bool) -> None:
    """Raise UsageError if a new campaign has very many runs and the user has not confirmed that.

    `is_confirmed` says that the user has; at a terminal, the user is asked.
    """
    from tare.storage.campaign import is_campaign

    if is_confirmed or plan.n_runs <= _MOST_RUNS_UNASKED or is_campaign(folder):
        return
    numbers = {"case": len(plan.cases), "block": plan.repeats.min, "run": plan.n_runs}
    cases, blocks, runs = (count(n, noun, is_grouped=True) for noun, n in numbers.items())
    size = f"{cases} × {blocks} = {runs}"
    if sys.stdin.isatty() and click.confirm(f"{size}. Begin?"):
        return
    raise UsageError(f"{size}; look at 'tare plan', and add --yes to begin so many")


def _with_telemetry(plan: Plan, period: Period | None, packets: bool | None) -> Plan:
    """Return `plan` with the telemetry that options ask for; None keeps the study's setting."""
    telemetry_options = plan.telemetry
    if period is not None:
        telemetry_options = msgspec.structs.replace(telemetry_options, period_s=period.period_s)
    if packets is not None:
        telemetry_options = msgspec.structs.replace(telemetry_options, is_counting_packets=packets)
    return msgspec.structs.replace(plan, telemetry=telemetry_options)


def _default_folder(plan: Plan) -> Path:
    return Path("campaigns") / f"{plan.study}-{time.strftime('%Y-%m-%dT%H%M%S')}"


def most_frequent(reasons: Counter[str], most: int) -> Iterator[str]:
    """Yield the most frequent reasons, each with how many runs have it, and how many others there are."""
    shown = reasons.most_common(most)
    yield from (f"{n_alike} × {reason}" for reason, n_alike in shown)
    if n_others := len(reasons) - len(shown):
        n_runs = reasons.total() - sum(n_alike for _, n_alike in shown)
        yield f"… and {count(n_others, 'more reason')}, of {count(n_runs, 'run')}"


def _print_summary(
    campaign: Campaign, accounting: Accounting, end: StopReason, loaded: planning.Loaded
) -> None:
    echo_or_drop(summary_line(campaign, accounting))
    for line in stop_reason_lines(campaign, end, most=5):
        echo_or_drop(line)
    why = Counter(
        f"{attempt.state}: {_PID.sub('', attempt.reason)}"
        for _, state, attempt in accounting.runs
        if attempt is not None and state is not State.DONE
    )
    folders = [campaign.folder / one.folder for one in campaign.measured()]
    lost = Counter({f"packets not all counted: {fault}": n for fault, n in packet_faults(folders).items()})
    for line in (*most_frequent(why, 5), *most_frequent(lost, 3)):
        echo_or_drop(f"  {line}")
    if campaign.plan.reference and accounting.n_done:
        from tare.analysis.quoted_figures import quoted
        from tare.analysis.verdicts.compare import aggregates
        from tare.cli.commands.compare import print_other_figures
        from tare.cli.comparison_table import print_comparisons

        echo_or_drop()
        found = aggregates(campaign)
        rows = quoted(found)
        print_comparisons(campaign, rows, campaign.plan.reference)
        print_other_figures(rows, found)
    echo_or_drop()
    if accounting.counts[State.FAILED] or accounting.counts[State.INVALID]:
        echo_or_drop(f"once that is mended: tare run {campaign.folder} --retry-failed")
    if _may_have_been_misread(campaign, loaded):
        echo_or_drop(
            "if the study's figures or checks are wrong, mend them: "
            f"tare reparse {campaign.folder} STUDY --out DIR reads the outputs anew, and runs nothing"
        )
    echo_or_drop(f"next: tare report {campaign.folder}")


def _may_have_been_misread(campaign: Campaign, loaded: planning.Loaded) -> bool:
    """Return whether a run is invalid only by what the study makes of its output."""
    from tare.app.reparsing import reads

    known = loaded.composer.site.platforms  # by their own names: those of `campaign` may be pseudonyms
    platforms = {case.id: known[case.platform] for case in loaded.plan.cases}
    invalid = (one for one in campaign.attempts if one.state is State.INVALID)
    return any(reads(one, platforms[one.case]) for one in invalid)
