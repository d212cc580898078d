"""LAMMPS: `lammps.lj`, the Lennard-Jones liquid of its benchmark folder (https://www.lammps.org/bench.html).

Each `run` ends with ``Loop time of … on … procs for … steps with … atoms`` and, since 2014, a line
``Performance:`` in the terms of its unit style (Finish::end). Since 2013 the last line is
``Total wall time:``.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator

from tare.model.case import Case
from tare.model.workload import Better, Fom, Parameter, ParameterKind, Parsed, Stage
from tare.workloads.common.application import (
    CHECKSUMS,
    IO_NOTE,
    Application,
    check_ranks,
    checked,
    folder_faults,
    fresh_output_folder,
    io_faults,
    is_heavy,
    linked,
    output_folder,
    sum_faults,
)
from tare.workloads.common.benchmark import Findings, tell_apart
from tare.workloads.common.ending import Ending
from tare.workloads.common.text import Sieve, figure

_FOMS = (
    Fom(
        name="timesteps_per_s",
        unit="timesteps/s",
        better=Better.HIGHER,
        summary="time steps in a second",
        is_primary=True,
    ),
    Fom(name="loop_time", unit="s", better=Better.LOWER, summary="time of the run's steps", is_primary=True),
    Fom(
        name="atom_steps_per_s",
        unit="Matom-step/s",
        better=Better.HIGHER,
        summary="10⁶ atoms times steps in a second; versions since 2022 print it",
    ),
    Fom(
        name="tau_per_day",
        unit="tau/day",
        better=Better.HIGHER,
        summary="simulated time in a day, in reduced units",
    ),
    Fom(name="ns_per_day", unit="ns/day", better=Better.HIGHER, summary="simulated time in a day"),
    Fom(name="hours_per_ns", unit="hours/ns", better=Better.LOWER, summary="time for one simulated ns"),
    Fom(
        name="cpu_use",
        unit="%",
        better=Better.HIGHER,
        summary="processor time over elapsed time, all threads of a rank together",
    ),
    Fom(
        name="wall_time",
        unit="s",
        better=Better.LOWER,
        summary="elapsed time of the whole program, in whole seconds",
    ),
)
_RATES = {
    "ns/day": ("ns_per_day", 1.0),
    "tau/day": ("tau_per_day", 1.0),
    "hours/ns": ("hours_per_ns", 1.0),
    "fs/day": ("ns_per_day", 1e6),
    "hours/fs": ("hours_per_ns", 1e-6),
    "timesteps/s": ("timesteps_per_s", 1.0),
    "atom-step/s": ("atom_steps_per_s", 1e6),
    "katom-step/s": ("atom_steps_per_s", 1e3),
    "Matom-step/s": ("atom_steps_per_s", 1.0),
    "Gatom-step/s": ("atom_steps_per_s", 1e-3),
    "Tatom-step/s": ("atom_steps_per_s", 1e-6),
}
"""The figure of merit of each unit of the ``Performance:`` line, and the divisor that makes it the FOM's."""

_PROGRAM = Parameter(name="program", kind=ParameterKind.TEXT, default="lmp", summary="the LAMMPS command")
_ARGUMENTS = Parameter(
    name="arguments",
    kind=ParameterKind.TEXT,
    default="",
    summary="further words for the command, such as '-sf omp -pk omp 4' or '-k on g 1 -sf kk'",
)

_LJ_PARAMETERS = (
    Parameter(
        name="atoms",
        kind=ParameterKind.WHOLE,
        default=32_000,
        minimum=4_000,
        summary="about how many atoms; the box is a cube of whole unit cells with 4 atoms each",
    ),
    Parameter(name="steps", kind=ParameterKind.WHOLE, default=100, minimum=1, summary="time steps"),
    _PROGRAM,
    _ARGUMENTS,
)
_SCRIPT_PARAMETERS = (
    Parameter(
        name="folder",
        kind=ParameterKind.TEXT,
        default=None,
        summary="the folder with the script and all that it reads",
    ),
    Parameter(
        name="script", kind=ParameterKind.TEXT, default=None, summary="the input script in that folder"
    ),
    _PROGRAM,
    _ARGUMENTS,
    CHECKSUMS,
)

_SOURCE = """\
The program comes with Debian (lammps), Spack, EasyBuild and Conda; packages for GPUs and threads are named on
the command line, in `arguments`.

Traps: % CPU use far below 100 × threads means that ranks share cores or wait; many ranks on few atoms measure
the network alone."""

