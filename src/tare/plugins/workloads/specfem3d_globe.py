"""SPECFEM3D_GLOBE: seismic waves through the whole Earth (https://github.com/SPECFEM/specfem3d_globe).

The mesher writes OUTPUT_FILES/output_mesher.txt, the solver output_solver.txt (finalize_simulation.f90,
check_stability.f90). Both use Fortran's list-directed output: the compiler chooses blanks and digits, and may
put a value on the next line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tare.core.case import Case
from tare.core.counting import count
from tare.core.units import write_number
from tare.core.values import Scalar, Settings
from tare.core.workload import Fom, Parsed, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.application import edited, folder_faults, serial
from tare.plugins.workloads.common.benchmark import Benchmark
from tare.plugins.workloads.common.log_parser import LogParser
from tare.plugins.workloads.common.runs import Runs
from tare.plugins.workloads.common.text import figure

_FOMS = (
    declare.lower("elapsed", "s", "time of all steps of the solver (Total elapsed time)", is_primary=True),
    declare.lower("step_time", "s", "mean time of a step of the solver", is_primary=True),
    declare.lower("mesher_time", "s", "time of making the mesh"),
)
_MESHER_FOMS = (*_FOMS[:2], msgspec.structs.replace(_FOMS[2], is_primary=True))

_COMPILERS = "mpif90 gfortran gcc"

_PARAMETERS = (
    declare.whole("nex", 64, "elements along each side of a chunk (NEX_XI, NEX_ETA)", minimum=16),
    declare.whole(
        "chunks", 1, "parts of the cubed sphere; 6 are the whole Earth (NCHUNKS)", choices=(1, 2, 3, 6)
    ),
    declare.whole(
        "aspect",
        0,
        "NPROC_XI / NPROC_ETA; 0 takes 1, or 2 where only that comes out even, as for 8 ranks",
        minimum=0,
    ),
    declare.number("minutes", 2.5, "simulated minutes (RECORD_LENGTH_IN_MINUTES)", minimum=0.1),
    declare.text("model", "1D_isotropic_prem", "the Earth model (MODEL)"),
    declare.text("sources", "/opt/specfem3d_globe", "the source tree, after ./configure FC=… MPIFC=…"),
    declare.text(
        "compilers",
        _COMPILERS,
        "the compilers with which the tree is configured; an update of one builds anew",
    ),
)

_DESCRIPTION = """\
Builds the mesher, and the solver for this Par_file: a header dimensions its arrays (values_from_mesher.h),
and the tree's own rules make it. Makes a mesh in parallel (xmeshfem3D), and follows the waves of the
earthquake in DATA/CMTSOLUTION (xspecfem3D). Mesh and builds are made once for all cases that need the same:
the solver again for another Par_file, but not for other nodes or threads. A copy of the tree's own
DATA/Par_file is edited, so that it fits the version: chunks, elements, ranks, model and length. The tree
itself is never written to.

NPROC_XI and NPROC_ETA follow from ranks = chunks × NPROC_XI × NPROC_ETA and NPROC_XI = aspect × NPROC_ETA.
NEX must be a multiple of 16 and of 8 × NPROC_XI and 8 × NPROC_ETA; more than two chunks need
NPROC_XI = NPROC_ETA, and six chunks NEX ≥ 32, or 48 where the Par_file has TOPOGRAPHY. A study's `where`
may use nproc_xi and nproc_eta.

Traps: elements grow with the square of NEX or faster, and time steps with NEX as well, so weak scaling
compares the times of a step. With threads, the tree must be configured with --enable-openmp, or with
-fopenmp in FLAGS_CHECK where its configure lacks that option, as in 7.0: one thread runs otherwise. The
program writes seismograms alone, so it has no factor `io`."""


class SpecfemGlobe(Benchmark, frozen=True, kw_only=True):
    """A workload that runs the mesher of SPECFEM3D_GLOBE and, with `has_solver`, its solver."""

    has_solver: bool

    def derive(self, settings: Settings) -> Mapping[str, Scalar]:
        """Return the numbers of ranks along the sides of a chunk; empty if the ranks do not fit."""
        sides = _sides(settings)
        return dict(zip(("nproc_xi", "nproc_eta"), sides, strict=True)) if sides else {}

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for each setting that read_compute_parameters.f90 would refuse during the run."""
        if case.io not in (None, "none"):
            yield f"{self.name} has no factor io; leave out io"
        yield from folder_faults("sources", str(case.parameters["sources"]))
        nex, chunks, ranks = int(case.parameters["nex"]), int(case.parameters["chunks"]), case.layout.ranks
        sides = _sides(case.settings)
        if sides is None:
            yield _shape_fault(ranks, chunks, int(case.parameters["aspect"]) or 1)
        elif chunks > 2 and sides[0] != sides[1]:
            yield (
                f"{chunks} chunks need as many ranks along both sides, not {sides[0]} and {sides[1]}; "
                "leave out aspect"
            )
        yield from _element_faults(nex, sides or (1, 1))
        if chunks == 6 and nex < _FLAT_GLOBE_NEX:
            yield f"6 chunks need at least nex 32, or 48 with TOPOGRAPHY, not {nex}; set nex: 48"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stages that build and run the mesher, and the solver for the edited Par_file."""
        if not self.has_solver:
            return (*_preparation(case), Stage(name="mesh", argv=("bin/xmeshfem3D",)))
        build = _build("xspecfem3D", case)
        mesher = Stage(name="mesh", argv=("bin/xmeshfem3D",), keeps=("DATABASES_MPI", "OUTPUT_FILES"))
        return (*_preparation(case), build, mesher, Stage(argv=("bin/xspecfem3D",)))

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the log of the mesher or of the solver (see core.workload.Workload.parse)."""
        return _Log(self.foms).parse(lines)


