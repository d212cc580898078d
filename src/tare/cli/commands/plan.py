"""`tare plan`: show what would run, in which order, and by which exact commands."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tare.analysis.repeats.budget import describe_budget
from tare.app import planned_tasks, planning
from tare.app.inputs import missing_inputs
from tare.cli import shell_text
from tare.cli.commands.status import percent
from tare.core.collection import no_collection
from tare.core.counting import count, node_hours
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.pseudonyms import Pseudonyms
from tare.core.study import Budget
from tare.core.units import format_seconds
from tare.core.workload import written
from tare.storage.pseudonymous import PseudonymousView
from tare.storage.pseudonyms import read_pseudonyms
from tare.terminal.output import echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.analysis.repeats.cost import Amount, Cost
    from tare.app.remaining import Remaining
    from tare.core.values import Scalar
    from tare.core.workload import ParameterKind, Stage
    from tare.execution.compose import Composer


@click.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True))
@click.option("--show", is_flag=True, help="Print the exact command line and environment of each case.")
@click.option(
    "--redacted",
    "is_redacted",
    is_flag=True,
    help="With --show: hide secrets, and what the site redacts, so that others may read the commands.",
)
@click.option(
    "--order",
    "is_ordered",
    is_flag=True,
    help="Print the runs block by block, in the order in which they run.",
)
@click.option(
    "--blocks", type=click.IntRange(min=1), help="Plan this many blocks instead of the study's number."
)
@click.option(
    "--like",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Estimate times and numbers of blocks from the same cases in this campaign.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Show which runs of this campaign remain, and which are repeated.  [default: STUDY's own]",
)
@click.option("--retry-failed", is_flag=True, help="Also count runs that failed or are invalid as remaining.")
@json_option
@no_collection()
def command(
    study: Path,
    show: bool,
    is_redacted: bool,
    is_ordered: bool,
    blocks: int | None,
    like: Path | None,
    out: Path | None,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Show the cases of STUDY, a study file or a campaign folder, and their cost. Starts nothing.

    --like names an earlier campaign with some of the same cases. Then the expected hours are shown, and
    the blocks of each case if the study repeats until its results are precise enough. For a campaign, or
    with --out, the runs that 'tare run' would still make or repeat are shown, too.

    \b
    Examples:
      tare plan studies/demo.yaml
      tare plan studies/demo.yaml --show | less            exactly what runs, secrets included
      tare plan studies/demo.yaml --like campaigns/demo
      tare plan studies/demo.yaml --out campaigns/demo     what is left, before an extension
      tare plan campaigns/demo --blocks 70                 what is left until 70 blocks
      tare plan campaigns/demo --retry-failed              what is left, with what failed
    """
    if is_redacted and not show:
        raise UsageError("--redacted is for the commands of --show; all else is redacted anyway")
    loaded = planning.load(study, blocks)
    if study.is_dir() and blocks is None:
        from tare.app.session import blocks_begun_with  # most plans have no campaign yet

        loaded = planning.load(study, blocks_begun_with(study, loaded))
    pseudonyms = (
        read_pseudonyms(study, loaded.composer.pseudonyms.entries)
        if study.is_dir()
        else loaded.composer.pseudonyms
    )
    plan = PseudonymousView(pseudonyms).plan(loaded.plan)
    cost = _cost(loaded, like)
    folder = out or (study if study.is_dir() else None)
    if retry_failed and folder is None:
        raise UsageError(f"--retry-failed asks for runs of a campaign: tare plan {study} --out DIR")
    is_asked = as_json or not (show or is_ordered)
    rest = _rest(folder, loaded, is_retrying=retry_failed) if folder and is_asked else None
    if as_json:
        cases = [{"id": case.id, **case.settings} for case in plan.cases]
        traps = planned_tasks.traps_of(loaded)
        shown_traps = [
            msgspec.structs.replace(
                one, platform=pseudonyms.text(one.platform), trap=pseudonyms.text(one.trap)
            )
            for one in traps
        ]
        missing = [pseudonyms.text(str(one)) for one in missing_inputs(loaded)]
        extra = {
            "notes": plan.notes,
            "left_out": plan.left_out,
            "traps": shown_traps,
            "missing_inputs": missing,
            "rest": rest,
        }
        print_json(
            "tare.plan/1", {"study": plan.study, "cases": cases, "runs": plan.n_runs, "cost": cost, **extra}
        )
    elif show:
        _print_commands(loaded, pseudonyms if is_redacted else None)
    elif is_ordered:
        _print_order(plan)
    else:
        _print_cases(plan, cost)
        _print_cost(plan, cost, like)
        for line in plan_notes(plan):
            echo(line)
        for found in planned_tasks.traps_of(loaded):
            n_cases = count(found.n_cases, "case")
            echo(pseudonyms.text(f"trap: {n_cases} on {found.platform}: {found.trap}"))
        for fault in missing_inputs(loaded):
            echo(pseudonyms.text(f"missing input: {fault}"))
        if rest is not None and folder is not None:
            options = ["--blocks", str(blocks)] if blocks else []
            _print_rest(rest, plan, folder, study, [*options, *(["--retry-failed"] if retry_failed else [])])


