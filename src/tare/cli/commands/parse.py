"""`tare parse`: read figures of merit from existing output."""

from __future__ import annotations

import enum
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from tare.app.stated_settings import check_stated, expecting, read_settings, setting_reader
from tare.core.case import Case
from tare.core.collection import no_collection
from tare.core.counting import count
from tare.core.errors import UsageError
from tare.core.user_files import open_given
from tare.core.values import Settings
from tare.core.workload import Measurement, Parsed, Workload
from tare.execution.parsing import parse_opened, parse_stream
from tare.terminal.output import echo, json_option, print_long_json, print_table

_STDIN = "-"
_LAYOUT = ("nodes", "ranks", "ranks_per_node", "threads")


class Completeness(enum.StrEnum):
    """Whether a file has everything that the program was asked for, worst answer first."""

    NO = "not complete"
    UNKNOWN = "not told by this format"
    YES = "complete"


class _File(NamedTuple):
    name: str
    parsed: Parsed

    @property
    def is_good(self) -> bool:
        return self.parsed.is_complete and not self.parsed.problems

    @property
    def completeness(self) -> Completeness:
        if not self.parsed.is_complete:
            return Completeness.NO
        return Completeness.YES if self.parsed.is_end_known else Completeness.UNKNOWN


@click.command()
@click.argument("workload")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--study", type=click.Path(path_type=Path), help="A study file that declares WORKLOAD, or a campaign."
)
@click.option(
    "--set", "stated", multiple=True, metavar="NAME=VALUE", help="A setting with which the program ran."
)
@json_option
def command(
    workload: str, files: tuple[str, ...], study: Path | None, stated: tuple[str, ...], as_json: bool
) -> None:
    """Read the figures of merit of WORKLOAD from existing output; FILE - is standard input.

    Exits with 1 if a file is not complete or has problems. Its figures are shown, but a campaign would
    not count them. A number that is cut off is not shown. Figures that the program printed without a
    value, such as times of 0.00, are named on standard error; they are no problem.

    Some formats, such as OMB's tables, have no end mark, so a file may have been cut between two rows.
    State with --set what the program was asked for; then missing rows are found.

    \b
    Examples:
      tare parse imb.pingpong slurm-4711.out
      tare parse osu.latency latency.out --set max_bytes=64KiB
      mpirun IMB-MPI1 Alltoall | tare parse imb.alltoall - --json
      tare parse --study studies/ours.yaml our-solver run-*.log
    """
    if files.count(_STDIN) > 1:
        raise UsageError("- is standard input, which can be read only once; name it once")
    chosen = known_workloads(study)[workload]
    case = _stated_case(chosen, stated)
    parser = chosen if case is None else expecting(chosen, case)
    with no_collection():  # a log may hold figures by the million, and parsers make no cycles
        found = [(click.format_filename(name), _parse(parser, name)) for name in files]
        read = [
            _File(name, parsed if case is None else check_stated(chosen, case, parsed))
            for name, parsed in found
        ]
    if as_json:
        figures = (
            _Figure(file.name, one.fom, one.value, one.unit, one.at)
            for file in read
            for one in file.parsed.measurements
        )
        print_long_json("tare.parse/1", "measurements", figures, _body(read))
    else:
        _print(read)
    if not all(file.is_good for file in read):
        raise click.exceptions.Exit(1)


def known_workloads(study: Path | None) -> Mapping[str, Workload]:
    """Return all workloads by name, including those that the study file or campaign `study` declares."""
    from tare.plugins import registry

    if study is None:
        return registry.workloads()
    from tare import config
    from tare.app.planning import SITE, STUDY

    path, site = (study / STUDY, study / SITE) if study.is_dir() else (study, None)
    declaring, _ = config.load_study(path, registry.workloads, site)
    return registry.workloads(declaring.workloads)


class _Figure(msgspec.Struct, frozen=True, gc=False):
    """A measurement as in the JSON output; not tracked by the garbage collector, as there may be millions."""

    file: str
    fom: str
    value: float
    unit: str
    at: Settings


def _stated_case(workload: Workload, texts: Sequence[str]) -> Case | None:
    """Return the case with the settings that `texts` state; None if there are none."""
    if not texts:
        return None
    from tare.storage.imports import make_case

    names = [*_LAYOUT, *(one.name for one in workload.parameters)]
    settings = read_settings(texts, setting_reader(workload), "--set")
    for name in settings.keys() - set(names):
        raise UsageError(f"--set {name}: {workload.name} has no such parameter; it has {', '.join(names)}")
    case = make_case(workload.name, workload.digest, settings)
    if isinstance(case, str):
        raise UsageError(f"--set: {case}")
    return case


def _parse(workload: Workload, name: str) -> Parsed:
    """Return the parsed content of one file, read as a stream; bytes that are not UTF-8 are replaced."""
    if name == _STDIN:
        return parse_stream(workload, sys.stdin.buffer)
    try:
        with io.TextIOWrapper(open_given(Path(name)), encoding="utf-8", errors="replace") as lines:
            return parse_opened(workload, lines)
    except OSError as error:
        raise UsageError(
            f"{click.format_filename(name)}: cannot be read: {error.strerror}; name a file that holds the "
            f"output of {workload.name}, or - for standard input"
        ) from error


def _body(read: Sequence[_File]) -> dict[str, object]:
    """Return the JSON body without the figures; with several files, problems have the file's name."""

    def named(found: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        return [one if len(read) == 1 else f"{name}: {one}" for name, sentences in found for one in sentences]

    return {
        "complete": all(file.parsed.is_complete for file in read),
        "completeness": min((file.completeness for file in read), key=list(Completeness).index),
        "problems": named([(file.name, file.parsed.problems) for file in read]),
        "left_out": named([(file.name, file.parsed.left_out) for file in read]),
        "files": [
            {
                "file": file.name,
                "complete": file.parsed.is_complete,
                "completeness": file.completeness,
                "problems": file.parsed.problems,
                "left_out": file.parsed.left_out,
            }
            for file in read
        ],
    }


_STATES = {
    Completeness.NO: "not complete",
    Completeness.UNKNOWN: "this format does not show whether it is complete (see --set)",
    Completeness.YES: "complete",
}


def _print(read: Sequence[_File]) -> None:
    if any(file.parsed.measurements for file in read):
        table = _Table(read)
        print_table(table.columns, table, frozenset({*table.coordinates, "value"}))
        echo()
    for file in read:
        n_measurements = len(file.parsed.measurements)
        echo(f"{file.name}: {_STATES[file.completeness]}, {count(n_measurements, 'measurement')}")
        for sentence in (*file.parsed.problems, *file.parsed.left_out):
            echo(f"{file.name}: {sentence}", err=True)


class _Table:
    """The figures as rows of text, made one at a time, because a log may have many."""

    def __init__(self, read: Sequence[_File]) -> None:
        self._read = read
        names = (name for file in read for one in file.parsed.measurements for name in one.at)
        self.coordinates = list(dict.fromkeys(names))

    @property
    def columns(self) -> list[str]:
        """Return the column heads; there is a column for the file if there are several files."""
        return [*["file"][: len(self._read) - 1], "fom", *self.coordinates, "value", "unit"]

    def __iter__(self) -> Iterator[list[str]]:
        return (
            [*([file.name] if len(self._read) > 1 else []), *self._cells(one)]
            for file in self._read
            for one in file.parsed.measurements
        )

    def _cells(self, one: Measurement) -> list[str]:
        places = (str(one.at.get(coordinate, "")) for coordinate in self.coordinates)
        return [one.fom, *places, f"{one.value:.10g}", one.unit]