_LJ_DESCRIPTION = f"""\
Simulates a Lennard-Jones liquid in the NVE ensemble (bench/in.lj: density 0.8442, cut-off 2.5 σ, neighbour
lists every 20 steps). The input is generated: 32000 atoms as in the original, or as many as `atoms` says.

{_SOURCE}

{IO_NOTE}
Heavy means positions and velocities of all atoms every 10 steps (dump custom)."""

_SCRIPT_DESCRIPTION = f"""\
Runs an input script as it is, in a folder of links to `folder`. Each `run` of the script is measured.

{_SOURCE}

The script's own dump commands decide on its I/O, so the factor `io` is not for it."""


class Lammps(Application, frozen=True, kw_only=True):
    """A LAMMPS run; subclasses say of what."""

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read what LAMMPS prints, or log.lammps (see model.Workload.parse)."""
        findings = Findings(_FOMS)
        log = _Log(findings, self.ranks)
        for line in findings.lines(lines, watch=log.ending.look, sieve=_SIEVE):
            log.read(line)
        return log.parsed()


class LennardJones(Lammps, frozen=True, kw_only=True):
    """The Lennard-Jones liquid, its input generated."""

    def faults(self, case: Case) -> Iterable[str]:
        """Yield what cannot be made of the case's settings."""
        return io_faults(case)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the run; heavy output gets an empty folder first."""
        parameters = case.parameters
        edge = max(round((int(parameters["atoms"]) / 4) ** (1 / 3)), 10)
        argv = [str(parameters["program"]), *str(parameters["arguments"]).split(), "-in", "in.lj"]
        argv += ["-var", "edge", str(edge), "-var", "steps", str(parameters["steps"])]
        argv += ["-var", "place", output_folder(case)] if is_heavy(case) else []
        run = Stage(argv=tuple(argv), files={"in.lj": _lennard_jones(is_heavy=is_heavy(case))})
        return (*fresh_output_folder(case), run)


class Script(Lammps, frozen=True, kw_only=True):
    """An input script of the user's own."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield that a script has no I/O factor."""
        yield from folder_faults("folder", str(case.parameters["folder"]))
        yield from sum_faults(case)
        if case.io is not None:
            yield "a script holds its own output settings, so io has no effect on it; leave out io"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the run in a folder of links."""
        parameters = case.parameters
        words = str(parameters["arguments"]).split()
        argv = (str(parameters["program"]), *words, "-in", str(parameters["script"]))
        return (linked(str(parameters["folder"])), *checked(case), Stage(argv=argv))


def _lennard_jones(*, is_heavy: bool) -> str:
    """Return the input of the liquid; `edge`, `steps` and `place` are set on the command line."""
    dump = "dump results all custom 10 ${place}/dump.lammpstrj id type x y z vx vy vz\n" if is_heavy else ""
    return f"""\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 ${{edge}} 0 ${{edge}} 0 ${{edge}}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
{dump}run ${{steps}}
"""


_HEADS = frozenset({"LAMM", "Loop", "Perf", "Tota", "ERRO", "Last", "Dang"})
"""The first characters of the lines that matter; that of the use of processors starts with a figure."""

_SIEVE = Sieve("|".join(sorted(_HEADS)), "% CPU")

_VERSION = re.compile(r"LAMMPS \((?:[0-9]{1,2} )?\w+ ?([0-9]{4})\b.*\)")
_LOOP = re.compile(r"Loop time of (\S+) on \d+ procs(?: \(.*\))? for (\d+) steps with \d+ atoms")
_USE = re.compile(r"([0-9]+\.[0-9]+)% CPU use with (\d+) MPI tasks x .*OpenMP threads")
_WALL = re.compile(r"Total wall time: ([0-9]+):([0-9]{2}):([0-9]{2})")
_FIRST_WITH_WALL_TIME = 2014


@dataclasses.dataclass
class _Session:
    """One start of LAMMPS: its runs' figures, and whether it came to its end."""

    year: int | None = None
    loops: list[dict[str, float]] = dataclasses.field(default_factory=list)
    wall_time: float | None = None
    is_finished: bool = False


