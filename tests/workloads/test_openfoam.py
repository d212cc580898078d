"""OpenFOAM: its parser on real logs (corpus/INDEX.tsv names their origins) and on damaged ones; its case."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader
from tare.core.case import Case, Layout
from tare.core.values import Scalar
from tare.core.workload import Stage
from tare.plugins.workloads.common import left_out
from tare.plugins.workloads.openfoam import WORKLOADS
from tare.plugins.workloads.openfoam_case import background_cells, parts
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

(BIKE,) = WORKLOADS

BANNER = """\
/*---------------------------------------------------------------------------*\\
| \\\\      /  F ield         | OpenFOAM: The Open Source CFD Toolbox           |
\\*---------------------------------------------------------------------------*/
Exec   : simpleFoam -parallel
Date   : Nov 21 2026
Time   : 22:15:00
trapFpe: Floating point exception trapping enabled (FOAM_SIGFPE).
Create mesh for time = 0

Starting time loop

"""
STEPS = """\
Time = 1

GAMG:  Solving for p, Initial residual = 1, Final residual = 0.00703102, No Iterations 4
ExecutionTime = 0.5 s  ClockTime = 1 s

Time = 2

GAMG:  Solving for p, Initial residual = 0.5, Final residual = 0.00303102, No Iterations 3
ExecutionTime = 0.75 s  ClockTime = 1 s

Time = 3

GAMG:  Solving for p, Initial residual = 0.25, Final residual = 0.00203102, No Iterations 3
ExecutionTime = 1.5 s  ClockTime = 2 s

