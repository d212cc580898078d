"""WRF: `wrf.conus-2.5km`, `wrf.conus-12km`, its published benchmarks (https://www2.mmm.ucar.edu/wrf/WG2/benchv3/).

Rank 0 writes ``Timing for main`` after each step of each domain, ``Timing for Writing`` after output,
``Timing for processing`` after input, and ``SUCCESS COMPLETE WRF`` at the end. It writes these lines to both
rsl.error.0000 and rsl.out.0000 (frame/module_timing.F). The time of a step includes its input and output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.core.case import Case
from tare.core.counting import count
from tare.core.workload import Parsed, Stage
from tare.plugins.workloads.common import application, declare
from tare.plugins.workloads.wrf_output import FOMS, WrfLog

_HEAVY_MINUTES = 5
_NEVER_MINUTES = 1_000_000
"""Simulated minutes between two writes of the history file (history_interval)."""

_DESCRIPTION = f"""\
Runs the forecast in `inputs`: namelist.input, wrfrst_d01_… (or wrfinput_d01) and wrfbdy_d01, as published at
https://www2.mmm.ucar.edu/wrf/WG2/benchv3/ for versions 3; version 4 needs inputs of its own. `tables` is the
run folder of the installation (LANDUSE.TBL and its kin), where `inputs` lacks them. A copy of namelist.input
gets the length and the output intervals; everything else stays as it is.

Steps are read from rsl.error.0000: the mean leaves out the first step, which sets things up, and steps that
read or write, because the timer runs on meanwhile. Where domains are nested, the outer one's step includes
those of the inner ones, and each has a mean of its own.

Traps: WRF may end with exit code 0 after a fatal error; what counts is SUCCESS COMPLETE WRF. CFL warnings in
a finished run do not invalidate its times. I/O quilting (nio_tasks_per_group) hides the time of output.

{application.IO_NOTE}
Heavy means a history file every `history_minutes` simulated minutes (default: {_HEAVY_MINUTES})."""


class Wrf(application.Application, frozen=True, kw_only=True):
    """A workload that runs a published forecast with WRF."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that the workload cannot use."""
        yield from application.io_faults(case)
        yield from application.folder_faults("inputs", str(case.parameters["inputs"]))
        yield from application.sum_faults(case)
        yield from _option_faults(case)
        if case.parameters["tables"]:
            yield from application.folder_faults("tables", str(case.parameters["tables"]))

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stages that link the input, edit the namelist, and run WRF."""
        folders = [str(case.parameters[name]) for name in ("tables", "inputs")]
        return (
            *(application.linked(folder) for folder in folders if folder),
            *application.checked(case),
            application.edited("namelist", ["namelist.input"], *_changes(case)),
            Stage(argv=(str(case.parameters["program"]),), inputs=tuple(filter(None, folders))),
        )

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read rsl.error.0000 or rsl.out.0000 (see core.workload.Workload.parse)."""
        return WrfLog(FOMS, self.ranks).parse(lines)


_OWN = r"run_(days|hours|minutes|seconds)|history_(interval|outname)|restart_interval"
"""A pattern for the names in the namelist that the workload sets."""

_DOMAINS, _QUILT = "domains", "namelist_quilt"
_GROUPS = {
    "io_form_history": "time_control",
    "nproc_x": _DOMAINS,
    "nproc_y": _DOMAINS,
    "nio_tasks_per_group": _QUILT,
    "nio_groups": _QUILT,
}
"""The group of the namelist for each parameter that is an entry of the same name (WRF's README.namelist)."""

_UNSET = {"io_form_history": 0, "nproc_x": -1, "nproc_y": -1, "nio_tasks_per_group": -1, "nio_groups": -1}
"""The values that leave the entry of the namelist as it is."""


