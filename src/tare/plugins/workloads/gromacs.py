"""GROMACS: `gromacs.water`, molecular dynamics of a box of water (https://www.gromacs.org).

print_perf() (nrnb.cpp) prints the last lines of a run: ``Time:`` and ``Performance:``, below a line with the
names of the columns. All figures have three decimals. Version 4 and GMX_DETAILED_PERF_STATS print Mnbf/s and
MFlops before ns/day, so the parser finds columns by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tare.core.case import Case
from tare.core.values import Settings
from tare.core.workload import ALL_BUT_STORAGE, Fom, Parsed, QuestionKind, Stage
from tare.plugins.workloads.common import application, declare
from tare.plugins.workloads.common.benchmark import Banner
from tare.plugins.workloads.common.given_options import option_faults
from tare.plugins.workloads.common.runs import Runs
from tare.plugins.workloads.common.text import Sieve, figure
from tare.plugins.workloads.gromacs_input import box_edge_nm, minimisation, simulation, topology

_FOMS = (
    declare.higher(
        "ns_per_day", "ns/day", "simulated time in a day", is_primary=True, answers=ALL_BUT_STORAGE
    ),
    declare.lower("hours_per_ns", "hour/ns", "time for one simulated ns"),
    declare.higher("steps_per_hour", "steps/hour", "of an energy minimisation, which has no ns"),
    declare.lower("wall_time", "s", "elapsed time that the rate is made of", answers=(QuestionKind.STORAGE,)),
    declare.lower("core_time", "s", "the same, all cores together"),
    declare.lower("load_imbalance", "%", "slowest rank over the mean, of the force computation"),
    declare.lower("pme_imbalance", "%", "of the run time that PP and PME ranks wait for each other"),
)
_COLUMNS = {"ns/day": "ns_per_day", "hour/ns": "hours_per_ns", "steps/hour": "steps_per_hour"}
"""The figure of merit for each column of the ``Performance:`` line."""

_PARAMETERS = (
    declare.number(
        "size",
        1536.0,
        "thousands of atoms, as in the published water benchmark: 1.5, 3, 6, 12 … 1536, 3072",
        minimum=1.5,
    ),
    declare.whole("steps", 10_000, "time steps of 2 fs", minimum=100),
    declare.text(
        "electrostatics",
        "pme",
        "pme (3D FFTs, all-to-all traffic) or rf (reaction field, neighbours only)",
        choices=("pme", "rf"),
    ),
    declare.flag(
        "half", True, "measure the second half only (-resethway), after load balancing and PME tuning"
    ),
    declare.text("tpr", "", "a ready input (.tpr) to run instead of the generated box"),
    declare.text("sha256", "", "the SHA-256 sum of `tpr`; with another input the run fails"),
    declare.text("program", "gmx_mpi", "the GROMACS command"),
)

_DESCRIPTION = f"""\
Fills a cube with SPC/E water at liquid density (gmx solvate, with the spc216 box and the OPLS-AA force field
that come with GROMACS), relaxes it (steepest descent), and simulates it at 300 K with steps of 2 fs and
cut-offs of 1 nm. The box is made once for all cases of the same size. Sizes are those of the published
benchmark (https://ftp.gromacs.org/pub/benchmarks/water_GMX50_bare.tar.gz); its own inputs, or any other, run
with `tpr`. The program comes with Debian (gromacs), Spack, EasyBuild and Conda.

Traps: many ranks on a small box have no domain decomposition, and mdrun prints so; with `half` and PME tuning
(GPUs, or ranks for PME alone) mdrun needs enough steps to tune in the first half; ns/day is rounded to three
decimals, which is coarse where it is small; ranks × threads should fill the cores, or mdrun does not pin its
threads. The log is md.log.

{application.IO_NOTE}
Heavy means a compressed frame of all positions every 10 steps (nstxout-compressed)."""


class Gromacs(application.Application, frozen=True, kw_only=True):
    """A simulation with mdrun of a generated box of water, or of an input that the user provides."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that the workload cannot use."""
        yield from application.io_faults(case)
        if application.is_heavy(case) and case.parameters["tpr"]:
            yield "a .tpr holds its own output settings, so io has no effect on it; leave out io, or tpr"
        if sha256 := str(case.parameters["sha256"]):
            if not case.parameters["tpr"]:
                yield "sha256 is that of a ready input, and there is none; set tpr, or leave out sha256"
            if not _SHA256.fullmatch(sha256):
                yield f"sha256 is {sha256!r}, not 64 hexadecimal digits; write what sha256sum prints"
        yield from option_faults(case, self.name, _OPTIONS)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stages that make the input, unless `tpr` names one, and the simulation."""
        ready = str(case.parameters["tpr"])
        if sha256 := str(case.parameters["sha256"]):
            link = application.serial("link", "ln", "--symbolic", "--force", ready, "ready.tpr")
            return (link, application.checked_file("ready.tpr", sha256), _simulation(case, "ready.tpr"))
        steps = () if ready else tuple(_preparation(case.parameters, is_heavy=application.is_heavy(case)))
        return (*steps, _simulation(case, ready or "water.tpr"))

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read md.log, or the standard output of mdrun (see core.workload.Workload.parse)."""
        return _Log(_FOMS, self.ranks).parse(lines)


def _preparation(parameters: Settings, *, is_heavy: bool) -> Iterator[Stage]:
    """Yield the stages that make water.tpr: fill the box, relax it, and write the simulation's input."""
    gmx, method = str(parameters["program"]), str(parameters["electrostatics"])
    edge = f"{box_edge_nm(float(parameters['size'])):.5f}"
    fill = (gmx, "solvate", "-cs", "spc216.gro", "-box", edge, edge, edge, "-o", "box.gro", "-p", "topol.top")
    yield application.serial("fill", *fill, files={"topol.top": topology()}, keeps=("box.gro", "topol.top"))
    yield _grompp(gmx, "relax", minimisation(method), box="box.gro")
    yield application.serial("relax", gmx, "mdrun", "-deffnm", "relax", keeps=("relax.gro",))
    yield _grompp(gmx, "water", simulation(method, is_heavy=is_heavy), box="relax.gro")


def _grompp(gmx: str, name: str, parameters: str, *, box: str) -> Stage:
    """Return the stage that makes `name`.tpr from run parameters and a box."""
    argv = (gmx, "grompp", "-f", f"{name}.mdp", "-c", box, "-p", "topol.top", "-o", f"{name}.tpr")
    return application.serial(f"grompp-{name}", *argv, "-po", f"{name}.out.mdp",
                  files={f"{name}.mdp": parameters}, keeps=(f"{name}.tpr",))  # fmt: skip


def _simulation(case: Case, tpr: str) -> Stage:
    argv = [str(case.parameters["program"]), "mdrun", "-s", tpr, "-nsteps", str(case.parameters["steps"])]
    argv += ["-resethway"] if case.parameters["half"] else []
    argv += ["-noconfout", "-ntomp", str(case.layout.threads), "-g", "md.log"]
    argv += ["-x", f"{application.output_folder(case)}/traj.xtc"] if application.is_heavy(case) else []
    return Stage(argv=tuple(argv), inputs=(tpr,) if tpr == case.parameters["tpr"] else ())


_OPTIONS = {"-nsteps": "set steps", "-ntomp": "set threads", "-resethway": "set half: true"}
"""mdrun's options for which the workload has a setting, and what to do instead."""

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")

_HEADS = frozenset(
    {
        "     ", "Perfo", " Aver", " Part", "Finis", "Progr", "Log f", "Recei", "start", "Using", "Runni",
        "There", "Step ", "This ", "Overr", "Dynam", " Dyna",
    }
)  # fmt: skip
"""The first five characters of the lines that the parser reads."""

_REPORT = "Dynamic load balancing report:"
_ENDED_EARLY = "-maxh ended the run, before all of its steps"
_SIEVE = Sieve(
    "Performance:|Log file opened|Received the|starting mdrun|Using |Running on |There are: |"
    " ?Dynamic load balancing report|Step [0-9]+: Run time|This is simulation|Overriding nsteps ",
    "-rerun", "Program", "Time:", "(ns/day)", "(steps/hour)", "mbalance:", ":-)",
)  # fmt: skip

_TIME = re.compile(r" +Time: +([0-9]+\.[0-9]{3}) +([0-9]+\.[0-9]{3}) +[0-9]+\.[0-9]")
_ROUNDING = 0.000501
"""By how much a figure of three decimals may be off."""
_FIGURES = re.compile(r"Performance:((?: +[0-9]+\.[0-9]{1,3})+)")
_IMBALANCE = re.compile(r" Average load imbalance: ([0-9]+\.[0-9]+) ?%\.?")
_PME_IMBALANCE = re.compile(r".* due to PP/PME imbalance: (-?[0-9]+\.[0-9]+) ?%")
_IMBALANCES = (
    " Average load imbalance:",
    " Part of the total run time spent waiting due to PP/PME imbalance:",
)
_RANKS = re.compile(r"Using (\d+) MPI (process|thread)(?:e?s)? *")
_THREADS = re.compile(r"Using (\d+) OpenMP threads?(?: per t?MPI (?:process|thread))? *")
_NODES = re.compile(r"Running on (\d+) nodes? with total ")
_ATOMS = re.compile(r"There are: (\d{1,12}) Atoms *")
_SIMULATIONS = re.compile(r"This is simulation \d+ out of (\d{1,6}) running as a composite .*")
_RERUN = re.compile(
    r"\s*(?:\S+ )?\S*mdrun\S* (?:.* )?-rerun\b|Note that it is planned that the command gmx mdrun -r"
)
"""The command line of a run that evaluates the frames of a file, or the note on it."""
_STEPS = re.compile(r"Overriding nsteps with value passed on the command line: (-?\d+) steps\b.*")
_PROGRAM = re.compile(r"Program:? .*(?:version|VERSION) \S+")


class _Log(application.ApplicationLog):
    """Collects the runs of one log and the error messages of GROMACS."""

    banner = Banner("GROMACS - ", r":-\) GROMACS - [^,\n]*, (?:VERSION )?(\S+)")
    sieve = _SIEVE

    def __init__(self, foms: Iterable[Fom], ranks: int | None) -> None:
        super().__init__(foms, ranks)
        self._runs = Runs(self._findings, len(_FOMS))
        self._columns: tuple[str, ...] = ()
        self._error: list[str] | None = None
        self._is_ended_early = self._is_multiple = False
        self._has_report = False
        """Whether the run has the report that begins with the load imbalance."""

    def read(self, line: str) -> None:
        """Read one line: one with a known beginning, or a line of an error message."""
        if self._error is not None:
            self._read_error(line)
        elif " -rerun" in line and _RERUN.match(line):
            self._findings.problem(
                "a rerun (-rerun) simulates nothing; its ns/day is no speed of a simulation"
            )
        elif line[:5] in _HEADS:
            self._read_head(line)

    def _read_head(self, line: str) -> None:
        if line[0] == " ":
            self._read_indented(line)
        elif line.startswith("Performance:"):
            self._read_performance(line)
        elif line.startswith(("Log file opened on ", "starting mdrun ")):
            self._runs.begin()
        elif _PROGRAM.fullmatch(line):
            self._error = []
        elif line.startswith("Step ") and ": Run time exceeded " in line:
            self._is_ended_early = True
        elif line == _REPORT:
            self._has_report = True
        elif line.startswith("Received the ") and " signal, stopping" in line:
            self._findings.problem(f"a signal stopped GROMACS early: {line}")
        else:
            self._read_fact(line)

    def _read_fact(self, line: str) -> None:
        """Read a line with a setting of the run, such as its ranks."""
        record = self._findings.record_facts
        if match := _RANKS.fullmatch(line):
            # With thread-MPI, ranks are threads of one process, so the launcher started only one.
            is_mpi = match[2] == "process"
            self._ranks.add(int(match[1]) if is_mpi else 1)
            record(ranks=int(match[1]))
            if not is_mpi:
                record(thread_mpi_ranks=int(match[1]))
        elif match := _THREADS.fullmatch(line):
            record(threads=int(match[1]))
        elif match := _NODES.match(line):
            record(nodes=int(match[1]))
        elif match := _ATOMS.fullmatch(line):
            record(n_atoms=int(match[1]))
        elif (match := _STEPS.fullmatch(line)) and int(match[1]) == 0:
            self._findings.problem(
                "the simulation has no steps (-nsteps 0), so its ns/day is that of the start"
            )
        elif match := _SIMULATIONS.fullmatch(line):
            self._is_multiple = True
            record(n_simulations=int(match[1]))

    def _read_indented(self, line: str) -> None:
        if "Time:" in line:
            if match := _TIME.fullmatch(line):
                figures = self._runs.open.figures
                figures["core_time"], figures["wall_time"] = float(match[1]), float(match[2])
        elif "(ns/day)" in line or "(steps/hour)" in line:
            self._columns = tuple(word.strip("()") for word in line.split())
        elif "mbalance:" in line:
            if match := _IMBALANCE.fullmatch(line):
                self._runs.open.figures["load_imbalance"] = float(match[1])
            elif match := _PME_IMBALANCE.fullmatch(line):
                self._runs.open.figures["pme_imbalance"] = float(match[1])
            elif line.startswith(_IMBALANCES):
                self._findings.problem(f"a line of an imbalance is broken: {line.strip()[:120]}")
        elif line == f" {_REPORT}":
            self._has_report = True
        elif ":-)" in line and "mdrun" in line:
            self._runs.begin()

    def _read_performance(self, line: str) -> None:
        """Read the last line of a run; it must have a figure with all its decimals for each column."""
        match = _FIGURES.fullmatch(line)
        words = match[1].split() if match else []
        columns, self._columns = self._columns, ()
        values = dict(zip(columns, words, strict=False))
        if not columns or len(words) != len(columns) or not all(map(_is_whole, columns, words)):
            self._findings.problem(f"the performance is not all there: {line}")
            return
        if not _is_one_speed(values):
            self._findings.problem(f"its ns/day and hour/ns are not of one speed: {line}")
        run = self._runs.open
        for column, fom in _COLUMNS.items():
            if column in values:
                run.figures[fom] = float(values[column])
        if "wall_time" not in run.figures:
            self._findings.mixed("the performance of a run without its time")
        if self._has_report and "load_imbalance" not in run.figures:
            self._findings.problem("GROMACS' report of load balancing lacks the load imbalance")
        self._has_report = False
        if self._is_ended_early:  # at -maxh; the rate counts the steps that were made, the times do not
            for fom in ("wall_time", "core_time"):
                if run.figures.pop(fom, None) is not None:
                    self._findings.leave_out(fom, _ENDED_EARLY, {})
        self._is_ended_early = False
        run.is_finished = True

    def _read_error(self, line: str) -> None:
        """Read a line of an error message, which begins with ``Program:``; its text follows a blank line."""
        message = self._error
        if message is None:
            return
        text = line.strip()
        if not message and not (text.endswith(":") and ": " not in text):
            if text.startswith("For more information"):
                self._error = None
            return
        if text and not text.startswith(("For more information", "-----")):
            message.append(text)
            if len(message) < 8:
                return
        if message:
            self._findings.problem(f"GROMACS ended with an error: {' '.join(message)}")
            self._error = None

    def parsed(self) -> Parsed:
        """Return the figures of each finished run, and those of the last run even if it did not finish."""
        if self._error:
            self._findings.problem(f"GROMACS ended with an error: {' '.join(self._error)}")
        hint = "; a multi-simulation prints it only to md.log of each folder" if self._is_multiple else ""
        is_complete = self._runs.report(
            end=f"the output lacks the line Performance; the simulation did not come to its end{hint}",
            nothing="the output holds no simulation by GROMACS",
        )
        return self._finish(is_complete=is_complete)


def _is_whole(column: str, word: str) -> bool:
    """Return whether `word` has all its decimals: one for steps/hour, three for the other columns."""
    value = figure(word)
    return value is not None and len(word.partition(".")[2]) == (1 if column == "steps/hour" else 3)


def _is_one_speed(values: Mapping[str, str]) -> bool:
    """Return whether hour/ns is 24 / (ns/day), as far as three decimals tell; True without both."""
    if not {"ns/day", "hour/ns"} <= values.keys():
        return True
    speed, inverse = float(values["ns/day"]), float(values["hour/ns"])
    return (speed - _ROUNDING) * (inverse - _ROUNDING) <= 24 <= (speed + _ROUNDING) * (inverse + _ROUNDING)


WORKLOADS = (
    Gromacs(
        name="gromacs.water",
        summary="Molecular dynamics of a box of water: ns/day.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
        output="md.log",
    ),
)