"""
LOG = BANNER + STEPS + "End\n\nFinalising parallel run\n"
FATAL = """\
[1] 
[1] 
[1] --> FOAM FATAL ERROR: (openfoam-2512)
[1] Cannot find file "points" in directory "polyMesh"
[1] 
[1]     From virtual Foam::IOobject Foam::fileOperation::findInstance(const Foam::IOobject&) const
FOAM parallel run exiting
"""  # noqa: W291  # OpenFOAM ends these lines with a blank


parse = reader(BIKE)


# Real output

FINISHED = {
    "01-stackhpc-of7-mbike-8nodes-ompi4.out": (11.85, 13),
    "02-csd3-mbike-3136rank-ompi3.out": (28.65, 32),
    "04-virtualclient-results.txt": (10.99, 11),
    "06-log.simpleFoam-v4.1-4proc": (254.12, 254),
    "07-log.simpleFoam-org13-parallel": (834.307, 834),
    "09-log.simpleFoam-org8": (111.98, 113),
    "10-log.simpleFoam-v2306-serial": (61.1, 61),
    "11-log.simpleFoam-v2312-motorBike": (18.65, 19),
    "14-log.pimpleFoam-OF2x-corei7": (318.03, 318),
}
UNFINISHED = {
    "03-log.snappyHexMesh-alaska-1node": (None, "holds no time step of a solver"),
    "05-virtualclient-invalid.txt": (None, "holds no time step of a solver"),
    "08-log.simpleFoam-v2512-FATAL-at-start": (None, 'Cannot find file "points" in directory "polyMesh"'),
    "12-log.interFoam-v2012-truncated": (10.59, "lacks the line End"),
}


def test_the_tables_here_name_every_real_log(corpus: Path) -> None:
    assert {path.name for path in (corpus / "openfoam").iterdir()} == FINISHED.keys() | UNFINISHED.keys()


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs_are_read(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "openfoam" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert (*figures(parsed, "execution_time"), *figures(parsed, "clock_time")) == FINISHED[name]


@pytest.mark.parametrize("name", UNFINISHED)
def test_unfinished_runs_say_why(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "openfoam" / name).read_text())
    time, reason = UNFINISHED[name]
    assert not parsed.is_complete
    assert figures(parsed, "execution_time") == ([] if time is None else [time])
    assert any(reason in problem for problem in parsed.problems)


@pytest.mark.parametrize(
    ("name", "steps"), [("01-stackhpc-of7-mbike-8nodes-ompi4.out", 100), ("09-log.simpleFoam-org8", 226)]
)
def test_the_time_of_a_step_is_the_mean_without_the_first(corpus: Path, name: str, steps: int) -> None:
    text = (corpus / "openfoam" / name).read_text()
    times = [float(line.split()[2]) for line in text.splitlines() if line.startswith("ExecutionTime")]
    assert len(times) == steps
    (mean,) = figures(parse(text), "step_time")
    assert mean == pytest.approx((times[-1] - times[0]) / (steps - 1))


def test_a_log_cut_anywhere_is_not_complete(corpus: Path) -> None:
    for name in FINISHED:
        text = (corpus / "openfoam" / name).read_text()
        for cut in cuts(text[: text.rindex("End")]):
            assert not parse(cut).is_complete
            assert not BIKE.parse(cut.splitlines()).is_complete


# Other versions, damaged logs


def test_the_example_is_complete() -> None:
    parsed = parse(LOG)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {
        "execution_time": 1.5,
        "clock_time": 2,
        "step_time": 0.5,
    }


def test_simulated_times_may_carry_their_unit() -> None:
    assert parse(LOG.replace("Time = 1\n", "Time = 1s\n").replace("Time = 3\n", "Time = 3s\n")) == parse(LOG)


def test_lines_lost_between_even_steps_do_not_change_the_mean() -> None:
    start, end = LOG.index("Time = 2"), LOG.index("Time = 3")
    assert figures(parse(LOG[:start] + LOG[end:]), "step_time") == [1.0]
    longer = LOG.replace("Time = 3", "Time = 5").replace("End", STEPS[STEPS.index("Time = 3") :] + "End")
    assert figures(parse(longer.replace("Time = 3", "Time = 6")), "step_time") == [0.2]


def test_adaptive_steps_are_counted_by_their_lines() -> None:
    assert figures(parse(LOG.replace("Time = 3", "Time = 2.25")), "step_time") == [0.5]


def test_only_programs_with_time_steps_are_runs() -> None:
    potential = (
        BANNER.replace("simpleFoam", "potentialFoam") + "ExecutionTime = 9 s  ClockTime = 9 s\n\nEnd\n"
    )
    blocks = BANNER.replace("simpleFoam", "blockMesh") + "End\n"
    assert parse(blocks + potential + LOG + blocks) == parse(LOG)


def test_a_program_after_the_solver_that_does_not_end_keeps_the_log_from_being_complete() -> None:
    parsed = parse(LOG + BANNER.replace("simpleFoam", "reconstructPar"))
    assert (parsed.is_complete, len(parsed.problems)) == (False, 1)


def test_runs_of_one_log_are_distinguished() -> None:
    parsed = parse(LOG + LOG.replace("1.5 s", "1.75 s"))
    assert [(one.value, one.at) for one in parsed.measurements if one.fom == "execution_time"] == [
        (1.5, {"run": 1}),
        (1.75, {"run": 2}),
    ]


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    parsed = parse(LOG[: LOG.index("End")] + LOG)
    assert msgspec.structs.replace(parsed, left_out=()) == parse(LOG)
    assert any(
        one.startswith(f"execution_time is left out: {left_out.UNFINISHED}") for one in parsed.left_out
    )


@pytest.mark.parametrize("head", ["ERROR: (openfoam-2512)", "IO ERROR: ", "IO ERROR:"])
def test_a_fatal_error_is_reported_by_its_message(head: str) -> None:
    parsed = parse(BANNER + FATAL.replace("ERROR: (openfoam-2512)", head))
    assert parsed.problems[0] == (
        'OpenFOAM ended with a fatal error: Cannot find file "points" in directory "polyMesh"'
    )


def test_a_floating_point_exception_is_a_problem_and_the_banner_about_them_is_none() -> None:
    stack = "[0] #1  Foam::sigFpe::sigHandler(int) at ??:?\n"
    parsed = parse(BANNER + STEPS + stack)
    assert "OpenFOAM was stopped by a floating point exception" in parsed.problems
    assert parse(LOG).problems == ()


def test_a_residual_that_is_no_number_is_a_problem() -> None:
    parsed = parse(LOG.replace("Initial residual = 0.25", "Initial residual = nan"))
    assert any(problem.startswith("the solution has diverged") for problem in parsed.problems)


@pytest.mark.parametrize("broken", ["nan", "1.5.5", "****", ""])
def test_a_time_that_is_no_number_is_no_measurement(broken: str) -> None:
    assert figures(parse(LOG.replace("1.5 s", f"{broken} s")), "execution_time") == [0.75]


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(LOG)) == parse(LOG)


@given(damaged(LOG) | damaged(BANNER + FATAL) | st.text())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_time(text: str) -> None:
    for parsed in (parse(text), BIKE.parse(text.splitlines())):
        printed = tuple(one for one in parsed.measurements if one.fom != "step_time")
        assert made_up(msgspec.structs.replace(parsed, measurements=printed), text) == []
        assert all(math.isfinite(one.value) for one in parsed.measurements)


# The case


def case(
    ranks: int = 8, *, io_level: str | None = None, storage: str | None = None, **parameters: Scalar
) -> Case:
    layout = Layout(nodes=2 if ranks > 1 else 1, ranks=ranks, ranks_per_node=max(ranks // 2, 1))
    return msgspec.structs.replace(case_of(BIKE, layout, **parameters), io=io_level, storage=storage)


def commands(case: Case) -> list[str]:
    return [" ".join(stage.argv) for stage in BIKE.stages(case)]


def test_the_stages_are_those_of_the_tutorial() -> None:
    tutorials = "/usr/share/doc/openfoam-examples/examples"
    shape = f"{tutorials}/resources/geometry/motorBike.obj.gz"
    assert commands(case(cells=1_415_068)) == [
        f"cp --recursive -T {tutorials}/incompressible/simpleFoam/motorBike .",
        "find system -name *.gz -exec gunzip --force {} +",
        "cp --recursive -T changes/ranks .",
        "sed --in-place --regexp-extended"
        r" -e s/\([0-9]+ +[0-9]+ +[0-9]+\)( +simpleGrading)/(40 16 16)\1/"
        r" -e s/^( *maxLocalCells) .*/\1 2830136;/"
        r" -e s/^( *maxGlobalCells) .*/\1 5660272;/"
        " system/blockMeshDict system/snappyHexMeshDict",
        f"install -D --mode=644 {shape} constant/triSurface/motorBike.obj.gz",
        f"install -D --mode=644 {shape} constant/geometry/motorBike.obj.gz",
        "cp --recursive -T 0.orig 0",
        "surfaceFeatureExtract",
        "blockMesh",
        "decomposePar -force -copyZero",
        "snappyHexMesh -overwrite -parallel",
        "cp --recursive -T changes/length .",
        "potentialFoam -writephi -parallel",
        "simpleFoam -parallel",
    ]


@pytest.mark.parametrize(
    ("edition", "features", "solver"),
    [
        ("org", "surfaceFeatures", "simpleFoam -parallel"),
        ("org11", "surfaceFeatures", "foamRun -solver incompressibleFluid -parallel"),
    ],
)
def test_editions_call_the_same_things_by_other_names(edition: str, features: str, solver: str) -> None:
    argv = commands(case(edition=edition))
    assert features in argv
    assert argv[-1] == solver


def test_a_single_rank_needs_no_decomposition() -> None:
    argv = commands(case(ranks=1))
    assert not any("decomposePar" in command or "-parallel" in command for command in argv)
    assert {"snappyHexMesh -overwrite", "potentialFoam -writephi", "simpleFoam"} < set(argv)


def test_the_mesh_is_made_once_for_all_lengths_and_levels_of_output() -> None:
    def up_to_the_mesh(case: Case) -> list[Stage]:
        stages = list(BIKE.stages(case))
        return stages[: [stage.name for stage in stages].index("snappy") + 1]

    heavy = case(iterations=500, io_level="heavy", storage="scratch")
    assert up_to_the_mesh(case(iterations=100)) == up_to_the_mesh(heavy)
    snappy = next(stage for stage in BIKE.stages(case(ranks=4)) if stage.name == "snappy")
    assert snappy.keeps == ("processor0", "processor1", "processor2", "processor3")
    assert snappy.is_mpi


def control(case: Case) -> str:
    (stage,) = (stage for stage in BIKE.stages(case) if stage.name == "length")
    return stage.files["changes/length/system/controlDict"]


def test_without_heavy_output_nothing_is_ever_written() -> None:
    assert "endTime         100;" in control(case())
    assert "writeInterval   101;" in control(case())


def test_heavy_output_is_all_fields_every_other_step_on_the_storage_path() -> None:
    heavy = case(io_level="heavy", storage="scratch")
    assert "writeInterval   2;" in control(heavy)
    assert commands(heavy)[-2:] == [
        "cp --recursive -T . {storage}",
        "simpleFoam -case {storage} -parallel",
    ]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [(1, (1, 1, 1)), (2, (2, 1, 1)), (6, (3, 2, 1)), (8, (2, 2, 2)), (192, (8, 6, 4)), (7, (7, 1, 1))],
)
def test_ranks_are_split_as_evenly_as_can_be(ranks: int, expected: tuple[int, int, int]) -> None:
    assert parts(ranks) == expected


@given(st.integers(1, 5000))
def test_no_rank_is_lost_in_the_split(ranks: int) -> None:
    assert math.prod(parts(ranks)) == ranks


def test_the_background_mesh_grows_with_the_root_of_the_cells() -> None:
    assert background_cells(350_000) == (20, 8, 8)
    assert background_cells(8_600_000) == (99, 39, 39)
    assert background_cells(20_000_000) == (150, 60, 60)


def test_what_cannot_be_is_refused_with_the_cure() -> None:
    assert list(BIKE.faults(case())) == []
    (ranks,) = BIKE.faults(case(ranks=64, cells=20_000))
    assert ranks == (
        "the background mesh of 20000 cells has 20 cells, too few for 64 ranks; use more cells or fewer ranks"
    )
    (level,) = BIKE.faults(case(io_level="some"))
    assert level.endswith("set io: heavy")


@pytest.mark.parametrize(("ranks", "is_right"), [(8, True), (1, False)])
def test_a_program_of_another_mpi_is_found_out(ranks: int, is_right: bool) -> None:
    text = LOG.replace("Date ", f"nProcs : {ranks}\nDate ")
    parsed = BIKE.expecting(case(ranks=8)).parse(io.StringIO(text))
    wrong = "the program ran on 1 rank instead of 8; build it with the launcher's MPI"
    assert parsed.problems == (() if is_right else (wrong,))


@pytest.mark.parametrize("time", ["1e400", "1e300", "1e-320"])
def test_times_without_measure_break_nothing(time: str) -> None:
    log = LOG.replace("Time = 3\n", f"Time = {time}\n")
    assert all(one.value < 1e300 for one in parse(log).measurements)


# The mesh and its decomposition


def decomposition(case: Case) -> str:
    (stage,) = (stage for stage in BIKE.stages(case) if stage.name == "ranks")
    return stage.files["changes/ranks/system/decomposeParDict"]


def test_the_published_mesh_and_decomposition_are_parameters() -> None:
    published = case(192, background_mesh="100x40x40", decomposition="scotch")
    assert list(BIKE.faults(published)) == []
    (resolution,) = (command for command in commands(published) if command.startswith("sed"))
    assert r"/(100 40 40)\1/" in resolution
    assert r"s/^( *maxGlobalCells) .*/\1 35" in resolution  # four times 8.8 million
    assert decomposition(published).endswith("numberOfSubdomains 192;\nmethod          scotch;\n")


@pytest.mark.parametrize("method", ["hierarchical", "simple"])
def test_boxes_have_as_many_parts_as_ranks(method: str) -> None:
    text = decomposition(case(6, decomposition=method))
    assert f"method          {method};\n{method}Coeffs\n{{\n    n           (3 2 1);" in text
    assert ("order" in text) == (method == "hierarchical")


@pytest.mark.parametrize(
    "mesh", ["100x40", "0x40x40", "100x40x40x", "100x40x4000000", "-1x2x3", "$(id)", "1×2×3"]
)
def test_what_is_no_background_mesh_is_refused(mesh: str) -> None:
    (fault,) = BIKE.faults(case(background_mesh=mesh))
    assert fault.startswith(f"background_mesh is {mesh!r}; write the cells in x, y and z")
    BIKE.stages(case(background_mesh=mesh))


def test_a_background_mesh_of_fewer_cells_than_ranks_is_refused() -> None:
    (fault,) = BIKE.faults(case(64, background_mesh="2x2x2"))
    assert fault.startswith("the background mesh has 8 cells, too few for 64 ranks")


def test_a_library_that_is_only_a_stub_is_the_reason_that_is_reported() -> None:
    """From Debian's OpenFOAM 1912, which has no scotch."""
    text = """\
Calculating distribution of cells
Selecting decompositionMethod scotch [3]


--> FOAM FATAL ERROR: 
Attempted to use <scotch> without the scotchDecomp library loaded.
This message is from the dummy scotchDecomp stub library instead.
"""  # noqa: W291  # as OpenFOAM prints it
    reason = "Attempted to use <scotch> without the scotchDecomp library loaded."
    assert parse(text).problems[0] == f"OpenFOAM ended with a fatal error: {reason}"


