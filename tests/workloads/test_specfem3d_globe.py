"""SPECFEM3D_GLOBE: its parser on real logs (corpus/INDEX.tsv names their origins); its stages and rules."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import reader
from tare.core.case import Case, Layout
from tare.core.values import Scalar
from tare.core.workload import Parsed
from tare.plugins.workloads.common import left_out
from tare.plugins.workloads.specfem3d_globe import WORKLOADS
from workloads.cases import case_of
from workloads.damage import DISGUISES, NOISE, cuts, damaged, made_up

GLOBE, MESHER = WORKLOADS

SOLVER_LOG = """\

 ******************************
 **** Specfem3D MPI Solver ****
 ******************************

 There are          384  MPI processes

 Time step #          500
 Elapsed time in seconds =    71.9391
 Elapsed time in hh:mm:ss =      0 h 01 m 11 s
 Mean elapsed time per time step in seconds =   0.143939
 Time steps done =          500  out of         1000
 Estimated total run time in seconds =    143.9

 Time step #         1000
 Elapsed time in seconds =    143.5
 Mean elapsed time per time step in seconds =   0.1435
 Time steps done =         1000  out of         1000

 Time-Loop Complete. Timing info:
 Total elapsed time in seconds =    143.625
 Total elapsed time in hh:mm:ss =      0 h 02 m 23 s

 End of the simulation

"""
MESHER_LOG = """\
 ****************************
 *** Specfem3D MPI Mesher ***
 ****************************

 Elapsed time for mesh generation and buffer creation in seconds = 
   11.6291921393713     
 Elapsed time for mesh generation and buffer creation in hh:mm:ss =    0 h 00 m 11 s

 End of mesh generation

