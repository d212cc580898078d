"""`tare plan`: what would run, in which order, by which exact command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.commands.status import describe_budget, percent
from tare.cli.output import json_option, print_json, print_table
from tare.cli.wiring import planning as wiring
from tare.errors import UsageError
from tare.model.plan import Plan
from tare.model.study import Budget
from tare.units import format_seconds

if TYPE_CHECKING:
    from tare.answers.cost import Amount, Cost


@click.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True))
@click.option("--show", is_flag=True, help="Print the exact command line and environment of each case.")
@click.option("--order", "is_ordered", is_flag=True, help="Print the runs block by block, in their order.")
@click.option("--blocks", type=click.IntRange(min=1), help="Plan so many blocks, whatever the study says.")
@click.option(
    "--like",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Expect what the same cases took, and how they scattered, in this campaign.",
)
@json_option
def command(
    study: Path, show: bool, is_ordered: bool, blocks: int | None, like: Path | None, as_json: bool
) -> None:
    """Show every case of STUDY, a study file or a campaign folder, and what it costs. Starts nothing.

    With --like, an earlier campaign with some of the same cases, also the hours that it is expected to
    take, and for a study that repeats until its answers are known well enough, the blocks of each case.

    \b
    Examples:
      tare plan studies/demo.yaml
      tare plan studies/demo.yaml --show | less
      tare plan studies/demo.yaml --like campaigns/demo
    """
    loaded = wiring.load(study, blocks)
    plan = loaded.plan
    cost = _cost(loaded, like)
    if as_json:
        cases = [{"id": case.id, **case.settings} for case in plan.cases]
        print_json("tare.plan/1", {"study": plan.study, "cases": cases, "runs": plan.n_runs, "cost": cost})
    elif show:
        _print_commands(loaded)
    elif is_ordered:
        _print_order(plan)
    else:
        _print_cases(plan, cost)
        _print_cost(plan, cost, like)


def _cost(loaded: wiring.Loaded, like: Path | None) -> Cost:
    from tare.answers.cost import cost

    n_hosts = {
        case.id: loaded.composer.widest(case).nodes if case.layout.nodes > 1 else 1  # no stage takes more
        for case in loaded.plan.cases
    }
    if like is None:
        return cost(loaded.plan, n_hosts)
    from tare.store.campaign import read_campaign

    found = cost(loaded.plan, n_hosts, read_campaign(like))
    if found.expected is None:
        raise UsageError(f"{like} measured none of these cases; 'tare status {like}' shows what it holds")
    return found


def _print_cases(plan: Plan, cost: Cost) -> None:
    names = ["workload", *(name for name in plan.varied if name != "workload")]
    rows = []
    for case in plan.cases:
        settings = case.settings
        mark = "reference" if plan.reference and plan.is_reference(case) else ""
        rows.append([case.id, *(plan.written(name, settings.get(name, "")) for name in names), mark])
    expected = ["blocks", "each"] if cost.cases else []
    for row, one in zip(rows, cost.cases, strict=False):
        row[-1:] = [
            str(one.blocks),
            f"{'' if one.is_measured else '≈ '}{format_seconds(one.elapsed_s)}",
            row[-1],
        ]
    print_table(["case", *names, *expected, ""], rows, frozenset(expected))


def _print_cost(plan: Plan, cost: Cost, like: Path | None) -> None:
    click.echo(f"\n{summary(plan)}")
    longest = f"if every run came to its time-out of {format_seconds(plan.timeout_s)}"
    click.echo(f"at most {_hours(cost.most)}, {longest}")
    if cost.expected is not None:
        guessed = (
            f" ({cost.n_guessed} of the cases taken as the median of the others)" if cost.n_guessed else ""
        )
        click.echo(f"expected after {like}: {cost.expected.runs} runs, {_hours(cost.expected)}{guessed}")
    if plan.repeats.budget != Budget():
        click.echo(f"it ends where the budget of {describe_budget(plan.repeats.budget)} is spent")


def _hours(amount: Amount) -> str:
    if amount.hours is None or amount.node_hours is None:
        return "an unknown time"
    return f"{format_seconds(amount.hours * 3600)}, {amount.node_hours:.3g} node-hours"


def _print_order(plan: Plan) -> None:
    for block in range(1 - plan.warmup, plan.repeats.min + 1):
        name = f"block {block}" if block >= 1 else "warm-up"
        for case in plan.order(block):
            click.echo(f"{name}  {case.id}  {case.workload}")


def _print_commands(loaded: wiring.Loaded) -> None:
    for case in loaded.plan.cases:
        settings = " ".join(f"{name}={value}" for name, value in case.settings.items())
        click.echo(f"# {case.id}  {settings}")
        head = loaded.composer.head(case)
        if head is not None:
            click.echo(f"# on {head}")
        composed = loaded.composer.compose(case)
        for stage, _ in composed if not loaded.composer.site.platforms[case.platform].kubernetes else ():
            for name, text in stage.files.items():
                click.echo(f"cat > {shlex.quote(name)} <<'END'\n{text.rstrip()}\nEND")
        if loaded.composer.is_queued(case):
            from tare.cli.wiring.crews import job_script

            click.echo(job_script(loaded, case))
            continue
        for _, invocation in composed:
            words = [f"{name}={shlex.quote(value)}" for name, value in invocation.env.items()]
            click.echo(" \\\n  ".join([*words, shlex.join(invocation.argv)]) + "\n")


def summary(plan: Plan) -> str:
    """Return one line on how much `plan` is: ``12 cases × 7 blocks = 84 runs``."""
    repeats = plan.repeats
    cases = f"{len(plan.cases)} case{'s' if len(plan.cases) != 1 else ''}"
    text = f"{cases} × {repeats.min} block{'s' if repeats.min != 1 else ''} = {plan.n_runs} runs"
    if repeats.max > repeats.min:
        text += f", up to {repeats.max} blocks = {len(plan.cases) * repeats.max} runs"
    if repeats.max > repeats.min and repeats.until is not None:
        what = "ratio to the reference" if plan.reference else "figure"
        text += f", until every {what} is known within ± {percent(repeats.until)}"
    if plan.warmup:
        text += f", and {plan.warmup} warm-up pass{'es' if plan.warmup > 1 else ''}"
    return text