ADAPTIVE = "openfoam/12-log.interFoam-v2012-truncated"


def test_steps_whose_length_is_printed_follow_on_each_other(corpus: Path) -> None:
    text = (corpus / ADAPTIVE).read_text()
    assert not any("steps are missing" in one for one in parse(text).problems)


@pytest.mark.parametrize("start", ["ExecutionTime", "Courant", "deltaT", "Time", "smoothSolver"])
@pytest.mark.parametrize("end", ["Courant", "deltaT", "Time", "smoothSolver"])
@pytest.mark.parametrize("n_lost", [1, 9])
def test_adaptive_steps_that_are_lost_are_told(corpus: Path, start: str, end: str, n_lost: int) -> None:
    text = (corpus / ADAPTIVE).read_text()
    steps = [match.start() for match in re.finditer("(?m)^Time = ", text)]
    first = text.index(f"\n{start}", steps[10]) if start != "smoothSolver" else steps[10] + 200
    last = text.index(f"\n{end}", steps[11 + n_lost]) if end != "smoothSolver" else steps[11 + n_lost] + 200
    assert first < last
    left = text[: first + 1] + text[last + 1 :]
    assert any("steps are missing" in one for one in parse(left).problems)


def test_a_step_without_its_length_is_told(corpus: Path) -> None:
    text = (corpus / ADAPTIVE).read_text()
    lengths = re.findall(r"(?m)^deltaT = .*\n", text)
    assert any("steps are missing" in one for one in parse(text.replace(lengths[20], "")).problems)