def _option_faults(case: Case) -> Iterator[str]:
    """Yield a fault for numbers of tasks that do not fit the ranks of `case`; WRF would stop at its start."""
    x, y, tasks, groups = (
        int(case.parameters[name]) for name in ("nproc_x", "nproc_y", "nio_tasks_per_group", "nio_groups")
    )
    ranks = case.layout.ranks
    if 0 in (x, y) or (x > 0) != (y > 0):
        yield f"nproc_x is {x} and nproc_y is {y}; set both from 1 up, or neither"
        return
    writers = tasks * max(groups, 1) if tasks > 0 else 0
    if writers >= ranks:
        yield (
            f"{writers} of {count(ranks, 'rank')} would only write (nio_tasks_per_group × nio_groups); use "
            "fewer"
        )
    elif x > 0 and tasks >= 0 and x * y != ranks - writers:
        yield (
            f"nproc_x × nproc_y is {x * y}, but "
            f"{count(ranks - writers, 'rank computes', 'ranks compute')}; set a product of that number"
        )


def _set_entries(case: Case) -> Iterator[str]:
    """Yield the sed expressions that set the entries of the namelist which the case gives."""
    for name, group in _GROUPS.items():
        value = int(case.parameters[name])
        if value != _UNSET[name]:
            yield rf"/^[[:space:]]*{name}[[:space:]]*=/Id"
            yield rf"/^[[:space:]]*&{group}[[:space:]]*$/Ia\ {name} = {value},"


def _changes(case: Case) -> Iterator[str]:
    """Yield the sed expressions that replace length and output in the namelist by those of the case."""
    yield rf"/^[[:space:]]*({_OWN})[[:space:]]*=/Id"
    yield from _set_entries(case)
    every = int(case.parameters["history_minutes"])
    minutes = every if application.is_heavy(case) else _NEVER_MINUTES
    settings = {
        "run_days": 0,
        "run_hours": 0,
        "run_minutes": case.parameters["minutes"],
        "run_seconds": 0,
        "history_interval": f"21*{minutes}",  # one value per domain; WRF has at most 21
        "history_outname": f"'{application.output_folder(case)}/wrfout_d<domain>_<date>'",
        "restart_interval": _NEVER_MINUTES,
    }
    lines = r"\n".join(f" {name} = {value}," for name, value in settings.items())
    yield rf"/^[[:space:]]*&time_control/Ia\{lines}"


_OPTIONS = (
    declare.whole(
        "history_minutes",
        _HEAVY_MINUTES,
        "simulated minutes between two history files of heavy output (history_interval)",
        minimum=1,
        is_late=True,
    ),
    declare.whole(
        "io_form_history",
        0,
        "format of history files: 2 netCDF, 11 PnetCDF, 102 a file for each rank; 0 as in the namelist",
        choices=(0, 1, 2, 5, 10, 11, 13, 101, 102),
        is_late=True,
    ),
    declare.whole("nproc_x", -1, "ranks in x; -1 as in the namelist", minimum=-1, is_late=True),
    declare.whole("nproc_y", -1, "ranks in y; -1 as in the namelist", minimum=-1, is_late=True),
    declare.whole(
        "nio_tasks_per_group",
        -1,
        "ranks of each group that only write (quilting); -1 as in the namelist",
        minimum=-1,
        is_late=True,
    ),
    declare.whole(
        "nio_groups", -1, "groups of ranks that only write; -1 as in the namelist", minimum=-1, is_late=True
    ),
)


def _workload(name: str, summary: str, *, folder: str) -> Wrf:
    return Wrf(
        name=name,
        summary=summary,
        description=_DESCRIPTION,
        parameters=(
            declare.text(
                "inputs", f"{{storage}}/{folder}", "the folder with namelist.input and what it reads"
            ),
            declare.text("tables", "", "WRF's run folder, with its tables; empty where `inputs` holds them"),
            declare.whole("minutes", 180, "simulated minutes (run_minutes)", minimum=1),
            declare.text("program", "wrf.exe", "the WRF program"),
            application.CHECKSUMS,
            *_OPTIONS,
        ),
        foms=FOMS,
        output="rsl.error.0000",
    )


WORKLOADS = (
    _workload(
        "wrf.conus-2.5km",
        "Weather over the USA in 2.5 km cells (4 June 2005): time of a step.",
        folder="conus-2.5km",
    ),
    _workload(
        "wrf.conus-12km",
        "Weather over the USA in 12 km cells (25 October 2001): time of a step.",
        folder="conus-12km",
    ),
)