def _rest(folder: Path, loaded: planning.Loaded, *, is_retrying: bool) -> Remaining | None:
    from tare.app.remaining import remaining_of  # most plans have no campaign yet

    return remaining_of(folder, loaded, is_retrying_failed=is_retrying)


def _print_rest(rest: Remaining, plan: Plan, folder: Path, study: Path, options: Sequence[str]) -> None:
    """Print what a session would still run, case by case, how long that takes, and the command for it."""
    if not rest.cases:
        more = "; precision may ask for more blocks" if rest.is_least else ""
        echo("", f"{folder}: nothing is left of what is planned so far{more}")
        return
    cases = {case.id: case for case in plan.cases}
    echo("", f"left in {folder}, as session {rest.session}:")
    rows = [(one.id, plan.describe(cases[one.id]), str(one.left), str(one.again)) for one in rest.cases]
    print_table(("case", "", "left", "once more"), rows, frozenset({"left", "once more"}))
    runs = f"{count(rest.left, 'run')} left"
    if rest.again:
        n_beside, reasons = rest.again - rest.parted, []
        if rest.parted:
            reasons.append(f"{rest.parted} once more since a long time lay within their block")
        if n_beside:
            reasons.append(f"{n_beside} once more beside them")
        runs += f", {', '.join(reasons)}: only what ran together is compared"
    if rest.warmup:
        runs += f"; {count(rest.warmup, 'warm-up run')} before"
    echo(f"{'at least ' if rest.is_least else ''}{runs}")
    if rest.elapsed_s is not None:
        cases_of = count(rest.n_guessed, "case")
        guessed = f" ({cases_of} never ran: the median of the others)" if rest.n_guessed else ""
        echo(f"about {format_seconds(rest.elapsed_s)} by earlier runs, one at a time{guessed}")
    if rest.is_budget_spent:
        budget = f"the budget of {describe_budget(plan.repeats.budget)} has no room for the next of them"
        echo(f"{budget}: 'tare run' makes none; raise it and add --extend")
        return
    arguments = [str(study), *([] if study.is_dir() else ["--out", str(folder)])]
    arguments += [*(["--extend"] if rest.needs_extend else []), *options]
    echo(f"to run it: tare run {shlex.join(arguments)}")


def _cost(loaded: planning.Loaded, like: Path | None) -> Cost:
    from tare.analysis.repeats.cost import cost

    n_hosts = _n_hosts(loaded)
    if like is None:
        return cost(loaded.plan, n_hosts)
    from tare.storage.campaign import read_campaign

    found = cost(loaded.plan, n_hosts, read_campaign(like))
    if found.expected is None:
        raise UsageError(f"{like} measured none of these cases; 'tare status {like}' shows what it holds")
    return found


def _n_hosts(loaded: planning.Loaded) -> dict[str, int]:
    """Return the hosts of each case; stages are made once for each layout where their workload allows it."""
    composer, plan = loaded.composer, loaded.plan
    found: dict[str, int] = {}
    for cases in plan.by_form.values():
        first = cases[0]
        if first.layout.nodes == 1:  # no stage takes more
            found |= dict.fromkeys([case.id for case in cases], 1)
        elif getattr(composer.workloads[first.workload], "has_stages_by_layout", False):
            found |= dict.fromkeys([case.id for case in cases], composer.widest(first).nodes)
        else:
            found |= {case.id: composer.widest(case).nodes for case in cases}
    return found


def _print_cases(plan: Plan, cost: Cost) -> None:
    names = [name for name in plan.varied if name != "workload"]
    expected: dict[str, list[str]] = {}
    if cost.cases:
        each = [f"{'' if one.is_measured else '≈ '}{format_seconds(one.elapsed_s)}" for one in cost.cases]
        expected = {"blocks": [str(one.blocks) for one in cost.cases], "each": each}
    columns = {
        "case": [case.id for case in plan.cases],
        "workload": [case.workload for case in plan.cases],
        **{name: _cells(plan, name) for name in names},
    }
    roles = ["reference" if case.id in plan.reference_ids else "" for case in plan.cases]
    rows = [*zip(*columns.values(), *expected.values(), roles, strict=True)]
    print_table([*columns, *expected, ""], rows, frozenset(expected))


def _cells(plan: Plan, name: str) -> list[str]:
    """Return a setting of each case as a study writes it; it is empty for cases that lack it."""
    kinds = {workload: plan.kind(name, workload) for workload in plan.foms}

    @lru_cache(maxsize=None, typed=True)  # few values make many cells; 1 is not true
    def cell(value: Scalar | None, kind: ParameterKind | None) -> str:
        return "" if value is None else written(value, kind)

    return [cell(case.setting(name), kinds[case.workload]) for case in plan.cases]


