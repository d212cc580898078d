"""The `tare` command: imports the module of the sub-command, runs it, and turns errors into exit codes."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import sys
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from tare import __version__
from tare.terminal import colour, streams

if TYPE_CHECKING:
    import click

COMMANDS = {
    "init": "Look around, and write a site file and a first study.",
    "plan": "Show the cases of a study, the order of its runs, and the exact commands.",
    "run": "Run a study, or continue or extend a campaign.",
    "status": "Show the state of every planned run of a campaign.",
    "compare": "Compare every contender with its reference, with intervals and verdicts.",
    "check": "Check rules on overheads and figures, for CI pipelines.",
    "scaling": "Show how workloads scale: speedup, efficiency, Amdahl's law and USL.",
    "curves": "Show latency and bandwidth fits, crossovers, and saturation.",
    "why": "Show where a difference comes from: computation, MPI functions, waiting, files.",
    "predict": "Predict what programs would take on networks for which there are curves.",
    "tolerance": "Show how much latency and bandwidth programs tolerate.",
    "calibrate": "Compare the reference with itself: false alarms, smallest detectable effect.",
    "report": "Write the report: one offline HTML file, and its charts as SVG and PNG.",
    "metrics": "Serve campaigns as metrics for Prometheus, or print them once.",
    "serve": "Show campaigns on a live page: progress, results so far, logs.",
    "environment": "Show facts about the nodes, and how two nodes or campaigns differ.",
    "telemetry": "Show what each run used, and import data of sysstat or Prometheus.",
    "export": "Write every measurement as one row: CSV, JSON or Parquet.",
    "import": "Make a campaign from existing output of a workload.",
    "published": "List published results, or make a campaign from them.",
    "reparse": "Read the figures of a campaign anew from its outputs, as a mended study says.",
    "parse": "Read figures of merit from existing output of a workload.",
    "workloads": "List the workloads, or describe one.",
    "lab": "Build, enter and remove a cluster on this machine.",
    "verify": "Check that a campaign is unchanged, by its checksums and its seal.",
    "seal": "Sign a campaign with an SSH key, so that others can verify it.",
    "clean": "End and remove what ended campaigns left behind.",
    "schema": "Print the JSON Schema of study and site files, or of what a command prints.",
    "doctor": "Show what this machine or a site lacks, and how to get it.",
}
"""The commands, each with one line of help, so that `tare --help` need not import them."""

_MODULES = {"import": "import_"}
"""Modules whose command has the name of a Python keyword, so that they need another name."""

_GARBAGE = (100_000, 50, 50)
"""Thresholds of Python's garbage collector, higher than the default. The objects of a campaign of a million
values live until the end; searching them for cycles repeatedly took three quarters of the reading time."""

_EPILOG = """\b
Exit codes:
  0    success
  1    some runs failed or are invalid
  2    wrong usage, or an error in a file
  3    the infrastructure failed (lab, network, disk)
  130  interrupted
  141  nobody reads the output any more"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit; the entry point of the `tare` command."""
    if arguments is None:
        sys.excepthook = _show_defect
        threading.excepthook = _show_defect_of_thread
        streams.prepare()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    gc.set_threshold(*_GARBAGE)
    try:
        sys.exit(_run(arguments))
    except KeyboardInterrupt:  # while modules were imported, or an error was printed
        print("tare: interrupted", file=sys.stderr)
        sys.exit(130)


def _run(arguments: list[str]) -> int:
    try:
        if arguments == ["--version"]:  # answered without an import of click: scripts call it a lot
            print(f"tare {__version__}")
            code = 0
        else:
            code = make_group().main(arguments, prog_name="tare", standalone_mode=False) or 0
        sys.stdout.flush()  # at the end of the process, nobody would hear that it failed
    except SystemExit:
        raise
    except BaseException as error:  # polars' PanicException is no Exception
        return _tell(error)
    return code


def _tell(error: BaseException) -> int:
    """Print an error, and return its exit code. What is a defect of Tare is raised again."""
    import click

    from tare.cli.lacking import lacking
    from tare.core.errors import (
        STORAGE_FAULTS,
        InfrastructureError,
        OutputLost,
        TareError,
        UnreadableFile,
        UsageError,
    )
    from tare.terminal.output import echo, echo_error

    if isinstance(error, click.ClickException):
        message = io.StringIO()
        error.show(message)
        echo(*message.getvalue().rstrip("\n").split("\n"), err=True)
        return 2
    if isinstance(error, click.Abort | KeyboardInterrupt):
        echo("tare: interrupted", err=True)
        return 130
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        error = UsageError(f"{error.filename}: {error.strerror}; shorten it")
    if isinstance(error, UnreadableFile):
        error = InfrastructureError(f"{error.filename}: cannot read: {error.strerror}")
    if isinstance(error, OSError) and error.errno in STORAGE_FAULTS:
        where = os.fsdecode(error.filename) if error.filename else "a file cannot be read or written"
        error = InfrastructureError(f"{where}: {error.strerror}")
    if isinstance(error, TareError):
        known = error
    elif lack := lacking(error):
        known = InfrastructureError(lack)
    else:
        raise error
    if not (isinstance(known, OutputLost) and known.has_no_reader):
        echo_error(known)
    return known.exit_code


def _show_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    from tare.core.bug_report import show

    show(kind, error, trace)


def _show_defect_of_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        _show_defect(ended.exc_type, ended.exc_value, ended.exc_traceback)


def _colour() -> bool | None:
    """Return False if colour is refused; None lets click decide, which checks for a terminal."""
    return False if colour.is_refused() else None


def make_group() -> click.Group:
    """Return the command line as a click group; the reference documentation is generated from it."""
    import click

    class Commands(click.Group):
        """The sub-commands, each imported only when it is called."""

        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
            if name not in COMMANDS:
                return None
            module = importlib.import_module(f"tare.cli.commands.{_MODULES.get(name, name)}")
            command: click.Command = module.command
            command.short_help = COMMANDS[name]
            return command

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            name = args[0]
            if name not in COMMANDS and not name.startswith("-"):
                from tare.core.errors import nearest_name

                near = nearest_name(name, COMMANDS)
                cure = f"did you mean {near!r}?" if near else "see 'tare --help'."
                raise click.UsageError(f"No such command {name!r}; {cure}", ctx)
            if not {"-h", "--help"} & {*args}:
                from tare.cli.lacking import require_memory

                require_memory(name)
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(COMMANDS.items()))

    @click.group(
        cls=Commands,
        epilog=_EPILOG,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "max_content_width": 100,
            "color": _colour(),
        },
    )
    @click.version_option(__version__, prog_name="tare", message="%(prog)s %(version)s")
    def tare() -> None:
        """Measure what a platform costs an HPC workload, against a reference.

        A study file lists what to compare. Tare runs all combinations in interleaved blocks, checks
        that each run used the network it asked for, and reports differences with intervals and verdicts.

        \b
        Start here:
          tare doctor                               what this machine lacks, and how to get it
          tare init                                 look around, and write site.yaml and first.yaml
          tare plan first.yaml --show               what would run, with the exact commands
          tare run first.yaml --out campaigns/first
          tare report campaigns/first               write the report
        """

    return tare
