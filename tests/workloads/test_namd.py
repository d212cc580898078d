"""NAMD: its parser on real logs (corpus/INDEX.tsv names their origins) and on damaged ones; its commands."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader, without_left_out
from tare.core.case import Layout
from tare.core.values import Scalar
from tare.plugins.workloads.namd import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

STMV, APOA1 = WORKLOADS

LOG = """\
Charm++> Running on MPI version: 3.1
Info: NAMD 3.0b6 for Linux-x86_64-MPI
Info: TIMESTEP               2
Info:         ERROR TOLERANCE : 1e-08
Info: Initial time: 8 CPUs 0.09 s/step 0.5 days/ns 117.86 MB memory
Info: Benchmark time: 8 CPUs 0.05 s/step 0.25 days/ns 117.86 MB memory
Info: Benchmark time: 8 CPUs 0.04 s/step 0.2 days/ns 117.86 MB memory
TIMING: 1000  CPU: 33.7, 0.035/step  Wall: 37.7, 0.035/step, 0 hours remaining, 317.8 MB of memory in use.
PERFORMANCE: 500  averaging 4.8 ns/day, 0.0375 sec/step with standard deviation 0.0012
PERFORMANCE: 1000  averaging 4.9 ns/day, 0.0365 sec/step with standard deviation 0.0012
WRITING VELOCITIES TO OUTPUT FILE AT STEP 1000

