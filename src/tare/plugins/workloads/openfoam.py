"""OpenFOAM: `openfoam.motorbike`, steady flow around a motorcycle (openfoam.org, openfoam.com).

Solvers print ``ExecutionTime = 1.5 s  ClockTime = 2 s`` after each ``Time = 1`` (Time::printExecutionTime),
and ``End`` after the last step. Both families of versions do so since 1.6. A log may contain several
programs, each with a banner of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from tare.core.case import Case
from tare.core.counting import count
from tare.core.workload import ALL_BUT_STORAGE, Fom, Parsed, QuestionKind, Stage
from tare.plugins.workloads.common import application, declare
from tare.plugins.workloads.common.benchmark import Banner
from tare.plugins.workloads.common.runs import Runs
from tare.plugins.workloads.common.text import Sieve, figure
from tare.plugins.workloads.openfoam_case import (
    DECOMPOSITIONS,
    EDITIONS,
    HEAVY_INTERVAL,
    background,
    changed,
    control_dict,
    decompose_par_dict,
    mesh_edits,
    total_cells,
)
from tare.plugins.workloads.openfoam_steps import Lengths, Steps

_FOMS = (
    declare.lower(
        "execution_time",
        "s",
        "processor time of the first rank, to the last step; waiting for disks is not in it",
        is_primary=True,
        answers=ALL_BUT_STORAGE,
    ),
    declare.lower(
        "clock_time",
        "s",
        "elapsed time from start to the last step, most often in whole seconds",
        is_primary=True,
        answers=(QuestionKind.STORAGE,),
    ),
    declare.lower("step_time", "s", "execution time of one step, mean without start and first step"),
)

_PARAMETERS = (
    declare.whole(
        "cells",
        350_000,
        "about how many cells the mesh gets; the tutorial's has 350 thousand",
        minimum=20_000,
    ),
    declare.text(
        "background_mesh",
        "",
        "its background mesh, such as 100x40x40, in place of `cells`; empty: what `cells` needs",
        is_late=True,
    ),
    declare.text(
        "decomposition",
        "hierarchical",
        "how decomposePar splits the mesh",
        choices=DECOMPOSITIONS,
        is_late=True,
    ),
    declare.whole("iterations", 100, "steps of the solver", minimum=2),
    declare.text(
        "edition",
        "com",
        "com (v1612 and later), org (7 to 10) or org11 (11 and later)",
        choices=tuple(EDITIONS),
    ),
    declare.text(
        "tutorials",
        "/usr/share/doc/openfoam-examples/examples",
        "the folder of OpenFOAM's tutorials, $FOAM_TUTORIALS",
    ),
)

_DESCRIPTION = f"""\
Runs the motorBike tutorial, the field's favourite benchmark: steady incompressible flow with the k-ω SST
model. The stages are those of its Allrun: surface features, blockMesh, decomposePar, snappyHexMesh,
potentialFoam, then the solver, which alone is measured. The mesh is made once for all cases with the same
mesh and ranks. `cells` scales the background mesh; snappyHexMesh refines near the surface, so that the cells
grow with the square of the background's resolution, and its log has their final number. `background_mesh`
sets the background itself: 100x40x40 is that of the OpenFOAM HPC committee, of 8.6 million cells.
`decomposition: scotch` needs an OpenFOAM with the library scotchDecomp; Debian's has only a stub of it, and
decomposePar says so.

Versions of openfoam.com and Debian: edition com; openfoam.org: org, or org11 where foamRun took simpleFoam's
place. The environment of OpenFOAM (etc/bashrc) must be loaded; with Debian's packages (openfoam,
openfoam-examples) set WM_PROJECT_DIR=/usr/share/openfoam in the platform's `env`. Function objects
(streamlines, forces) are left out.

Traps: ExecutionTime is processor time, which does not grow while a rank waits for a disk: compare I/O by
clock_time. The banner "Floating point exception trapping" is no error.

