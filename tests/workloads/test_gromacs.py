"""GROMACS: its parser on real logs (corpus/INDEX.tsv names their origins) and on damaged ones; its input."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader, without_left_out
from tare.core.case import Layout
from tare.plugins.workloads.gromacs import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

(WATER,) = WORKLOADS

LOG = """\
                      :-) GROMACS - gmx mdrun, 2022.5-Debian_2022.5_2 (-:

Command line:
  gmx_mpi mdrun -s water.tpr -nsteps 2000

           Step           Time
           1000        2.00000

 Average load imbalance: 3.5%.
 Part of the total run time spent waiting due to load imbalance: 1.3%.
 Part of the total run time spent waiting due to PP/PME imbalance: 10.4 %

               Core t (s)   Wall t (s)        (%)
       Time:       12.345        6.173      200.0
                 (ns/day)    (hour/ns)
Performance:       27.560        0.871
Finished mdrun on rank 0 Sat Nov 21 22:05:47 2026
"""
ERROR = """\
-------------------------------------------------------
Program:     gmx mdrun, version 2025.3
Source file: src/gromacs/domdec/domdec.cpp (line 2037)
MPI rank:    0 (out of 12)

Fatal error:
There is no domain decomposition for 11 ranks

For more information and tips for troubleshooting, please check the GROMACS
website at https://manual.gromacs.org/current/user-guide/run-time-errors.html
-------------------------------------------------------
"""


parse = reader(WATER)


# Real output

FINISHED = {
    "06-v2025.3-ok-md.log": (89.595, 0.268, 96.436, 2700.074, 1.0, 11.0),
    "07-v2025.3-ok-mdrun-output.log": (89.595, 0.268, 96.436, 2700.074, 1.0, 11.0),
    "09-archer2-2020.3.log": (7.354, 3.264, 235.010, 30081.200, 1.5, 10.4),
    "10-2019.3-gpu-myriad.log": (3.966, 6.051, 435.747, 15683.601, None, None),
    "11-2018.3-gpu-mpi-myriad.log": (1.218, 19.704, 1418.856, 51078.803, None, 22.7),
    "12-2018.2-archer-0.5nsday.log": (0.507, 47.321, 272.910, 1676761.475, 15.0, 0.1),
    "13-stackhpc-1400k-16nodes.log": (7.640, 3.141, 226.198, 231626.793, 24.2, 24.6),
    "14-stackhpc-1400k-16nodes-stderr.err": (7.640, 3.141, 226.198, 231626.793, 24.2, 24.6),
    "19-mretegan-old.log": (52.651, 0.456, 0.004, 0.002, None, None),
    "20-power9-v100.log": (63.103, 0.380, 109.538, 1752.606, None, None),
}
REFUSED = {
    "01-v2025.3-failed-md.log": "lacks the line Performance",
    "02-v2025.3-failed-gmx_output.log": "Feature not implemented: PME tasks were required",
    "03-v2025.3-fatal-error-md.log": "Fatal error: There is no domain decomposition for 11 ranks",
    "04-v2025.3-inconsistency-user-input.log": "Inconsistency in user input: There were 5 GPU tasks",
    "05-v2025.3-bash-error-only.log": "holds no simulation by GROMACS",
    "08-archer-no-performance-line.log": "lacks the line Performance",
}
FOMS = ("ns_per_day", "hours_per_ns", "wall_time", "core_time", "load_imbalance", "pme_imbalance")


def test_the_tables_here_name_every_real_log(corpus: Path) -> None:
    assert {path.name for path in (corpus / "gromacs").iterdir()} == FINISHED.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs_are_read(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "gromacs" / name).read_text())
    assert parsed.is_complete
    assert parsed.problems == ()
    assert tuple(next(iter(figures(parsed, fom)), None) for fom in FOMS) == FINISHED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_failed_runs_say_why(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "gromacs" / name).read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert any(REFUSED[name] in problem for problem in parsed.problems)


def test_a_log_cut_anywhere_is_complete_only_with_all_its_figures(corpus: Path) -> None:
    for name in FINISHED:
        text = (corpus / "gromacs" / name).read_text()
        whole = parse(text).measurements
        for cut in [*cuts(text), *(text[:-back] for back in range(1, 200, 3))]:
            for parsed in (parse(cut), WATER.parse(cut.splitlines())):
                assert not parsed.is_complete or parsed.measurements == whole
                assert set(map(str, parsed.measurements)) <= set(map(str, whole))


# Other versions, damaged logs


def test_the_example_is_complete() -> None:
    parsed = parse(LOG)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [figures(parsed, fom) for fom in FOMS] == [[27.56], [0.871], [6.173], [12.345], [3.5], [10.4]]


def test_columns_are_found_by_their_names() -> None:
    detailed = LOG.replace(
        "                 (ns/day)    (hour/ns)\nPerformance:       27.560        0.871",
        "               (Mnbf/s)   (GFlops)   (ns/day)  (hour/ns)\n"
        "Performance:    162.180      8.246     27.560      0.871",
    )
    assert parse(detailed).measurements == parse(LOG).measurements


def test_a_minimisation_has_steps_per_hour() -> None:
    text = LOG.replace("(ns/day)    (hour/ns)", "(steps/hour)").replace("27.560        0.871", "8123.4")
    assert figures(parse(text), "steps_per_hour") == [8123.4]
    assert parse(text).is_complete


def test_runs_of_one_log_are_distinguished() -> None:
    parsed = parse(LOG + LOG.replace("27.560", "30.001"))
    assert [(one.value, one.at) for one in parsed.measurements if one.fom == "ns_per_day"] == [
        (27.56, {"run": 1}),
        (30.001, {"run": 2}),
    ]


def test_a_run_cut_off_and_continued_in_the_same_log_counts_once() -> None:
    assert without_left_out(parse(LOG[: LOG.index("       Time:")] + LOG)) == parse(LOG)


def test_a_second_run_without_an_end_keeps_the_log_from_being_complete() -> None:
    assert not parse(LOG + LOG[: LOG.index("Performance")]).is_complete


@pytest.mark.parametrize("broken", ["nan", "inf", "********", "27.5600", "27.56", "27", "-"])
def test_a_performance_that_is_no_number_is_a_problem(broken: str) -> None:
    parsed = parse(LOG.replace("27.560", broken))
    assert (parsed.is_complete, figures(parsed, "ns_per_day")) == (False, [])
    assert any(problem.startswith("the performance is not all there") for problem in parsed.problems)


@pytest.mark.parametrize(("found", "broken"), [("27.560", "2.560"), ("27.560", "77.560"), ("0.871", "0.571")])
def test_a_speed_and_its_inverse_that_are_not_of_one_run_are_a_problem(found: str, broken: str) -> None:
    parsed = parse(LOG.replace(found, broken))
    assert any("ns/day and hour/ns are not of one speed" in problem for problem in parsed.problems)


@pytest.mark.parametrize(
    ("speed", "inverse"), [("24000.100", "0.001"), ("96000.000", "0.000"), ("0.000", "60000.500")]
)
def test_a_speed_whose_inverse_has_few_digits_is_read(speed: str, inverse: str) -> None:
    parsed = parse(LOG.replace("27.560        0.871", f"{speed} {inverse}"))
    assert not any("of one speed" in problem for problem in parsed.problems)


def test_errors_are_reported_by_their_message_even_in_old_versions() -> None:
    for text in (
        ERROR,
        ERROR.replace("Program:     gmx mdrun, version 2025.3", "Program mdrun, VERSION 4.5.6"),
    ):
        (error, *_) = parse(LOG[: LOG.index("       Time:")] + text).problems
        assert (
            error == "GROMACS ended with an error: Fatal error: There is no domain decomposition for 11 ranks"
        )


def test_a_run_stopped_by_a_signal_is_a_problem_though_it_has_a_performance() -> None:
    stop = "Received the TERM signal, stopping within 200 steps\n"
    parsed = parse(LOG.replace("\n Average", f"\n{stop}\n Average"))
    assert parsed.problems == (f"a signal stopped GROMACS early: {stop.strip()}",)


def test_an_abort_of_mpi_is_a_problem() -> None:
    abort = "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"
    assert f"the run was aborted: {abort}" in parse(LOG + abort + "\n").problems


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(LOG)) == parse(LOG)


@given(damaged(LOG) | damaged(LOG + ERROR) | st.text())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    for parsed in (parse(text), WATER.parse(text.splitlines())):
        assert made_up(parsed, text) == []


# The input


def words(**parameters: str | float) -> list[str]:
    layout = Layout(nodes=2, ranks=8, ranks_per_node=4, threads=2)
    return [" ".join(stage.argv) for stage in WATER.stages(case_of(WATER, layout, **parameters))]


def test_the_box_is_filled_relaxed_and_simulated() -> None:
    assert words(size=2.652) == [
        "gmx_mpi solvate -cs spc216.gro -box 2.99212 2.99212 2.99212 -o box.gro -p topol.top",
        "gmx_mpi grompp -f relax.mdp -c box.gro -p topol.top -o relax.tpr -po relax.out.mdp",
        "gmx_mpi mdrun -deffnm relax",
        "gmx_mpi grompp -f water.mdp -c relax.gro -p topol.top -o water.tpr -po water.out.mdp",
        "gmx_mpi mdrun -s water.tpr -nsteps 10000 -resethway -noconfout -ntomp 2 -g md.log",
    ]


def test_the_box_is_made_once_for_all_layouts_and_lengths() -> None:
    one, other = (
        WATER.stages(case_of(WATER, Layout(nodes=nodes, ranks=nodes), steps=steps))
        for nodes, steps in ((1, 1000), (2, 5000))
    )
    assert one[:-1] == other[:-1]
    assert all(stage.keeps and not stage.is_mpi for stage in one[:-1])
    assert not one[-1].keeps


def test_a_ready_input_is_run_as_it_is() -> None:
    (stage,) = WATER.stages(case_of(WATER, tpr="/data/benchMEM.tpr", half=False))
    assert " ".join(stage.argv) == (
        "gmx_mpi mdrun -s /data/benchMEM.tpr -nsteps 10000 -noconfout -ntomp 1 -g md.log"
    )
    assert stage.inputs == ("/data/benchMEM.tpr",)


def test_heavy_output_is_compressed_frames_on_the_storage_path() -> None:
    case = msgspec.structs.replace(case_of(WATER), io="heavy", storage="scratch")
    *preparation, run = WATER.stages(case)
    assert "nstxout-compressed = 10\n" in preparation[-1].files["water.mdp"]
    assert run.argv[-2:] == ("-x", "{storage}/traj.xtc")


def test_without_storage_heavy_output_stays_in_the_working_folder() -> None:
    case = msgspec.structs.replace(case_of(WATER), io="heavy")
    assert WATER.stages(case)[-1].argv[-2:] == ("-x", "./traj.xtc")


@pytest.mark.parametrize(
    ("io_level", "tpr", "fault"),
    [
        ("some", "", "io is 'some', but gromacs.water knows none and heavy; set io: heavy"),
        ("heavy", "a.tpr", "a .tpr holds its own output settings"),
    ],
)
def test_what_cannot_be_is_refused_with_the_cure(io_level: str, tpr: str, fault: str) -> None:
    (found,) = WATER.faults(msgspec.structs.replace(case_of(WATER, tpr=tpr), io=io_level))
    assert fault in found


def test_defaults_have_no_fault() -> None:
    assert list(WATER.faults(case_of(WATER))) == []


@pytest.mark.parametrize(
    ("line", "is_right"),
    [
        ("Using 8 MPI processes", True),
        ("Using 1 MPI process", False),
        ("Using 4 MPI threads", False),
        ("Using 2 OpenMP threads per MPI process", True),
    ],
)
def test_a_program_of_another_mpi_is_found_out(line: str, is_right: bool) -> None:
    case = case_of(WATER, Layout(nodes=2, ranks=8, ranks_per_node=4))
    parsed = WATER.expecting(case).parse(io.StringIO(LOG.replace("Command line:", f"{line}\nCommand line:")))
    wrong = "the program ran on 1 rank instead of 8; build it with the launcher's MPI"
    assert parsed.problems == (() if is_right else (wrong,))


def test_the_times_of_a_run_that_its_time_limit_ended_are_no_figures() -> None:
    """GROMACS ends well at -maxh; its rate counts the steps that were made, its times are of fewer steps."""
    early = "Step 700: Run time exceeded 0.001 hours, will terminate the run within 20 steps\n"
    parsed = parse(LOG.replace("\n               Core t", early + "\n               Core t"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert (figures(parsed, "ns_per_day"), figures(parsed, "wall_time")) == ([27.56], [])
    assert figures(parse(LOG.replace("\n               Core t", early + "\n               Core t") + LOG),
                   "wall_time", run=2) == [6.173]  # fmt: skip


def test_the_standard_output_of_a_multi_simulation_says_where_its_rates_are() -> None:
    first = "This is simulation 0 out of 2 running as a composite GROMACS\nmulti-simulation job.\n"
    text = LOG[: LOG.index("               Core t")] + first
    (problem,) = parse(text).problems
    assert problem.endswith("a multi-simulation prints it only to md.log of each folder")
    assert parse(text).printed["n_simulations"] == (2,)


def test_a_rerun_is_no_simulation() -> None:
    """Its frames are read from a file; GMX 2022 prints 167 ns/day for it, and 31 for the simulation."""
    note = (
        "Note that it is planned that the command gmx mdrun -rerun will be available in a different form.\n"
    )
    for text in (LOG.replace("-nsteps 2000", "-rerun water.trr"), note * 2 + LOG):
        (problem,) = parse(text).problems
        assert "a rerun (-rerun) simulates nothing" in problem
    advice = (
        "For better performance, use fewer groups and then do gmx mdrun -rerun option on the trajectory.\n"
    )
    assert parse(advice + LOG).problems == ()


@pytest.mark.parametrize(("steps", "n_problems"), [(0, 1), (2000, 0), (-1, 0)])
def test_a_simulation_without_steps_has_no_speed(steps: int, n_problems: int) -> None:
    line = f"Overriding nsteps with value passed on the command line: {steps} steps, 4 ps\n"
    problems = parse(line + LOG).problems
    assert [one.partition(" (")[0] for one in problems] == ["the simulation has no steps"] * n_problems