"""  # noqa: W291  # Fortran fills its fields with blanks


parse = reader(GLOBE)


def figures(parsed: Parsed) -> dict[str, float]:
    return {one.fom: one.value for one in parsed.measurements}


# Real output

FINISHED = {
    "08-berkeley-output_mesher.txt": {"mesher_time": 11.6291921393713},
    "09-berkeley-stn.depth-output_solver.txt": {
        "elapsed": 1641.02668966539,
        "step_time": 0.143939380361453,
    },
    "10-berkeley-body-long-output_solver.txt": {
        "elapsed": 11866.7039285670,
        "step_time": 0.318131336005568,
    },
}
UNFINISHED = {
    "07-berkeley-unfinished-output_solver.txt": "lacks the solver's closing line",
    "11-berkeley-error_message000000.txt": "ended with an error: wrong number of MPI processes",
    "12-berkeley-mesher-94B.txt": "lacks the mesher's closing line",
}


def test_the_tables_here_name_every_real_log(corpus: Path) -> None:
    names = {path.name for path in (corpus / "specfem3d_globe").iterdir()}
    assert names == FINISHED.keys() | UNFINISHED.keys()


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs_are_read(corpus: Path, name: str) -> None:
    text = (corpus / "specfem3d_globe" / name).read_text()
    for workload in WORKLOADS:
        parsed = workload.parse(io.StringIO(text))
        assert (parsed.is_complete, parsed.problems, figures(parsed)) == (True, (), FINISHED[name])


@pytest.mark.parametrize("name", UNFINISHED)
def test_unfinished_runs_say_why(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "specfem3d_globe" / name).read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert any(UNFINISHED[name] in problem for problem in parsed.problems)


def test_a_log_cut_anywhere_is_not_complete_and_no_figure_is_cut(corpus: Path) -> None:
    for name in FINISHED:
        text = (corpus / "specfem3d_globe" / name).read_text()
        text = text[:2000] + text[-6000:]
        end = text.rindex("End of")
        for cut in [*cuts(text[:end]), *(text[: end - back] for back in range(250))]:
            for parsed in (parse(cut), GLOBE.parse(cut.splitlines())):
                assert not parsed.is_complete
                assert made_up(parsed, text) == []


# Other compilers, damaged logs


def test_the_last_mean_and_the_total_count() -> None:
    parsed = parse(SOLVER_LOG)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed) == {"step_time": 0.1435, "elapsed": 143.625}


def test_mesher_and_solver_may_share_a_log() -> None:
    parsed = parse(MESHER_LOG + SOLVER_LOG)
    assert parsed.is_complete
    assert figures(parsed) == {"mesher_time": 11.6291921393713, "step_time": 0.1435, "elapsed": 143.625}
    assert all(one.at == {} for one in parsed.measurements)


@pytest.mark.parametrize(
    "figure",
    ["143.625", "143.62500000000000     ", "\n   143.625", "0.143625E+03", "1.43625D+02", "1.43625d2"],
)
def test_compilers_write_the_same_figure_in_many_ways(figure: str) -> None:
    text = SOLVER_LOG.replace(" in seconds =    143.625", f" in seconds = {figure}")
    assert figures(parse(text))["elapsed"] == 143.625


def test_runs_of_one_log_are_distinguished() -> None:
    parsed = parse(SOLVER_LOG + SOLVER_LOG)
    assert [one.at for one in parsed.measurements if one.fom == "elapsed"] == [{"run": 1}, {"run": 2}]


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    parsed = parse(SOLVER_LOG[: SOLVER_LOG.index(" End of")] + SOLVER_LOG)
    assert msgspec.structs.replace(parsed, left_out=()) == parse(SOLVER_LOG)
    assert any(one.startswith(f"step_time is left out: {left_out.UNFINISHED}") for one in parsed.left_out)


def test_an_unstable_simulation_is_a_problem() -> None:
    error = (
        " forward simulation became unstable in solid and blew up\n"
        " Error detected, aborting MPI... proc            0\n"
    )
    parsed = parse(SOLVER_LOG[: SOLVER_LOG.index(" Time-Loop")] + error)
    assert parsed.problems[0] == (
        "SPECFEM3D_GLOBE ended with an error: forward simulation became unstable in solid and blew up"
    )


@pytest.mark.parametrize("broken", ["NaN", "Infinity", "*************"])
def test_a_figure_that_is_no_number_is_a_problem(broken: str) -> None:
    parsed = parse(SOLVER_LOG.replace("143.625", broken))
    assert not parsed.is_complete
    assert "elapsed" not in figures(parsed)
    assert parsed.problems


@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_lines_changes_nothing(noise: str) -> None:
    log = MESHER_LOG + SOLVER_LOG
    assert parse("".join(noise + line for line in log.splitlines(keepends=True))) == parse(log)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_encodings_change_nothing(disguise: object) -> None:
    assert callable(disguise)
    assert parse(disguise(SOLVER_LOG)) == parse(SOLVER_LOG)


@given(damaged(SOLVER_LOG) | damaged(MESHER_LOG) | st.text())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    for parsed in (parse(text), GLOBE.parse(text.splitlines())):
        assert made_up(parsed, text) == []


# Stages and constraints


def case(ranks: int = 16, **parameters: Scalar) -> Case:
    return case_of(GLOBE, Layout(nodes=1, ranks=ranks, ranks_per_node=ranks), **parameters)


def test_the_solver_is_built_for_the_edited_par_file() -> None:
    stages = GLOBE.stages(case(nex=128, sources="/src/globe"))
    assert [(stage.name, stage.is_mpi, stage.keeps) for stage in stages] == [
        ("build-xmeshfem3D", False, ("bin/xmeshfem3D",)),
        ("folders", False, ()),
        ("data", False, ()),
        ("parameters", False, ()),
        ("build-xspecfem3D", False, ("bin/xspecfem3D",)),
        ("mesh", True, ("DATABASES_MPI", "OUTPUT_FILES")),
        ("run", True, ()),
    ]
    assert stages[0].argv == ("make", "--file=specfem.mk", "SOURCES=/src/globe", "bin/xmeshfem3D")
    assert stages[0].inputs == ("/src/globe",)
    assert GLOBE.output == "OUTPUT_FILES/output_solver.txt"


def test_the_mesher_alone_is_measured_each_time() -> None:
    last = MESHER.stages(case())[-1]
    assert (last.argv, last.keeps) == (("bin/xmeshfem3D",), ())
    assert MESHER.output == "OUTPUT_FILES/output_mesher.txt"
    assert [fom.name for fom in MESHER.foms if fom.is_primary][-1] == "mesher_time"


def par_file(case: Case) -> dict[str, str]:
    (stage,) = (stage for stage in GLOBE.stages(case) if stage.name == "parameters")
    edits = re.findall(r"s/\^\((\w+)\) \*=\.\*/\\1 = (\S+)/", " ".join(stage.argv))
    return dict(edits)


def test_chunks_elements_and_ranks_are_written_into_the_par_file() -> None:
    globe = par_file(case(ranks=96, nex=128, chunks=6))
    assert {name: globe[name] for name in ("NCHUNKS", "NEX_XI", "NEX_ETA", "NPROC_XI", "NPROC_ETA")} == {
        "NCHUNKS": "6",
        "NEX_XI": "128",
        "NEX_ETA": "128",
        "NPROC_XI": "4",
        "NPROC_ETA": "4",
    }
    assert globe["ABSORBING_CONDITIONS"] == ".false."
    assert globe["RECORD_LENGTH_IN_MINUTES"] == "2.5d0"


def test_a_chunk_may_be_cut_into_a_rectangle() -> None:
    oblong = par_file(case(ranks=8, aspect=2))
    assert (oblong["NPROC_XI"], oblong["NPROC_ETA"]) == ("4", "2")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"ranks": 16, "chunks": 1, "aspect": 1}, {"nproc_xi": 4, "nproc_eta": 4}),
        ({"ranks": 24, "chunks": 6, "aspect": 1}, {"nproc_xi": 2, "nproc_eta": 2}),
        ({"ranks": 8, "chunks": 1, "aspect": 2}, {"nproc_xi": 4, "nproc_eta": 2}),
        ({"ranks": 8, "chunks": 1, "aspect": 1}, {}),
        ({"ranks": 8, "chunks": 1, "aspect": 0}, {"nproc_xi": 4, "nproc_eta": 2}),
        ({"ranks": 16, "chunks": 1, "aspect": 0}, {"nproc_xi": 4, "nproc_eta": 4}),
        ({"ranks": 4, "chunks": 2, "aspect": 0}, {"nproc_xi": 2, "nproc_eta": 1}),
        ({"ranks": 12, "chunks": 6, "aspect": 0}, {}),
        ({"ranks": 7}, {}),
        ({"ranks": 3, "chunks": 2, "aspect": 1}, {}),
    ],
)
def test_a_study_may_use_the_ranks_along_a_side(row: dict[str, int], expected: dict[str, int]) -> None:
    assert GLOBE.derive(row) == expected


@pytest.mark.parametrize(
    ("ranks", "parameters", "fault"),
    [
        (4, {"nex": 100}, "nex 100 is not a multiple of 16; set nex: 96"),
        (7, {}, "7 ranks are not 1 × 1 × a square (chunks × aspect × NPROC_ETA²); set ranks: 9"),
        (8, {"aspect": 1}, "8 ranks are not 1 × 1 × a square (chunks × aspect × NPROC_ETA²); set ranks: 9"),
        (12, {"chunks": 6}, "12 ranks are not 6 × 1 × a square (chunks × aspect × NPROC_ETA²); set ranks: 6"),
        (8, {"chunks": 6}, "8 ranks are not 6 × 1 × a square (chunks × aspect × NPROC_ETA²); set ranks: 6"),
        (9, {"aspect": 2}, "9 ranks are not 1 × 2 × a square (chunks × aspect × NPROC_ETA²); set ranks: 8"),
        (36, {"nex": 64}, "nex 64 is not a multiple of 8 × nproc_xi, which is 48; set nex: 48"),
        (64, {"aspect": 16}, "nex 64 is not a multiple of 8 × nproc_xi, which is 256; set nex: 256"),
        (
            12,
            {"chunks": 3, "aspect": 4},
            "3 chunks need as many ranks along both sides, not 4 and 1; leave out aspect",
        ),
        (
            6,
            {"chunks": 6, "nex": 16},
            "6 chunks need at least nex 32, or 48 with TOPOGRAPHY, not 16; set nex: 48",
        ),
        (4, {"sources": "globe"}, "sources is 'globe', which is relative to nothing; write an absolute path"),
    ],
)
def test_what_the_program_would_refuse_is_refused_before(
    ranks: int, parameters: dict[str, Scalar], fault: str
) -> None:
    assert list(GLOBE.faults(case(ranks, **parameters))) == [fault]


def test_the_published_scaling_cases_have_no_fault() -> None:
    published = {16: (1, 4), 32: (1, 4, 16), 64: (4, 16), 128: (4, 16, 64), 192: (16, 36, 64), 256: (16, 64)}
    for nex, counts in published.items():
        for ranks in counts:
            assert list(GLOBE.faults(case(ranks, nex=nex))) == []


def test_there_is_no_heavy_output() -> None:
    assert list(GLOBE.faults(msgspec.structs.replace(case(), io="none"))) == []
    (fault,) = GLOBE.faults(msgspec.structs.replace(case(), io="heavy"))
    assert fault.endswith("leave out io")


def test_the_mean_up_to_an_earlier_step_does_not_stand_for_the_last() -> None:
    assert [one.value for one in GLOBE.parse(io.StringIO(SOLVER_LOG)).measurements] == [0.1435, 143.625]
    parsed = GLOBE.parse(io.StringIO(SOLVER_LOG.replace("   0.1435\n", "\n")))
    assert "step_time" not in {one.fom for one in parsed.measurements}
    assert "lacks the mean time of a step" in "".join(parsed.problems)