{application.IO_NOTE}
Heavy means all fields every {HEAVY_INTERVAL} steps (writeInterval)."""


class MotorBike(application.Application, frozen=True, kw_only=True):
    """A workload that runs the motorBike tutorial with a solver for steady flow."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that the workload cannot use."""
        yield from application.io_faults(case)
        text = case.parameters["background_mesh"]
        mesh = background(case)
        if mesh is None:
            yield f"background_mesh is {text!r}; write the cells in x, y and z from 1 up, such as 100x40x40"
            return
        n_cells = math.prod(mesh)
        if case.layout.ranks > n_cells:
            of_cells = "" if text else f" of {case.parameters['cells']} cells"
            yield (
                f"the background mesh{of_cells} has {count(n_cells, 'cell')}, too few for "
                f"{count(case.layout.ranks, 'rank')}; use more cells or fewer ranks"
            )

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stages of the tutorial's Allrun, the solver last."""
        edition = EDITIONS[str(case.parameters["edition"])]
        folder = application.output_folder(case)
        move: tuple[Stage, ...] = ()
        if folder != ".":
            move = (application.serial("move", "cp", "--recursive", "-T", ".", folder),)
        case_option = () if folder == "." else ("-case", folder)
        return (
            *_case_files(case),
            *_mesh(case),
            changed("length", {"system/controlDict": control_dict(case)}),
            Stage(name="potential", argv=(*edition.potential, *_parallel(case))),
            *move,
            Stage(argv=(*edition.solver, *case_option, *_parallel(case))),
        )

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the log of a solver, or of a whole Allrun (see core.workload.Workload.parse)."""
        return _Log(_FOMS, self.ranks).parse(lines)


def _parallel(case: Case) -> tuple[str, ...]:
    """Return the option for a parallel run; OpenFOAM refuses it on a single rank."""
    return ("-parallel",) if case.layout.ranks > 1 else ()


def _case_files(case: Case) -> Iterator[Stage]:
    """Yield the stages that copy the tutorial and change the files on which the mesh depends."""
    tutorials = str(case.parameters["tutorials"])
    tutorial = f"{tutorials}/{EDITIONS[str(case.parameters['edition'])].tutorial}"
    shape = f"{tutorials}/resources/geometry/motorBike.obj.gz"
    yield application.serial("tutorial", "cp", "--recursive", "-T", tutorial, ".", inputs=(tutorial,))
    # Debian compresses some of the dictionaries.
    yield application.serial(
        "unpack", "find", "system", "-name", "*.gz", "-exec", "gunzip", "--force", "{}", "+"
    )
    method = str(case.parameters["decomposition"])
    yield changed("ranks", {"system/decomposeParDict": decompose_par_dict(case.layout.ranks, method)})
    mesh = background(case)
    if mesh is not None:  # otherwise it is a fault
        yield mesh_edits(mesh, total_cells(case))
    # constant/geometry is the place since openfoam.org's version 9, constant/triSurface everywhere else.
    for folder in ("constant/triSurface", "constant/geometry"):
        yield application.serial("shape", "install", "-D", "--mode=644", shape, f"{folder}/motorBike.obj.gz")
    yield application.serial("fields", "cp", "--recursive", "-T", "0.orig", "0")


def _mesh(case: Case) -> Iterator[Stage]:
    """Yield the stages that make the mesh, each kept for all cases with the same mesh and ranks."""
    ranks = case.layout.ranks
    parts = tuple(f"processor{rank}" for rank in range(ranks)) if ranks > 1 else ("constant/polyMesh",)
    features = EDITIONS[str(case.parameters["edition"])].features
    yield application.serial("features", features, keeps=("constant",))
    yield application.serial("blockMesh", "blockMesh", keeps=("constant/polyMesh",))
    if ranks > 1:
        yield application.serial("decompose", "decomposePar", "-force", "-copyZero", keeps=parts)
    yield Stage(name="snappy", argv=("snappyHexMesh", "-overwrite", *_parallel(case)), keeps=parts)


_HEADS = frozenset({"Exec", "Time", "delt", "End", "nPro"})
"""The first characters of the lines that the parser reads in a successful run."""

_SIEVE = Sieve("Exec|Time = |deltaT = |End|nProcs", "FOAM FATAL", "::sig", "nan", "inf,")
_TIMES = re.compile(r"ExecutionTime = ([0-9][-+.0-9e]*) s(?:  ClockTime = ([0-9][-+.0-9e]*) s)?")
_RANKS = re.compile(r"nProcs : ([0-9]+)")
_FATAL = re.compile(r"(?:\[[0-9]+\] )?--> FOAM FATAL (?:IO )?ERROR.*")
_SIGNAL = re.compile(r"Foam::sig(Fpe|Segv|Quit|Int|Stop)\w*::sigHandler")
_SIGNALS = {"Fpe": "a floating point exception", "Segv": "a segmentation fault"}


class _Log(application.ApplicationLog):
    """Collects the programs of one log; those with time steps are runs."""

    banner = Banner("Build ", r"\bBuild +: (\S+)")
    sieve = _SIEVE

    def __init__(self, foms: Iterable[Fom], ranks: int | None) -> None:
        super().__init__(foms, ranks)
        self._program_ranks: int | None = None
        self._program = ""
        self._runs = Runs(self._findings, len(_FOMS))
        self._steps: Steps | None = None
        self._time: float | None = None
        self._lengths = Lengths()
        self._is_ended = True
        self._is_fatal = False
        self._n_begun = 0
        """How many steps have begun since the last step ended."""
        self._has_loose_end = self._is_lossy = False

    def read(self, line: str) -> None:
        if line[:4] in _HEADS:
            self._read_head(line)
        elif self._is_fatal:
            self._read_fatal(line)
        elif "esidual = " in line:
            if "nan" in line or "inf," in line:
                self._findings.problem(f"the solution has diverged: {line.strip()[:120]}")
        elif "FOAM FATAL" in line:
            self._is_fatal = _FATAL.fullmatch(line) is not None
        elif "::sig" in line and (match := _SIGNAL.search(line)):
            cause = _SIGNALS.get(match[1], f"signal {match[1]}")
            self._findings.problem(f"OpenFOAM was stopped by {cause}")

    def _read_head(self, line: str) -> None:
        if line.startswith("Exec"):
            self._read_exec(line)
        elif line.startswith("Time = "):
            self._time = figure(line[7:].rstrip("s"))
            self._n_begun += 1
            self._is_lossy |= not self._lengths.take(line[7:].rstrip("s"))
        elif line.startswith("deltaT = "):
            self._lengths.announce(line[9:].rstrip("s"))
        elif line == "End":
            self._end()
        elif match := _RANKS.fullmatch(line):
            self._program_ranks = int(match[1])

    def _read_exec(self, line: str) -> None:
        if line.startswith("Exec   : "):
            self._steps, self._time, self._is_ended = None, None, False
            self._lengths = Lengths()
            self._n_begun, self._has_loose_end, self._is_lossy = 0, False, False
            self._program, self._program_ranks = _solver(line), None
        elif self._time is None:
            self._has_loose_end |= _TIMES.fullmatch(line) is not None
        elif match := _TIMES.fullmatch(line):
            execution, clock = figure(match[1]), figure(match[2]) if match[2] else None
            if execution is None:
                return
            if self._steps is None:
                self._runs.begin()
                self._steps = Steps()
                if self._program_ranks is not None:
                    self._ranks.add(self._program_ranks)
                    self._findings.record_facts(ranks=self._program_ranks)
                if self._program:
                    self._findings.record_facts(solver=self._program)
            figures = self._runs.open.figures
            figures["execution_time"] = execution
            if clock is not None:
                figures["clock_time"] = clock
            self._is_lossy |= self._n_begun != 1 or self._has_loose_end
            if self._is_lossy and (self._steps.is_new or not self._steps.is_even):
                self._findings.mixed("steps are missing, or only their beginning or their end is there")
            self._n_begun = 0
            mean = self._steps.take(self._time, execution)
            if not self._steps.is_in_order:
                self._findings.mixed("time does not grow from step to step")
            if mean is not None:
                figures["step_time"] = mean

    def _end(self) -> None:
        if self._program and self._is_ended:
            self._findings.mixed("more programs end than begin")
        self._is_ended = True
        if self._steps is not None and self._steps.starts_late and not self._program:
            self._findings.problem("the log begins in the middle of a run, after its first steps")
        if self._steps is not None and self._n_begun:
            self._findings.problem("the time that the last step took is missing")
        if self._steps is not None and self._runs.last is not None:
            self._runs.last.is_finished = True
        self._steps = None

    def _read_fatal(self, line: str) -> None:
        """Read a line after the head of an error; the first line with text is the message."""
        text = re.sub(r"^\[[0-9]+\] ?", "", line).strip()
        if text:
            self._findings.problem(f"OpenFOAM ended with a fatal error: {text[:200]}")
            self._is_fatal = False

    def parsed(self) -> Parsed:
        """Return the times of each finished solver, and those of the last one even if it did not finish."""
        if self._is_fatal:
            self._findings.problem("OpenFOAM ended with a fatal error")
        is_complete = self._runs.report(
            end="the output lacks the line End; the solver did not come to its end",
            nothing="the output holds no time step of a solver",
        )
        if is_complete and not self._is_ended:
            self._findings.problem("the last program of the output did not come to its end")
        is_complete = is_complete and self._is_ended
        return self._finish(is_complete=is_complete)


def _solver(line: str) -> str:
    """Return the program in a line ``Exec``; for a program with the option -solver, the name after it."""
    words = line.partition(" : ")[2].split()
    modular = words.index("-solver") + 1 if "-solver" in words[:-1] else 0
    return words[modular].rpartition("/")[2] if words else ""


WORKLOADS = (
    MotorBike(
        name="openfoam.motorbike",
        summary="Steady flow around a motorcycle: execution and clock time of the solver.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
    ),
)
