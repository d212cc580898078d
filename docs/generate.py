"""Write docs/reference.md, the manual pages and the schemas of JSON from the code: `python docs/generate.py`.

Tests check that they are current.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from tare.cli.main import COMMANDS, make_group
from tare.config import json_schema
from tare.core.entry_points import GROUPS, installed
from tare.core.telemetry_sources import figures
from tare.core.telemetry_sources import sources as telemetry_sources
from tare.core.transport_reports import libraries
from tare.core.verdict import verdicts
from tare.plugins import registry
from tare.plugins.backend_registry import backends
from tare.plugins.collectors.facts import sources as fact_sources
from tare.report.charts.kind import chart_kinds
from tare.report.section import sections

REFERENCE = Path(__file__).with_name("reference.md")

_HEAD = """\
# Reference

Generated from the code by `python docs/generate.py`; do not edit.
"""


def reference() -> str:
    """Return the reference: commands, study files, site files, backends, workloads, verdicts, telemetry."""
    parts = [_HEAD, "## Commands\n", *_commands()]
    for kind, title in (("study", "Study files"), ("site", "Site files")):
        parts += [f"## {title}\n", *_schema(json_schema(kind))]
    parts += ["## Backends\n", *_backends()]
    parts += ["## Workloads\n", "`tare workloads NAME` explains one.\n", *_workloads()]
    parts += ["## Verdicts\n", *_verdicts()]
    parts += ["## Figures of telemetry\n", "`docs/telemetry.md` explains them.\n", *_telemetry()]
    parts += ["## Plug-ins\n", "docs/design.md says how to add one of each.\n", *_plugins()]
    return "\n".join(parts)


def _backends() -> Iterator[str]:
    rows = ["| backend | what carries runs out | its options |", "| --- | --- | --- |"]
    for name, one in backends().items():
        own = f"`{name}:` in a platform" if one.file_type else "none"
        rows.append(f"| `{name}` | {one.summary} | {own} |")
    yield "\n".join(rows) + "\n"


def _verdicts() -> Iterator[str]:
    rows = ["| sign | verdict | what it says of the contender |", "| --- | --- | --- |"]
    rows += [f"| {one.sign} | {one} | {one.meaning} |" for one in verdicts()]
    yield "\n".join(rows) + "\n"


def _plugins() -> Iterator[str]:
    rows = ["| what | entry points | installed |", "| --- | --- | --- |"]
    for group, kind in GROUPS.items():
        if group == "tare.workloads":
            continue  # they have a table of their own
        names = ", ".join(f"`{name}`" for name in sorted({*installed(group), *_OWN.get(group, dict)()}))
        rows.append(f"| {kind} | `{group}` | {names} |")
    yield "\n".join(rows) + "\n"


_OWN: dict[str, Callable[[], Iterable[str]]] = {
    "tare.verdicts": lambda: map(str, verdicts()),
    "tare.telemetry_sources": telemetry_sources,
    "tare.transport_reports": libraries,
    "tare.report_sections": lambda: [one.name for one in sections()],
    "tare.report_charts": lambda: [one.name for one in chart_kinds()],
    "tare.fact_sources": lambda: [one.name for one in fact_sources()],
}
"""What is found in folders and files of Tare itself, without entry points."""


def _telemetry() -> Iterator[str]:
    rows = ["| name | unit | better | meaning |", "| --- | --- | --- | --- |"]
    for name, one in figures().items():
        rows.append(f"| `telemetry.{name}` | {one.unit} | {one.better or ''} | {one.summary} |")
    yield "\n".join(rows) + "\n"


def _commands() -> Iterator[str]:
    group = make_group()
    with click.Context(group, info_name="tare") as context:
        for name in COMMANDS:
            command = group.get_command(context, name)
            assert command is not None
            yield from _help(command, f"tare {name}", context)


def _help(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    with click.Context(
        command, info_name=name.rpartition(" ")[2], parent=parent, max_content_width=100
    ) as context:
        yield f"### {name}\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            for sub in command.list_commands(context):
                inner = command.get_command(context, sub)
                assert inner is not None
                yield from _help(inner, f"{name} {sub}", context)


def _schema(schema: dict[str, Any]) -> Iterator[str]:
    definitions = schema.get("$defs", {})
    main = _resolved(schema, definitions)
    yield from _table(main, definitions)
    for name, definition in definitions.items():
        if definition is not main and definition.get("properties"):
            yield f"### {re.sub('^Inline|(File|Options|Spec)$', '', name)}\n"
            yield definition.get("description", "") + "\n"
            yield from _table(definition, definitions)


def _table(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[str]:
    rows = ["| key | meaning | example or default |", "| --- | --- | --- |"]
    for name, entry in schema.get("properties", {}).items():
        told = entry if "description" in entry else _resolved(entry, definitions)
        example = told.get("examples", [told.get("default")])[0]
        shown = "" if example in (None, "", [], {}) else f"`{example}`"
        meaning = " ".join(str(told.get("description", "")).split())
        rows.append(f"| `{name}` | {meaning} | {shown} |".replace("\n", " "))
    yield "\n".join(rows) + "\n"


def _resolved(entry: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = entry.get("$ref", "")
    return definitions.get(reference.rpartition("/")[2], entry) if reference else entry


def _workloads() -> Iterator[str]:
    rows = ["| name | what it measures |", "| --- | --- |"]
    rows += [f"| `{name}` | {workload.summary} |" for name, workload in registry.workloads().items()]
    yield "\n".join(rows) + "\n"


if __name__ == "__main__":
    import manual
    import schemas

    manual.write()
    schemas.write()
    REFERENCE.write_text(reference())