def _print_cost(plan: Plan, cost: Cost, like: Path | None) -> None:
    echo("", f"{summary(plan)}")
    longest = f"if every run came to its time-out of {format_seconds(plan.timeout_s)}"
    echo(f"at most {_hours(cost.most)}, {longest}")
    if cost.expected is not None:
        guessed = (
            f" ({cost.n_guessed} of the cases taken as the median of the others)" if cost.n_guessed else ""
        )
        echo(f"expected after {like}: {count(cost.expected.runs, 'run')}, {_hours(cost.expected)}{guessed}")
    if plan.repeats.budget != Budget():
        echo(f"it ends where the budget of {describe_budget(plan.repeats.budget)} is spent")


_NEARLY = 1.01
"""Time outside programs is mentioned only if it adds more than one hundredth to the time of programs."""


def _hours(amount: Amount) -> str:
    if amount.hours is None or amount.node_hours is None:
        return "an unknown time"
    text = f"{format_seconds(amount.hours * 3600)}, {node_hours(amount.node_hours, digits=3)}"
    if amount.program_hours is not None and amount.hours > amount.program_hours * _NEARLY:
        programs = format_seconds(amount.program_hours * 3600)
        text += f"; of that, {programs} in programs, the rest in queues and in starting and ending them"
    return text


def _print_order(plan: Plan) -> None:
    for block in range(1 - plan.warmup, plan.repeats.min + 1):
        name = f"block {block}" if block >= 1 else "warm-up"
        for case in plan.order(block):
            echo(f"{name}  {case.id}  {case.workload}")


def _print_commands(loaded: planning.Loaded, pseudonyms: Pseudonyms | None) -> None:
    plan = PseudonymousView(pseudonyms).plan(loaded.plan) if pseudonyms else loaded.plan
    for case, shown in zip(loaded.plan.cases, plan.cases, strict=True):
        settings = " ".join(f"{name}={value}" for name, value in shown.settings.items())
        echo(shell_text.comment(f"{case.id}  {settings}"))
        head = loaded.composer.head(case)
        if head is not None:
            echo(shell_text.comment(f"on {head}"))
        if loaded.composer.needs_own_storage(case):
            own = loaded.composer.own_storage(case)
            note = "is made for each run alone, and removed after it; {run} is its name"
            echo(shell_text.comment(f"{own} {note}"))
        composed = loaded.composer.compose(case)
        for stage, _ in composed if not loaded.composer.site.platforms[case.platform].options.pods else ():
            for text in _staged(loaded.composer, stage, pseudonyms):
                echo(*text.split("\n"))
        if loaded.composer.is_queued(case):
            script = planned_tasks.job_script(loaded, case)
            echo(*(pseudonyms.text(script) if pseudonyms else script).split("\n"))
            continue
        for _, invocation in composed:
            if pseudonyms:
                argv, env = pseudonyms.argv(invocation.argv), pseudonyms.variables(invocation.env)
                invocation = msgspec.structs.replace(invocation, argv=argv, env=env)
            echo(*shell_text.command(invocation).split("\n"), "")


def _staged(composer: Composer, stage: Stage, pseudonyms: Pseudonyms | None) -> Iterator[str]:
    """Yield shell text that copies the inputs of a stage, and writes its files, into the working folder."""
    hide: Callable[[str], str] = pseudonyms.text if pseudonyms else str
    yield from shell_text.copies({one.name: hide(str(composer.source(one))) for one in stage.copies})
    yield from shell_text.files({name: hide(text) for name, text in stage.files.items()})


def plan_notes(plan: Plan) -> Iterator[str]:
    """Yield lines on how the cases of `plan` were made: notes, left-out cases, default binding."""
    for note in plan.notes:
        yield f"note: {note}"
    for one in plan.left_out:
        yield f"left out: {one}"
    unbound = {name for name, settings in plan.derived.items() if "bind" in settings}
    layouts = Counter(case.layout for case in plan.cases if case.workload in unbound)
    bound: Counter[str] = Counter()
    for layout, n_cases in layouts.items():
        bound[layout.binding.value] += n_cases
    if set(bound) - {"none"} or any(layout.ranks > 1 for layout in layouts):
        counts = ", ".join(
            f"{name} ({n_cases} of {count(len(plan.cases), 'case')})" for name, n_cases in bound.items()
        )
        yield f"bound by default to: {counts}; a study may set bind: none, core or socket"


def summary(plan: Plan) -> str:
    """Return one line on the size of `plan`, such as ``12 cases × 7 blocks = 84 runs``."""
    repeats = plan.repeats
    cases, blocks = count(len(plan.cases), "case"), count(repeats.min, "block")
    text = f"{cases} × {blocks} = {count(plan.n_runs, 'run')}"
    if repeats.max > repeats.min:
        text += f", up to {count(repeats.max, 'block')} = {count(len(plan.cases) * repeats.max, 'run')}"
    if repeats.max > repeats.min and repeats.until is not None:
        what = "ratio to the reference" if plan.reference else "figure"
        text += f", until every {what} is known within ± {percent(repeats.until)}"
    if plan.profiled:
        text += f", and {len(plan.profiled) * repeats.min} profiled"
    if plan.warmup:
        text += f", and {count(plan.warmup, 'warm-up pass', 'warm-up passes')}"
    return text
