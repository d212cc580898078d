"""`tare import`: make a campaign of existing output."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.app.stated_settings import read_settings, setting_reader, setting_texts
from tare.cli.commands.parse import known_workloads
from tare.cli.comparison_table import uncompared_sentences
from tare.cli.options import OutputPath
from tare.core.attempt import State
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import ParameterKind, written
from tare.terminal.output import echo, json_option, print_json, print_table

if TYPE_CHECKING:
    from tare.storage.candidates import Candidate, ReadSetting
    from tare.storage.import_summary import Summary
    from tare.storage.imports import Import
    from tare.storage.trees import Refused

_MOST_LISTED = 20
_MOST_VALUES = 8
_MANY = 200
"""The number of files from which on a progress bar is shown; reading so many takes about a second."""


@click.command(name="import")
@click.argument("workload")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "--out",
    "folder",
    required=True,
    type=OutputPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The campaign folder: new, or made by tare import.",
)
@click.option("--pattern", metavar="TEXT", help="The form of the paths, with settings in braces.")
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    metavar="CSV",
    help="A table of settings; its first column is the path, relative to the table.",
)
@click.option(
    "--set", "common", multiple=True, metavar="NAME=VALUE", help="A setting that holds for every file."
)
@click.option(
    "--reference", "references", multiple=True, metavar="KEY=VALUE", help="The settings of the reference."
)
@click.option("--study", type=click.Path(path_type=Path), help="A study file that declares WORKLOAD.")
@click.option(
    "--keep-equal", is_flag=True, help="Count files with equal content and settings as separate runs."
)
@click.option("--dry-run", is_flag=True, help="Only print what would be imported.")
@json_option
def command(
    workload: str,
    paths: tuple[Path, ...],
    folder: Path,
    pattern: str | None,
    table: Path | None,
    common: tuple[str, ...],
    references: tuple[str, ...],
    study: Path | None,
    keep_equal: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a campaign from existing output of WORKLOAD: files, or all files below folders.

    Settings come from the path ({platform}, {nodes}, any other name), from a table, or from --set for all
    files. Other settings, such as ranks, are read from the logs if they print them; else they are unknown.
    Files with equal settings are repeats, in the order of {started} or of their names. {repeat} gives the
    block itself, and so does --set repeat=7 for files that were run together. Each raw file is linked or
    copied into the campaign as evidence. Files that cannot be used are listed; nothing is guessed. With an
    existing campaign as --out, new files are added, also of other workloads.

    Exits with 1 if a file cannot be read, contradicts what was imported, or is not complete.

    \b
    Examples:
      tare import osu.alltoall job_results --out campaigns/osu --reference platform=bare \\
          --pattern 'mpi/{platform}/{mpi}/{started}/osu_alltoall.out' --set nodes=2 --set ranks=2
      tare import hpcg --table runs.csv --out campaigns/hpcg
    """
    from tare.app.importing import existing_import, file_judge, imported_plan, require_figures
    from tare.storage.imports import Importer

    chosen = known_workloads(study)[workload]
    existing = existing_import(folder)
    read = setting_reader(chosen)
    parameters = frozenset(one.name for one in chosen.parameters)
    candidates, refused = _candidates(read, parameters, paths, pattern, table, common)
    importer = Importer(
        workload=chosen.name,
        digest=chosen.digest,
        output=chosen.output,
        judge=file_judge(chosen),
        existing=existing.attempts if existing else (),
        keeps_equal=keep_equal,
    )
    with with_progress_bar(candidates, is_terminal=sys.stderr.isatty()) as files:
        found = importer.gather(files)
    refused = [*refused, *found.refused]
    require_figures(found, refused, existing)
    plan = imported_plan(folder, chosen, existing, found, read_settings(references, read, "--reference"))
    if not as_json:
        _print_understood(found, {one.name: one.kind for one in chosen.parameters})
    if found.runs and not dry_run:
        from tare.storage.imports import write_import

        write_import(folder, plan, found.runs, existing)
    if as_json:
        print_json("tare.import/1", _body(folder, plan, found, refused, is_dry_run=dry_run))
    else:
        _print(folder, plan, found, refused, is_dry_run=dry_run)
    if any(one.is_fault for one in refused) or any(run.attempt.state is not State.DONE for run in found.runs):
        raise click.exceptions.Exit(1)


@contextmanager
def with_progress_bar(candidates: Sequence[Candidate], *, is_terminal: bool) -> Iterator[Iterable[Candidate]]:
    """Yield `candidates` for iteration; at a terminal, many of them get a progress bar on standard error."""
    if not is_terminal or len(candidates) < _MANY:
        yield candidates
        return
    with click.progressbar(candidates, label="reading", file=sys.stderr, show_pos=True) as bar:
        yield bar


