"""LAMMPS: its parser on real logs (corpus/INDEX.tsv names their origins) and on damaged ones; its input."""

from __future__ import annotations

import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, reader, without_left_out
from tare.core.case import Layout
from tare.plugins.workloads.lammps import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged, made_up

LJ, SCRIPT = WORKLOADS

RUN = """\
Loop time of 4.6636 on 2 procs for 100 steps with 32000 atoms

Performance: 9263.229 tau/day, 21.443 timesteps/s, 686.176 katom-step/s
95.1% CPU use with 2 MPI tasks x 1 OpenMP threads

Total # of neighbors = 1201213
Dangerous builds not checked
"""
LOG = f"""\
LAMMPS (22 Jul 2025 - Update 4)
  using 1 OpenMP thread(s) per MPI task
Setting up Verlet run ...
   Step          Temp          E_pair         E_mol          TotEng         Press
         0   1.44          -6.7733681      0             -4.6134356     -5.0197073
{RUN}Total wall time: 1:02:05
"""


parse = reader(LJ)


def test_femtoseconds_of_electrons_are_converted() -> None:
    parsed = parse(LOG.replace("9263.229 tau/day", "2000000.000 fs/day, 0.000012 hours/fs"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "ns_per_day") == [2]
    assert figures(parsed, "hours_per_ns") == [pytest.approx(12)]


# Real output

FINISHED: dict[str, dict[str, list[float]]] = {
    "07-parallelcluster-32n-reax-ok.out": {
        "loop_time": [128.813],
        "ns_per_day": [0.007],
        "timesteps_per_s": [0.776],
        "atom_steps_per_s": [30.933],
        "cpu_use": [99.2],
        "wall_time": [133],
    },
    "08-eks-gpu-kokkos-null.out": {
        "loop_time": [40.6684],
        "ns_per_day": [0.021],
        "timesteps_per_s": [2.459],
        "wall_time": [47],
    },
    "09-gke-snap-64-ok.out": {
        "loop_time": [237.108],
        "ns_per_day": [3.644],
        "timesteps_per_s": [84.350],
        "atom_steps_per_s": [10.797 / 1000],
        "cpu_use": [14.7],
    },
    "10-nersc-baremetal-snap.o": {
        "loop_time": [158.85, 158.979],
        "ns_per_day": [0.022, 0.022],
        "timesteps_per_s": [1.259, 1.258],
        "wall_time": [189, 187],
    },
    "11-nersc-podman-exec-snap.o": {
        "loop_time": [131.498, 131.375],
        "ns_per_day": [0.026, 0.026],
        "timesteps_per_s": [1.521, 1.522],
    },
    "12-bjarni-log.lammps": {
        "loop_time": [
            0.00168279,
            0.00152362,
            0.000223278,
            0.00138784,
            0.00271384,
            0.00119859,
            0.0022564,
            0.00101523,
        ],
        "tau_per_day": [
            2567159.523,
            2835357.299,
            1934807.728,
            3112740.096,
            3183686.261,
            3604230.466,
            3829101.950,
            4255186.070,
        ],
        "wall_time": [],  # 0:00:00
    },
    "13-jkkdy-argon-stdout.log": {
        "loop_time": [2.66016, 29.2834],
        "tau_per_day": [7376.204],
        "timesteps_per_s": [17.075],
        "atom_steps_per_s": [17.075],
        "cpu_use": [606.1],
        "wall_time": [34],
    },
    "14-jkkdy-argon-log.lammps": {
        "loop_time": [2.66016, 29.2834],
        "tau_per_day": [7376.204],
        "timesteps_per_s": [17.075],
        "wall_time": [34],
    },
    "16-metrics-operator-HNS-log.lammps": {
        "loop_time": [17.1899],
        "ns_per_day": [0.050],
        "hours_per_ns": [477.497],
        "timesteps_per_s": [5.817],
    },
    "17-ruby-1600-ranks1.out": {
        "loop_time": [59.6456],
        "ns_per_day": [0.014],
        "timesteps_per_s": [1.677],
        "wall_time": [60],
    },
}
REFUSED = {
    "01-cyclecloud-empty-23B.out": "holds no run of LAMMPS",
    "02-parallelcluster-missing-sif.out": "holds no run of LAMMPS",
    "03-aks-snap-cancelled-no-performance.out": "ended from outside: 62.898s: job.exception type=cancel",
    "04-cyclecloud-256n-failed.out": "holds no run of LAMMPS",
    "05-ERROR-dump-movie-log.lammps": "ERROR on proc 0: Support for writing movies not included",
    "06-gke-256-snap-failed.out": "ended from outside: 995.023s: job.exception type=cancel",
    "18-ERROR-data-file-log.lammps": "ERROR: Unknown identifier in data file: Energy:      25.1942985",
}


def test_the_tables_here_name_every_real_log(corpus: Path) -> None:
    assert {path.name for path in (corpus / "lammps").iterdir()} == FINISHED.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs_are_read(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "lammps" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {fom: figures(parsed, fom) for fom in FINISHED[name]} == FINISHED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_failed_runs_say_why(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "lammps" / name).read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert any(REFUSED[name] in problem for problem in parsed.problems)


def test_a_log_of_one_start_cut_anywhere_is_complete_only_with_all_its_figures(corpus: Path) -> None:
    for name in FINISHED:
        text = (corpus / "lammps" / name).read_text()
        if text.count("Total wall time") > 1:
            continue
        whole = [(one.fom, one.value) for one in parse(text).measurements]
        for cut in [*cuts(text), *(text[:-back] for back in range(1, 200, 3))]:
            for parsed in (parse(cut), LJ.parse(cut.splitlines())):
                found = [(one.fom, one.value) for one in parsed.measurements]
                assert not parsed.is_complete or found == whole
                assert set(found) <= set(whole) or not parsed.is_complete


# Other versions, damaged logs


def test_the_example_is_complete() -> None:
    parsed = parse(LOG)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {
        "loop_time": 4.6636,
        "tau_per_day": 9263.229,
        "timesteps_per_s": 21.443,
        "atom_steps_per_s": 0.686176,
        "cpu_use": 95.1,
        "wall_time": 3725.0,
    }


def test_a_wall_time_of_less_than_a_second_is_no_time() -> None:
    parsed = parse(LOG.replace("Total wall time: 1:02:05", "Total wall time: 0:00:00"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "wall_time") == []
    assert figures(parsed, "loop_time") == [4.6636]


def test_rates_that_blanks_separate_are_read() -> None:
    rates = "9263.229 tau/day, 21.443 timesteps/s, 686.176 katom-step/s"
    old = LOG.replace(rates, "0.928 ns/day  25.862 hours/ns  21.443 timesteps/s")
    parsed = parse(old.replace("22 Jul 2025 - Update 4", "6 Feb 2012-ICMS"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    found = [figures(parsed, fom) for fom in ("ns_per_day", "hours_per_ns", "timesteps_per_s")]
    assert found == [[0.928], [25.862], [21.443]]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("5.5 atom", 5.5e-6), ("5.5 katom", 5.5e-3), ("5.5 Matom", 5.5), ("5.5 Gatom", 5500)],
)
def test_rates_of_atoms_have_one_unit(rate: str, expected: float) -> None:
    assert figures(parse(LOG.replace("686.176 katom", rate)), "atom_steps_per_s") == [expected]


def test_runs_of_one_log_are_distinguished_and_a_run_of_no_steps_is_none() -> None:
    empty = "Loop time of 1.043e-06 on 11 procs for 0 steps with 1000000 atoms\n"
    parsed = parse(LOG.replace(RUN, empty + RUN + RUN.replace("4.6636", "5.5")))
    assert [(one.value, one.at) for one in parsed.measurements if one.fom == "loop_time"] == [
        (4.6636, {"run": 1}),
        (5.5, {"run": 2}),
    ]


def test_a_start_cut_off_and_repeated_counts_once() -> None:
    assert without_left_out(parse(LOG[: LOG.index("Total wall")] + LOG)) == parse(LOG)


def test_versions_before_2014_have_no_wall_time() -> None:
    old = LOG[: LOG.index("Total wall")].replace("not checked", "= 0")
    assert not parse(old).is_complete
    assert parse(old.replace("22 Jul 2025 - Update 4", "10 Aug 2012")).is_complete


OLD_RUN = """\
Memory usage per processor = 1.88303 Mbytes
Step Temp E_pair E_mol TotEng Press 
       0            3   -6.7733681            0   -2.2744931   -3.7033504 
     250    1.6323462   -4.7292021            0   -2.2812949    5.9762238 
Loop time of 0.209819 on 4 procs for 250 steps with 4000 atoms

Pair  time (%) = 0.159745 (76.1344)
Other time (%) = 0.00550741 (2.62483)

Neighbor list builds = 12
Dangerous builds = 0
"""  # noqa: W291  # LAMMPS's own lines
"""A run as versions up to April 2015 print it, without rates."""


@pytest.mark.parametrize("version", ["10 Sep 2010", "1 Feb 2014", "30 Apr 2015"])
def test_versions_before_the_wall_time_end_with_their_last_run(version: str) -> None:
    parsed = parse(f"LAMMPS ({version})\n{OLD_RUN}")
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed, "loop_time") == [0.209819]
    assert not parse(f"LAMMPS (15 Feb 2016)\n{OLD_RUN}").is_complete


def test_a_later_run_that_is_cut_short_in_an_old_version_is_not_complete() -> None:
    second = OLD_RUN.replace("0.209819", "0.3").replace("250 steps", "500 steps")
    both = f"LAMMPS (1 Feb 2014)\n{OLD_RUN}{second}"
    assert parse(both).is_complete
    cut = parse(both[: both.rindex("Loop time")])
    assert not cut.is_complete
    assert "did not come to its end" in cut.problems[0]


def test_an_error_is_a_problem_even_where_figures_came_before() -> None:
    parsed = parse(LOG.replace("Total wall", "ERROR on proc 3: Lost atoms: original 1 current 0\nTotal wall"))
    assert parsed.problems == (
        "LAMMPS ended with an error: ERROR on proc 3: Lost atoms: original 1 current 0",
    )


@pytest.mark.parametrize("broken", ["nan", "inf", "****", "21.4.4", "-"])
def test_a_rate_that_is_no_number_is_no_measurement(broken: str) -> None:
    parsed = parse(LOG.replace("21.443", broken))
    assert (parsed.is_complete, figures(parsed, "timesteps_per_s")) == (False, [])
    assert parsed.problems


def test_words_of_a_scheduler_in_a_finished_log_are_no_problem() -> None:
    assert parse("slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-21 ***\n" + LOG).problems == ()


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(LOG)) == parse(LOG)


@given(damaged(LOG) | st.text())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(text: str) -> None:
    for parsed in (parse(text), LJ.parse(text.splitlines())):
        figures_alone = msgspec.structs.replace(
            parsed, measurements=tuple(one for one in parsed.measurements if one.fom != "wall_time")
        )
        assert made_up(figures_alone, text, (1, 1e3, 1e6)) == []


# The input


def test_the_liquid_has_as_many_unit_cells_as_its_atoms_need() -> None:
    layout = Layout(nodes=2, ranks=8, ranks_per_node=4)
    (stage,) = LJ.stages(case_of(LJ, layout, atoms=2_048_000, steps=500, arguments="-sf omp -pk omp 2"))
    assert " ".join(stage.argv) == "lmp -sf omp -pk omp 2 -in in.lj -var edge 80 -var steps 500"
    assert stage.layout is None
    assert "dump" not in stage.files["in.lj"]


def test_heavy_output_is_a_dump_on_the_storage_path() -> None:
    case = msgspec.structs.replace(case_of(LJ), io="heavy", storage="scratch")
    (run,) = LJ.stages(case)
    assert "dump results all custom 10 ${place}/dump.lammpstrj" in run.files["in.lj"]
    assert run.argv[-3:] == ("-var", "place", "{storage}")


def test_a_script_runs_among_links_to_what_it_reads() -> None:
    link, run = SCRIPT.stages(case_of(SCRIPT, folder="/data/hns", script="in.reaxff.hns"))
    assert link.argv == ("cp", "--recursive", "--symbolic-link", "--force", "-T", "/data/hns", ".")
    assert run.argv == ("lmp", "-in", "in.reaxff.hns")


def test_what_cannot_be_is_refused() -> None:
    assert list(LJ.faults(case_of(LJ))) == []
    (some,) = LJ.faults(msgspec.structs.replace(case_of(LJ), io="some"))
    assert some.endswith("set io: heavy")
    here = msgspec.structs.replace(case_of(SCRIPT, folder="hns", script="in.hns"), io="heavy")
    folder, script = SCRIPT.faults(here)
    assert folder == "folder is 'hns', which is relative to nothing; write an absolute path"
    assert script.endswith("leave out io")


@pytest.mark.parametrize(("ranks", "is_right"), [(2, True), (8, False)])
def test_a_program_of_another_mpi_is_found_out(ranks: int, is_right: bool) -> None:
    layout = Layout(nodes=2, ranks=ranks, ranks_per_node=ranks // 2)
    parsed = LJ.expecting(case_of(LJ, layout)).parse(io.StringIO(LOG))
    wrong = "the program ran on 2 ranks instead of 8; build it with the launcher's MPI"
    assert parsed.problems == (() if is_right else (wrong,))


def test_heavy_output_on_a_full_file_system_ends_in_an_error(tmp_path: Path) -> None:
    """LAMMPS itself ends well when a dump finds no room."""
    if shutil.which("lmp") is None or not Path("/dev/full").exists():
        pytest.skip("no lmp here; on Debian: apt install lammps")
    case = msgspec.structs.replace(case_of(LJ, atoms=4000, steps=10), io="heavy", storage="scratch")
    (stage,) = LJ.stages(case)
    (tmp_path / "in.lj").write_text(str(stage.files["in.lj"]))
    for name in ("dump.lammpstrj", "end.restart"):
        (tmp_path / name).symlink_to("/dev/full")
    words = [word.replace("{storage}", ".") for word in stage.argv]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    (problem, *_) = parse(done.stdout).problems
    assert problem.startswith("LAMMPS ended with an error: ERROR: I/O error while writing restart")


def test_the_times_of_a_run_that_its_time_limit_ended_are_no_figures() -> None:
    """`timer timeout` ends a run well; its rate counts the steps that were made."""
    parsed = parse(
        LOG.replace("Loop time", "WARNING: Wall time limit reached (src/timer.cpp:238)\nLoop time")
    )
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert [figures(parsed, fom) for fom in ("timesteps_per_s", "loop_time", "wall_time")] == [
        [21.443], [], []
    ]  # fmt: skip


SET_UP = "Per MPI rank memory allocation (min/avg/max) = 4.1 | 4.1 | 4.1 Mbytes\n"
SHORT = "Loop time of 2.66016 on 2 procs for 50 steps with 32000 atoms\n\n"


def test_a_run_without_its_end_or_its_performance_is_named() -> None:
    log = LOG.replace(RUN, f"{SET_UP}{SHORT}{SET_UP}{RUN}")
    parsed = parse(log)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert len(figures(parsed, "loop_time")) == 2
    (named,) = parsed.left_out
    assert named.startswith(
        "timesteps_per_s is left out at steps 50 at n_atoms 32000: its run printed no line"
    )
    (named,) = parse(log.replace(SHORT, "")).left_out
    assert named == "loop_time is left out: a run was set up, and no line Loop time tells of its end"


@pytest.mark.parametrize("name", FINISHED)
def test_a_log_without_its_first_line_is_not_complete(corpus: Path, name: str) -> None:
    """Every real log with figures has it: what came before the rest, such as other runs, is lost with it."""
    lines = (corpus / "lammps" / name).read_text().splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.startswith("LAMMPS ("))
    parsed = parse("".join(lines[:first] + lines[first + 1 :]))
    assert not parsed.is_complete
    assert "the output lacks its beginning" in "; ".join(parsed.problems)