class _Log:
    """The starts of LAMMPS that one log holds."""

    def __init__(self, findings: Findings, ranks: int | None) -> None:
        self._asked_ranks = ranks
        self._ranks: set[int] = set()
        self._findings = findings
        self.ending = Ending()
        self._sessions: list[_Session] = []
        self._loop: dict[str, float] | None = None
        self._is_broken = False

    def read(self, line: str) -> None:
        """Take in a line."""
        head = line[:4]
        if head in _HEADS:
            self._read_head(line, head)
        elif "% CPU" in line and self._loop is not None and (match := _USE.fullmatch(line)):
            self._loop["cpu_use"] = float(match[1])
            self._ranks.add(int(match[2]))

    def _read_head(self, line: str, head: str) -> None:
        match head:
            case "LAMM":
                if version := _VERSION.match(line):
                    self._begin(_Session(year=int(version[1])))
                    self._loop = None
            case "Loop":
                self._read_loop(line)
            case "Perf":
                self._read_performance(line)
            case "Tota":
                if (wall := _WALL.fullmatch(line)) and self._sessions:
                    hours, minutes, seconds = map(int, wall.groups())
                    self._sessions[-1].wall_time = 3600.0 * hours + 60 * minutes + seconds
                    self._sessions[-1].is_finished = True
            case "ERRO":
                if line.startswith(("ERROR: ", "ERROR on proc ")):
                    self._findings.problem(f"LAMMPS ended with an error: {line.strip()[:200]}")
            case "Dang":
                session = self._sessions[-1] if self._sessions else None
                if session and session.loops and (session.year or 0) < _FIRST_WITH_WALL_TIME:
                    session.is_finished = True

    def _begin(self, session: _Session) -> None:
        self._sessions.append(session)
        self._findings.begin()

    def _read_loop(self, line: str) -> None:
        """Take in the end of a run; a run of no steps sets up the system and measures nothing."""
        self._loop = None
        if match := _LOOP.fullmatch(line):
            seconds = figure(match[1])
            if seconds is None or int(match[2]) == 0:
                return
            if not self._sessions:
                self._begin(_Session())
            self._findings.keep(len(_FOMS))
            self._loop = {"loop_time": seconds}
            self._sessions[-1].loops.append(self._loop)

    def _read_performance(self, line: str) -> None:
        if self._loop is None or not line.startswith("Performance: "):
            return
        for part in line.removeprefix("Performance: ").split(", "):
            value, _, unit = part.partition(" ")
            rate = figure(value)
            if unit in _RATES and rate is not None:
                fom, divisor = _RATES[unit]
                self._loop[fom] = rate / divisor
            else:
                self._is_broken = True
                self._findings.problem(f"the performance is not all there: {line}")

    def parsed(self) -> Parsed:
        """Return the figures of each run."""
        sessions = [one for one in self._sessions if one.is_finished or one is self._sessions[-1]]
        loops = [loop for session in sessions for loop in session.loops]
        for number, loop in enumerate(loops, 1):
            for fom, value in loop.items():
                self._findings.measure(fom, value, **tell_apart(number, len(loops)))
        for number, session in enumerate(sessions, 1):
            if session.wall_time is not None and session.loops:
                at = tell_apart(number, len(sessions))
                self._findings.measure("wall_time", session.wall_time, **at)
        if not loops:
            self._findings.problem("the output holds no run of LAMMPS that came to its end")
        elif not sessions[-1].is_finished:
            self._findings.problem(
                "the output lacks the line Total wall time; LAMMPS did not come to its end"
            )
        is_finite = all(math.isfinite(value) for loop in loops for value in loop.values())
        is_complete = bool(loops) and sessions[-1].is_finished and is_finite and not self._is_broken
        check_ranks(self._findings, self._ranks, self._asked_ranks)
        self.ending.report(self._findings, is_complete=is_complete)
        return self._findings.parsed(is_complete=is_complete)


WORKLOADS = (
    LennardJones(
        name="lammps.lj",
        summary="Molecular dynamics of a Lennard-Jones liquid: time steps a second.",
        description=_LJ_DESCRIPTION,
        parameters=_LJ_PARAMETERS,
        foms=_FOMS,
    ),
    Script(
        name="lammps.script",
        summary="A LAMMPS input script of one's own: time steps a second.",
        description=_SCRIPT_DESCRIPTION,
        parameters=_SCRIPT_PARAMETERS,
        foms=_FOMS,
    ),
)
"""What the entry point `lammps` offers."""
