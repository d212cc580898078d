"""LAMMPS: `lammps.lj`, the Lennard-Jones liquid of its benchmark folder (https://www.lammps.org/bench.html).

Each `run` ends with ``Loop time of … on … procs for … steps with … atoms``. Since 2014 a line
``Performance:`` follows, in the units of the input's unit style (Finish::end). Since 2013 the last line is
``Total wall time:``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tare.core.case import Case
from tare.core.workload import ALL_BUT_STORAGE, Parsed, QuestionKind, Stage
from tare.plugins.workloads.common import application, declare
from tare.plugins.workloads.lammps_output import LammpsLog

_FOMS = (
    declare.higher(
        "timesteps_per_s", "timesteps/s", "time steps in a second", is_primary=True, answers=ALL_BUT_STORAGE
    ),
    declare.lower(
        "loop_time",
        "s",
        "time of the run's steps, their output included",
        is_primary=True,
        answers=(QuestionKind.STORAGE,),
    ),
    declare.higher(
        "atom_steps_per_s", "Matom-step/s", "10⁶ atoms times steps in a second; versions since 2022 print it"
    ),
    declare.higher("tau_per_day", "tau/day", "simulated time in a day, in reduced units"),
    declare.higher("ns_per_day", "ns/day", "simulated time in a day"),
    declare.lower("hours_per_ns", "hours/ns", "time for one simulated ns"),
    declare.higher("cpu_use", "%", "processor time over elapsed time, all threads of a rank together"),
    declare.lower("wall_time", "s", "elapsed time of the whole program, in whole seconds"),
)
_PROGRAM = declare.text("program", "lmp", "the LAMMPS command")
_ARGUMENTS = declare.text(
    "arguments", "", "further words for the command, such as '-sf omp -pk omp 4' or '-k on g 1 -sf kk'"
)

_LJ_PARAMETERS = (
    declare.whole(
        "atoms",
        32_000,
        "about how many atoms; the box is a cube of whole unit cells with 4 atoms each",
        minimum=4_000,
    ),
    declare.whole("steps", 100, "time steps", minimum=1),
    _PROGRAM,
    _ARGUMENTS,
)
_SCRIPT_PARAMETERS = (
    declare.text("folder", None, "the folder with the script and all that it reads"),
    declare.text("script", None, "the input script in that folder"),
    _PROGRAM,
    _ARGUMENTS,
    application.CHECKSUMS,
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

{application.IO_NOTE}
Heavy means positions and velocities of all atoms every 10 steps (dump custom), and a restart at the end, so
that a full file system ends the run with an error: LAMMPS ignores that a dump was not written."""

_SCRIPT_DESCRIPTION = f"""\
Runs an input script as it is, in a folder of links to `folder`. Each `run` of the script is measured.

{_SOURCE}

The script's own dump commands decide on its I/O, so the factor `io` is not for it."""


class Lammps(application.Application, frozen=True, kw_only=True):
    """A LAMMPS run; subclasses choose the input."""

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read the standard output of LAMMPS, or log.lammps (see core.workload.Workload.parse)."""
        return LammpsLog(_FOMS, self.ranks).parse(lines)


class LennardJones(Lammps, frozen=True, kw_only=True):
    """The Lennard-Jones liquid, with a generated input."""

    def faults(self, case: Case) -> Iterable[str]:
        """Return a fault for each setting that the workload cannot use."""
        return application.io_faults(case)

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the call of LAMMPS, with its generated input."""
        parameters = case.parameters
        edge = max(round((int(parameters["atoms"]) / 4) ** (1 / 3)), 10)
        argv = [str(parameters["program"]), *str(parameters["arguments"]).split(), "-in", "in.lj"]
        argv += ["-var", "edge", str(edge), "-var", "steps", str(parameters["steps"])]
        argv += ["-var", "place", application.output_folder(case)] if application.is_heavy(case) else []
        run = Stage(argv=tuple(argv), files={"in.lj": _lennard_jones(is_heavy=application.is_heavy(case))})
        return (run,)


class Script(Lammps, frozen=True, kw_only=True):
    """An input script that the user provides."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault for wrong paths, and for a factor `io`, which a script does not have."""
        yield from application.folder_faults("folder", str(case.parameters["folder"]))
        yield from application.sum_faults(case)
        if case.io is not None:
            yield "a script holds its own output settings, so io has no effect on it; leave out io"

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the run in a folder of links to the input files."""
        parameters = case.parameters
        words = str(parameters["arguments"]).split()
        argv = (str(parameters["program"]), *words, "-in", str(parameters["script"]))
        return (application.linked(str(parameters["folder"])), *application.checked(case), Stage(argv=argv))


def _lennard_jones(*, is_heavy: bool) -> str:
    """Return the input of the liquid; the command line sets `edge`, `steps` and `place`."""
    dump = "dump results all custom 10 ${place}/dump.lammpstrj id type x y z vx vy vz\n" if is_heavy else ""
    # LAMMPS does not check what it writes to dumps, so only the restart fails if there is no room.
    restart = "write_restart ${place}/end.restart\n" if is_heavy else ""
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
{restart}"""


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
