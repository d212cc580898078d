"""`tare workloads`: list the workloads, or explain one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

import click

from tare.core.case import Case, Layout
from tare.core.units import format_bytes, write_number
from tare.core.values import Scalar
from tare.core.workload import Parameter, ParameterKind, Workload
from tare.terminal.output import echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.plugins.registry import Workloads


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the workloads; with NAME, list one family or describe one workload.

    \b
    Examples:
      tare workloads
      tare workloads imb
      tare workloads imb.pingpong
    """
    from tare.plugins import registry

    known = registry.workloads()
    chosen = _choose(name, known)
    if as_json:
        print_json("tare.workloads/1", {"workloads": [_described(one) for one in chosen]})
    elif name is not None and len(chosen) == 1:
        _explain(chosen[0])
    else:
        _list(chosen)
    for problem in known.problems:
        echo(f"tare: {problem}", err=True, fg="yellow")


def _choose(name: str | None, known: Workloads) -> list[Workload]:
    """Return all workloads, the one named `name`, or those of that family. Raises UsageError if none is."""
    if name is None:
        return list(known.values())
    if name in known:
        return [known[name]]
    members = [one for one in known.values() if _family(one) == name]
    return members or [known[name]]  # raises the error that says why there is none


def _family(workload: Workload) -> str:
    return workload.name.partition(".")[0]


def _list(workloads: Iterable[Workload]) -> None:
    """Print a line for each workload, with an empty line between families."""
    rows: list[tuple[str, str]] = []
    for _, members in groupby(sorted(workloads, key=_family), key=_family):
        rows += [("", "")] if rows else []
        rows += [(one.name, one.summary) for one in members]
    print_table(("workload", "what it measures"), rows)
    echo("", "More on one of them: tare workloads NAME")


def _explain(workload: Workload) -> None:
    _head(workload.name)
    echo(workload.summary)
    if workload.description:
        echo("", *workload.description.split("\n"))
    if workload.parameters:
        echo()
        _head("Parameters")
        print_table(
            ("name", "default", "kind", "meaning"),
            [(one.name, _default(one), _kind(one), one.summary) for one in workload.parameters],
        )
    echo()
    _head("Figures of merit (* in summaries)")
    print_table(
        ("name", "unit", "better", "by", "meaning"),
        [
            (
                f"{one.name}{'*' if one.is_primary else ''}",
                one.unit,
                one.better,
                ", ".join(one.by),
                one.summary,
            )
            for one in workload.foms
        ],
    )
    commands = _example_commands(workload)
    if commands:
        echo()
        _head("Command, with the defaults on 2 nodes")
        echo(*commands)
    echo()
    _head("In a study")
    echo(*_study_lines(workload).split("\n"))


def _head(text: str) -> None:
    echo(text, bold=True)


def _kind(parameter: Parameter) -> str:
    """Return the values that a parameter may have, as text."""
    if parameter.choices:
        return "one of " + ", ".join(map(str, parameter.choices))
    least = "" if parameter.minimum is None else f", {write_number(parameter.minimum)} or more"
    return f"{parameter.kind}{least}"


def _default(parameter: Parameter) -> str:
    """Return the default of a parameter as it is written in a study file."""
    value = parameter.default
    if value is None:
        return "(must be set)"
    if parameter.kind is ParameterKind.BYTES and isinstance(value, (int, float)):
        return format_bytes(value).replace(" ", "")
    if parameter.kind is ParameterKind.SECONDS and isinstance(value, (int, float)):
        return f"{value:.15g} s"
    if parameter.kind is ParameterKind.FRACTION and isinstance(value, (int, float)):
        return f"{100 * value:.15g} %"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _example_commands(workload: Workload) -> list[str]:
    """Return the workload's commands with all defaults; empty if a parameter has no default."""
    parameters: dict[str, Scalar] = {}
    for one in workload.parameters:
        if one.default is None:
            return []
        parameters[one.name] = one.default
    case = Case(
        id="example",
        workload=workload.name,
        platform="example",
        layout=Layout(nodes=2, ranks=2, ranks_per_node=1),
        parameters=parameters,
    )
    if any(True for _ in workload.faults(case)):
        return []
    return [shlex.join(stage.argv) for stage in workload.stages(case)]


def _study_lines(workload: Workload) -> str:
    settings = ", ".join(f"{one.name}: {_example(one)}" for one in workload.parameters[:2])
    entry = f"{workload.name}: {{{settings}}}" if settings else workload.name
    return f"factors:\n  workload:\n    - {entry}"


def _example(parameter: Parameter) -> str:
    if parameter.default is None:
        return str(parameter.choices[0]) if parameter.choices else "…"
    return _default(parameter)


def _described(workload: Workload) -> dict[str, object]:
    """Return the JSON description of one workload; sizes are in bytes, times in seconds."""
    return {
        "name": workload.name,
        "family": _family(workload),
        "summary": workload.summary,
        "description": workload.description,
        "output": workload.output,
        "needs_transport": workload.needs_transport,
        "parameters": workload.parameters,
        "foms": workload.foms,
        "example": _example_commands(workload),
    }