def _candidates(
    read: ReadSetting,
    parameters: frozenset[str],
    paths: Sequence[Path],
    pattern: str | None,
    table: Path | None,
    common: Sequence[str],
) -> tuple[list[Candidate], list[Refused]]:
    """Return the files whose settings are known, and those that cannot be used."""
    from tare.storage.candidates import Naming
    from tare.storage.factors import read_factors
    from tare.storage.pattern import read_pattern
    from tare.storage.trees import find_files

    naming = Naming(
        common=setting_texts(common, "--set"),
        pattern=None if pattern is None else read_pattern(pattern),
        table=None if table is None else read_factors(table),
        read=read,
        parameters=parameters,
    )
    naming.require_clear()
    if not paths and naming.table is None:
        raise UsageError("name the files to import, or folders of them, or a --table that does")
    files, unusable = find_files(paths or (naming.table.rows if naming.table else ()))
    candidates, unmatched = naming.candidates(files)
    return candidates, [*unusable, *unmatched]


def _body(
    folder: Path, plan: Plan, found: Import, refused: Sequence[Refused], *, is_dry_run: bool
) -> dict[str, object]:
    return {
        "campaign": str(folder),
        "is_dry_run": is_dry_run,
        "already_there": found.n_known,
        "settings": [
            {
                "setting": one.setting,
                "source": one.origin,
                "values": one.values,
                "files": one.n_files,
            }
            for one in _summaries(found)
        ],
        "runs": [
            {
                "file": run.attempt.source.path if run.attempt.source else "",
                "sha256": run.attempt.source.sha256 if run.attempt.source else "",
                "case": run.attempt.case,
                "block": run.attempt.block,
                "state": run.attempt.state,
                "reason": run.attempt.reason,
                "folder": run.attempt.folder,
                "settings": run.case.settings,
            }
            for run in found.runs
        ],
        "refused": [{"file": one.path, "why": one.why} for one in refused],
        "remarks": [*found.remarks, *uncompared_sentences(plan)],
    }


def _summaries(found: Import) -> list[Summary]:
    from tare.storage.import_summary import summarised

    return summarised(run.understood for run in found.runs)


def _print_understood(found: Import, kinds: Mapping[str, ParameterKind]) -> None:
    """Print the settings of the files and their sources, before anything is written."""
    rows = [
        (one.setting, str(one.origin), _values(one.values, kinds.get(one.setting)), str(one.n_files))
        for one in _summaries(found)
    ]
    if rows:
        print_table(("setting", "source", "values", "files"), rows, frozenset({"files"}))
        echo()


def _values(values: Sequence[Scalar], kind: ParameterKind | None) -> str:
    words = [written(value, kind) for value in values]
    more = [f"… {len(words) - _MOST_VALUES} more"] if len(words) > _MOST_VALUES else []
    return ", ".join([*words[:_MOST_VALUES], *more]) or "–"


def _print(folder: Path, plan: Plan, found: Import, refused: Sequence[Refused], *, is_dry_run: bool) -> None:
    counts = Counter(run.attempt.state for run in found.runs)
    states = [f"{counts[state]} {state}" for state in State if counts[state]]
    n_cases = len({run.case.id for run in found.runs})
    known = f", {found.n_known} there already" if found.n_known else ""
    would = "would be imported" if is_dry_run else "imported"
    of_them = f"{', '.join(states) or 'none new'}{known}"
    echo(f"{folder}: {count(len(found.runs), 'run')} of {count(n_cases, 'case')} {would} ({of_them})")
    shown = [run for run in found.runs if is_dry_run or run.attempt.state is not State.DONE]
    if shown:
        echo()
        rows = [
            (
                plan.describe(run.case),
                str(run.attempt.block),
                str(run.attempt.state),
                run.attempt.reason,
                run.attempt.source.path if run.attempt.source else "",
            )
            for run in shown
        ]
        print_table(("case", "block", "state", "why", "file"), rows, frozenset({"block"}))
    _list("not imported", [f"{one.path}: {one.why}" for one in refused])
    _list("to look at", [*found.remarks, *uncompared_sentences(plan)])
    unknown = {run.case.id for run in found.runs if "ranks" in run.case.unknown}
    if unknown:
        echo(
            "",
            f"The ranks of {count(len(unknown), 'case')} are unknown: neither stated nor printed. "
            "State them with --set ranks=2.",
            err=True,
        )


def _list(head: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    echo("", f"{head}:", err=True)
    for line in lines[:_MOST_LISTED]:
        echo(f"  {line}", err=True)
    if len(lines) > _MOST_LISTED:
        echo(f"  … and {len(lines) - _MOST_LISTED} more; --json lists all", err=True)