def _sides(settings: Settings) -> tuple[int, int] | None:
    """Return NPROC_XI and NPROC_ETA, or None if the ranks do not fit such a rectangle."""
    chunks, asked = int(settings.get("chunks", 1)), int(settings.get("aspect", 0))
    ranks = int(settings.get("ranks", 1))
    for aspect in [asked] if asked else [1] if chunks > 2 else [1, 2]:
        eta = math.isqrt(ranks // (chunks * aspect))
        if eta and chunks * aspect * eta * eta == ranks:
            return aspect * eta, eta
    return None


def _element_faults(nex: int, sides: tuple[int, int]) -> Iterator[str]:
    """Yield a fault if `nex` elements cannot be halved twice with depth in the part of each rank."""
    steps = {"16": 16, "8 × nproc_xi": 8 * sides[0], "8 × nproc_eta": 8 * sides[1]}
    for name, step in steps.items():
        if nex % step:
            divisor = math.lcm(*steps.values())
            fitting = max(round(nex / divisor), 1) * divisor
            value = "" if name == "16" else f", which is {step}"
            yield f"nex {nex} is not a multiple of {name}{value}; set nex: {fitting}"
            return


def _shape_fault(ranks: int, chunks: int, aspect: int) -> str:
    """Return the fault that `ranks` cannot be laid out, with the nearest possible number."""
    side = max(round(math.sqrt(ranks / (chunks * aspect))), 1)
    return (
        f"{count(ranks, 'rank is', 'ranks are')} not {chunks} × {aspect} × a square (chunks × aspect × "
        "NPROC_ETA²); "
        f"set ranks: {chunks * aspect * side * side}"
    )


_FLAT_GLOBE_NEX = 32
"""The least NEX of six chunks; with TOPOGRAPHY in the Par_file it is 48 (read_compute_parameters.f90)."""

_MAKEFILE = """\
# Builds one program of SPECFEM3D_GLOBE in a copy of its configured sources.
build:
	rm -rf build.part
	cp --archive --no-target-directory $(SOURCES) build.part
	mv build.part build

bin/xmeshfem3D: | build
	$(MAKE) --directory=build xmeshfem3D
	install -D build/bin/xmeshfem3D $@

# The program's own rules make the header of the solver's arrays from the Par_file that they find.
# DATA and OUTPUT_FILES of the sources may be links to folders outside: neither is written to.
bin/xspecfem3D: DATA/Par_file | build
	rm -rf build/DATA build/OUTPUT_FILES
	ln -s ../DATA build/DATA
	mkdir build/OUTPUT_FILES
	$(MAKE) --directory=build xspecfem3D
	install -D build/bin/xspecfem3D $@
"""


def _build(program: str, case: Case) -> Stage:
    """Return the stage that builds `program`; it is reused while sources and compilers do not change."""
    sources = str(case.parameters["sources"])
    argv = ("make", "--file=specfem.mk", f"SOURCES={sources}", f"bin/{program}")
    return Stage(
        name=f"build-{program}",
        argv=argv,
        files={"specfem.mk": _MAKEFILE},
        is_mpi=False,
        keeps=(f"bin/{program}",),
        inputs=(sources,),
        # A campaign that began before the parameter came has none.
        programs=tuple(str(case.parameters.get("compilers", _COMPILERS)).split()),
    )


def _preparation(case: Case) -> Iterator[Stage]:
    """Yield the stages before the mesher; its build is first, because it is the same for all parameters."""
    sources = str(case.parameters["sources"])
    yield _build("xmeshfem3D", case)
    yield serial("folders", "mkdir", "-p", "DATA", "DATABASES_MPI", "OUTPUT_FILES")
    links = ("cp", "-H", "--recursive", "--symbolic-link", "--force", "-T")  # -H: DATA may be a link itself
    yield serial("data", *links, f"{sources}/DATA", "DATA")
    yield edited(
        "parameters",
        ["DATA/Par_file"],
        *(rf"s/^({name}) *=.*/\1 = {value}/" for name, value in _par_file(case).items()),
    )


def _par_file(case: Case) -> dict[str, str]:
    """Return the settings to change in Par_file, in the spelling of that file."""
    parameters = case.parameters
    xi, eta = _sides(case.settings) or (1, 1)
    chunks = int(parameters["chunks"])
    return {
        "SIMULATION_TYPE": "1",
        "NOISE_TOMOGRAPHY": "0",
        "SAVE_FORWARD": ".false.",
        "NCHUNKS": str(chunks),
        # More than one chunk must each cover a face of the cube.
        "ANGULAR_WIDTH_XI_IN_DEGREES": "90.d0",
        "ANGULAR_WIDTH_ETA_IN_DEGREES": "90.d0",
        "NEX_XI": str(parameters["nex"]),
        "NEX_ETA": str(parameters["nex"]),
        "NPROC_XI": str(xi),
        "NPROC_ETA": str(eta),
        "MODEL": str(parameters["model"]),
        # Three chunks cannot absorb waves at their sides, and six have none.
        "ABSORBING_CONDITIONS": ".true." if chunks < 3 else ".false.",
        "RECORD_LENGTH_IN_MINUTES": f"{write_number(float(parameters['minutes']))}d0",
        "MOVIE_SURFACE": ".false.",
        "MOVIE_VOLUME": ".false.",
        "LOCAL_PATH": r".\/DATABASES_MPI",
        "LOCAL_TMP_PATH": r".\/DATABASES_MPI",
    }


_FIGURES = {
    "Total elapsed time in seconds": "elapsed",
    "Mean elapsed time per time step in seconds": "step_time",
    "Elapsed time for mesh generation and buffer creation in seconds": "mesher_time",
}
"""The figure of merit for the text of each line that has one."""


_RANKS = re.compile(r" *There are +(\d{1,9}) MPI processes")


class _Log(LogParser):
    """Collects the runs of mesher and solver in one log."""

    finds_aborts = True

    def __init__(self, foms: Iterable[Fom]) -> None:
        super().__init__(foms)
        self._programs = {name: Runs(self._findings, len(_FIGURES)) for name in ("mesher", "solver")}
        self._awaited: str | None = None
        self._read: tuple[str, float] | None = None
        self._last_words = ""
        self._lacks_mean = False

    def read(self, line: str) -> None:
        if self._read is not None:
            # A figure counts only when another line follows it: then it has all its digits.
            fom, value = self._read
            self._program(fom).open.figures[fom] = value
            self._lacks_mean &= fom != "step_time"
            self._read = None
        if "lapsed" in line or self._awaited is not None:
            self._read_figure(line)
        elif "Time step #" in line:  # it begins a block with the mean up to this step
            self._program("step_time").open.figures.pop("step_time", None)
            self._lacks_mean = True
        elif "End of " in line:
            self._read_end(line.strip())
        elif "Specfem3D MPI " in line:
            for program, runs in self._programs.items():
                if program.capitalize() in line:
                    runs.begin()
        elif "MPI processes" in line:
            if match := _RANKS.fullmatch(line):
                self._findings.record_facts(ranks=int(match[1]))
        elif "aborting MPI" in line:
            words = (self._last_words or line).strip()[:200]
            self._findings.problem(f"SPECFEM3D_GLOBE ended with an error: {words}")
        if line:
            self._last_words = line

    def _program(self, fom: str) -> Runs:
        return self._programs["mesher" if fom == "mesher_time" else "solver"]

    def _read_figure(self, line: str) -> None:
        """Read a line with the name of a figure and its value, or a later line with only the value."""
        name, sign, word = line.partition("=")
        if sign:
            self._awaited = _FIGURES.get(name.strip())
            word = word.strip()
        else:
            word = line.strip()
        value = figure(word.upper().replace("D", "E"))  # some compilers print 1.5D+02
        if self._awaited is not None and value is not None:
            self._read = (self._awaited, value)
            self._awaited = None

    def _read_end(self, text: str) -> None:
        if text == "End of mesh generation":
            self._programs["mesher"].open.is_finished = True
        elif text == "End of the simulation":
            self._programs["solver"].open.is_finished = True

    def parsed(self) -> Parsed:
        """Return the times of each finished run, and those of the last run even if it did not finish."""
        complete = []
        for program, runs in self._programs.items():
            if runs.last is not None:
                end = f"the output lacks the {program}'s closing line; it did not come to its end"
                complete.append(runs.report(end=end, nothing=""))
                has_time = "mesher_time" in runs.last.figures or "elapsed" in runs.last.figures
                if not has_time:
                    self._findings.problem(f"the output lacks the times of the {program}")
                complete.append(has_time)
        if not complete:
            self._findings.problem("the output holds no run of SPECFEM3D_GLOBE")
        if self._lacks_mean:
            self._findings.problem("the output lacks the mean time of a step up to the last reported one")
        is_complete = bool(complete) and all(complete)
        return self._findings.parsed(is_complete=is_complete)


WORKLOADS = (
    SpecfemGlobe(
        name="specfem3d_globe",
        summary="Seismic waves through the Earth, spectral elements: time of the solver.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_FOMS,
        output="OUTPUT_FILES/output_solver.txt",
        has_solver=True,
    ),
    SpecfemGlobe(
        name="specfem3d_globe.mesher",
        summary="The mesh of a simulation of seismic waves: time of the mesher.",
        description=_DESCRIPTION,
        parameters=_PARAMETERS,
        foms=_MESHER_FOMS,
        output="OUTPUT_FILES/output_mesher.txt",
        has_solver=False,
    ),
)
