"""`tare plan`: what would run, in which order, by which exact command."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from tare.cli import wiring
from tare.cli.output import json_option, print_json, print_table
from tare.model.plan import Plan


@click.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True))
@click.option("--show", is_flag=True, help="Print the exact command line and environment of each case.")
@click.option("--order", "is_ordered", is_flag=True, help="Print the runs block by block, in their order.")
@click.option("--blocks", type=click.IntRange(min=1), help="Plan so many blocks, whatever the study says.")
@json_option
def command(study: Path, show: bool, is_ordered: bool, blocks: int | None, as_json: bool) -> None:
    """Show every case of STUDY, a study file or a campaign folder. Starts nothing.

    \b
    Examples:
      tare plan studies/demo.yaml
      tare plan studies/demo.yaml --show | less
    """
    loaded = wiring.load(study, blocks)
    plan = loaded.plan
    if as_json:
        cases = [{"id": case.id, **case.settings} for case in plan.cases]
        print_json("tare.plan/1", {"study": plan.study, "cases": cases, "runs": plan.n_runs})
    elif show:
        _print_commands(loaded)
    elif is_ordered:
        _print_order(plan)
    else:
        _print_cases(plan)


def _print_cases(plan: Plan) -> None:
    names = ["workload", *(name for name in plan.varied if name != "workload")]
    rows = []
    for case in plan.cases:
        settings = case.settings
        mark = "reference" if plan.reference and plan.is_reference(case) else ""
        rows.append([case.id, *(str(settings.get(name, "")) for name in names), mark])
    print_table(["case", *names, ""], rows)
    click.echo(f"\n{summary(plan)}")


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
        for stage, invocation in loaded.composer.compose(case):
            for name, text in stage.files.items():
                click.echo(f"cat > {shlex.quote(name)} <<'END'\n{text.rstrip()}\nEND")
            words = [f"{name}={shlex.quote(value)}" for name, value in invocation.env.items()]
            click.echo(" \\\n  ".join([*words, shlex.join(invocation.argv)]) + "\n")


def summary(plan: Plan) -> str:
    """Return one line on how much `plan` is: ``12 cases × 7 blocks = 84 runs``."""
    repeats = plan.repeats
    cases = f"{len(plan.cases)} case{'s' if len(plan.cases) != 1 else ''}"
    text = f"{cases} × {repeats.min} block{'s' if repeats.min != 1 else ''} = {plan.n_runs} runs"
    if repeats.max > repeats.min and repeats.until is not None:
        text += f", up to {repeats.max} blocks until every interval is within ± {repeats.until:.3g}"
    if plan.warmup:
        text += f", and {plan.warmup} warm-up pass{'es' if plan.warmup > 1 else ''}"
    return text