WallClock: 38.734100  CPUTime: 33.525330  Memory: 317.860436 MB
[Partition 0][Node 0] End of program
"""


parse = reader(STMV)


# Real output

FOMS = ("step_time", "days_per_ns", "wall_time", "cpu_time", "mean_ns_per_day")
FINISHED = {
    "05-v2.6-short-no-benchmark-line.log": (None, None, 22.175739, 21.766689, None),
    "06-v2.8b1-ubq_wb_eq.log": (0.0246422, 0.142605, 566.553711, 559.849915, None),
    "07-v2.11-ubq_ws_eq.log": (0.0401746, 0.232492, 111.727814, 111.727814, None),
    "08-v3.0b6-gbis.log": (0.0165806, 0.0959525, 44.410419, 44.401478, 10.24),
    "09-v3.0b6-pullcf.log": (0.0377618, 0.218529, 388.734100, 388.525330, 4.44728),
    "10-v2.10-win64-cuda.log": (0.0268, 0.155093, 13254.525391, 13254.525391, None),
    "11-v2.12-pegasus-wrapped-xml.out": (0.00186968, 0.0216398, 24.323256, 24.280001, None),
    "13-v2.14-cuda-truncated.log": (0.00120735, 0.00698697, 122.330711, 118.412720, None),
    "14-v2.14-warnings-many.log": (0.118276, 0.684468, 6602.807617, 200.867508, None),
}


def test_the_table_here_names_every_real_log(corpus: Path) -> None:
    cut_off = {"04-v2.6-8cpu-no-wallclock.log"}
    assert {path.name for path in (corpus / "namd").iterdir()} == FINISHED.keys() | cut_off


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs_are_read_whatever_they_warn_of(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "namd" / name).read_text(errors="replace"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert tuple(next(iter(figures(parsed, fom)), None) for fom in FOMS) == FINISHED[name]


def test_a_run_that_was_cut_off_is_not_complete(corpus: Path) -> None:
    parsed = parse((corpus / "namd/04-v2.6-8cpu-no-wallclock.log").read_text())
    assert not parsed.is_complete
    assert parsed.problems == ("the output lacks the line WallClock; NAMD did not come to its end",)
    assert (figures(parsed, "step_time"), figures(parsed, "days_per_ns")) == ([0.0676311], [0.782767])


def test_a_log_cut_anywhere_is_not_complete(corpus: Path) -> None:
    for name in FINISHED:
        text = (corpus / "namd" / name).read_text(errors="replace")
        for cut in cuts(text[: text.index("\n", text.index("WallClock: "))]):
            assert not parse(cut).is_complete
            assert not STMV.parse(cut.splitlines()).is_complete


# Other versions, damaged logs


def test_the_last_figures_count() -> None:
    parsed = parse(LOG)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {
        "step_time": 0.04,
        "days_per_ns": 0.2,
        "ns_per_day": 5.0,
        "mean_ns_per_day": 4.9,
        "wall_time": 38.7341,
        "cpu_time": 33.52533,
    }


def test_builds_that_print_ns_per_day_mean_the_same() -> None:
    parsed = parse(LOG.replace("0.2 days/ns", "5 ns/day"))
    assert (figures(parsed, "ns_per_day"), figures(parsed, "days_per_ns")) == ([5.0], [0.2])


def test_an_escaped_log_is_read() -> None:
    assert parse(LOG.replace(">", "&gt;")) == parse(LOG)


def test_runs_of_one_log_are_distinguished() -> None:
    parsed = parse(LOG + LOG.replace("38.734100", "39.000000"))
    assert [(one.value, one.at) for one in parsed.measurements if one.fom == "wall_time"] == [
        (38.7341, {"run": 1}),
        (39.0, {"run": 2}),
    ]


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    assert without_left_out(parse(LOG[: LOG.index("WallClock")] + LOG)) == parse(LOG)


def test_a_premature_exit_is_a_problem_though_the_clock_is_printed() -> None:
    error = (
        "ERROR: Constraint failure in RATTLE algorithm for atom 12!\n"
        "ERROR: Exiting prematurely; see error messages above.\n"
    )
    parsed = parse(LOG.replace("WRITING VEL", error + "WRITING VEL"))
    assert parsed.problems == (
        "NAMD exited prematurely: Constraint failure in RATTLE algorithm for atom 12!",
    )


@pytest.mark.parametrize(
    "error",
    [
        "FATAL ERROR: UNABLE TO OPEN .PSF FILE stmv.psf",
        "[0] FATAL ERROR: CUDA error cudaMalloc",
        "------- Partition 0 Processor 3 Exiting: Called CmiAbort ------",
    ],
)
def test_a_fatal_error_is_a_problem(error: str) -> None:
    (problem, *_) = parse(LOG[: LOG.index("Info: Benchmark")] + error + "\n").problems
    assert problem == f"NAMD ended with an error: {error}"


def test_margin_warnings_are_no_problem() -> None:
    warning = (
        "ERROR: Margin is too small for 1 atoms during timestep 25.\n"
        "ERROR: Incorrect nonbonded forces and energies may be calculated!\n"
    )
    assert parse(LOG.replace("TIMING", warning + "TIMING")) == parse(LOG)


@pytest.mark.parametrize("broken", ["nan", "inf", "****"])
def test_a_figure_that_is_no_number_is_a_problem(broken: str) -> None:
    parsed = parse(LOG.replace("0.2 days", f"{broken} days"))
    assert (parsed.is_complete, figures(parsed, "days_per_ns")) == (False, [])
    assert parsed.problems


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(LOG)) == parse(LOG)


@given(damaged(LOG) | st.text())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    for parsed in (parse(text), STMV.parse(text.splitlines())):
        printed = tuple(one for one in parsed.measurements if one.fom != "ns_per_day")
        assert made_up(msgspec.structs.replace(parsed, measurements=printed), text) == []


# The commands


def test_a_copy_of_the_input_is_changed_and_run() -> None:
    link, configure, run = STMV.stages(case_of(STMV, inputs="/data/stmv", steps=500))
    assert link.argv[-2:] == ("/data/stmv", ".")
    assert configure.argv[-1] == "stmv.namd"
    assert configure.argv[-2] == (
        r"1i numsteps 500\noutputname ./result\nrestartfreq 0\ndcdfreq 0\noutputtiming 100"
    )
    assert (run.argv, run.inputs) == (("namd2", "stmv.namd"), ("/data/stmv",))


def test_the_input_is_looked_for_on_the_storage_path() -> None:
    assert STMV.stages(case_of(STMV))[0].argv[-2] == "{storage}/stmv"
    assert APOA1.stages(case_of(APOA1))[-1].argv == ("namd2", "apoa1.namd")


def test_one_thread_of_each_rank_is_left_for_communication() -> None:
    layout = Layout(nodes=2, ranks=4, ranks_per_node=2, threads=24)
    assert STMV.stages(case_of(STMV, layout))[-1].argv == ("namd2", "+ppn", "23", "stmv.namd")


def test_heavy_output_is_checkpoints_and_frames_on_the_storage_path() -> None:
    case = msgspec.structs.replace(case_of(STMV), io="heavy", storage="scratch")
    _, configure, _ = STMV.stages(case)
    assert "outputname {storage}/result\\nrestartfreq 10\\ndcdfreq 10" in configure.argv[-2]


def test_what_cannot_be_is_refused() -> None:
    assert list(STMV.faults(case_of(STMV))) == []
    level, folder = STMV.faults(msgspec.structs.replace(case_of(STMV, inputs="stmv"), io="some"))
    assert level.endswith("set io: heavy")
    assert folder.endswith("write an absolute path")


@pytest.mark.parametrize(
    ("layout", "is_right"),
    [
        (Layout(nodes=2, ranks=8, ranks_per_node=4), True),
        (Layout(nodes=2, ranks=2, ranks_per_node=1, threads=5), True),
        (Layout(nodes=2, ranks=16, ranks_per_node=8), False),
    ],
)
def test_a_program_of_another_mpi_is_found_out(layout: Layout, is_right: bool) -> None:
    text = LOG.replace(
        "Info: TIMESTEP", "Info: Running on 8 processors, 1 nodes, 1 physical nodes.\nInfo: TIMESTEP"
    )
    parsed = STMV.expecting(case_of(STMV, layout)).parse(io.StringIO(text))
    wrong = "the program ran on 8 ranks instead of 16; build it with the launcher's MPI"
    assert parsed.problems == (() if is_right else (wrong,))


# Options as users set them


def configured(**parameters: Scalar) -> str:
    case = msgspec.structs.replace(case_of(STMV, None, **parameters), io="heavy", storage="scratch")
    return STMV.stages(case)[1].argv[-2]


def test_frames_are_written_only_where_they_are_wanted() -> None:
    assert "restartfreq 10\\ndcdfreq 10" in configured()
    assert "restartfreq 10\\ndcdfreq 0" in configured(frames=False)


def test_each_checkpoint_may_be_kept() -> None:
    assert "restartsave" not in configured()
    assert configured(restartsave=True).endswith("restartsave yes")
    edit = STMV.stages(case_of(STMV, restartsave=True))[1].argv
    assert any("|restartsave|" in word for word in edit)  # the input's own is removed: NAMD refuses two


def test_the_options_of_charm_are_words_of_the_command() -> None:
    layout = Layout(nodes=1, ranks=2, ranks_per_node=2, threads=24)
    case = case_of(
        STMV,
        layout,
        pemap="0-22,24-46",
        commap="23,47",
        isomalloc_sync=True,
        args="+setcpuaffinity --tclmain 'a b'",
    )
    assert list(STMV.faults(case)) == []
    expected = ("namd2", "+ppn", "23", "+pemap", "0-22,24-46", "+commap", "23,47", "+isomalloc_sync")
    assert STMV.stages(case)[-1].argv == (*expected, "+setcpuaffinity", "--tclmain", "a b", "stmv.namd")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pemap": "0-3;id"}, "pemap is '0-3;id', which"),
        ({"pemap": "$(id)"}, r"pemap is '\$\(id\)'"),
        ({"commap": "23"}, "set threads: 2 or more"),
        ({"args": "'open"}, "close the quotes"),
        ({"args": "+ppn 3"}, r"args has \+ppn, which Tare sets itself"),
    ],
)
def test_options_that_charm_would_refuse_are_faults(parameters: dict[str, Scalar], message: str) -> None:
    (fault,) = STMV.faults(case_of(STMV, None, **parameters))
    assert re.search(message, fault)
