"""WRF: its parser on real logs (corpus/INDEX.tsv names their origins) and on damaged ones; its commands."""

from __future__ import annotations

import io
import math
import re
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import figures, only, reader
from tare.core.case import Layout
from tare.core.values import Scalar
from tare.plugins.workloads.wrf import WORKLOADS
from workloads.cases import case_of
from workloads.damage import MESSES, cuts, damaged

CONUS, CONUS_12 = WORKLOADS

HEAD = """\
taskid: 0 hostname: n1
WRF V4.5.1 MODEL
Timing for processing wrfinput file (stream 0) for domain        1:    0.13842 elapsed seconds
"""
LOG = f"""\
{HEAD}Timing for Writing wrfout_d01_2020-03-18_00:00:00 for domain        1:    0.50000 elapsed seconds
Timing for processing lateral boundary for domain        1:    0.13263 elapsed seconds
Timing for main: time 2020-03-18_00:03:00 on domain   1:    1.50000 elapsed seconds
Timing for main: time 2020-03-18_00:06:00 on domain   1:    0.20000 elapsed seconds
Timing for main: time 2020-03-18_00:09:00 on domain   1:    0.30000 elapsed seconds
Timing for Writing wrfout_d01_2020-03-18_00:09:00 for domain        1:    0.25000 elapsed seconds
Timing for main: time 2020-03-18_00:12:00 on domain   1:    0.75000 elapsed seconds
Timing for main: time 2020-03-18_00:15:00 on domain   1:    0.25000 elapsed seconds
Timing for Writing wrfout_d01_2020-03-18_00:15:00 for domain        1:    0.25000 elapsed seconds
wrf: SUCCESS COMPLETE WRF
"""


parse = reader(CONUS)


# Real output

FINISHED = {
    "01-rsl.error.0000-12km-56rank.txt": (150, 0.59259, 2.06323),
    "02-rsl.error.0000-2.5km-3136rank.txt": (720, 1.13736, 37.02614),
    "08-rsl.out.0000-acm40080.txt": (480, 1.52669, 9.38925),
}
UNFINISHED = {
    "03-jobout-no-timing.out": (None, "holds no step of WRF"),
    "04-jobstderr-starting-tasks.err": (None, "holds no step of WRF"),
    "05-rsl.error.0000-wrf-cmaq-crash.txt": (0.15202, "lacks SUCCESS COMPLETE WRF"),
    "06-rsl.out.0000-wrf-cmaq-crash.txt": (0.152105, "lacks SUCCESS COMPLETE WRF"),
    "07-slurm-wrf-cmaq.out": (None, "holds no step of WRF"),
    "10-rsl.error.0000-namelist-FATAL.txt": (
        None,
        "fatal error in <stdin> line 1297: NOTE:  Please check and reset these options",
    ),
    "11-rsl.error.0002-worker-rank.txt": (None, "holds no step of WRF"),
}


def test_the_tables_here_name_every_real_log(corpus: Path) -> None:
    assert {path.name for path in (corpus / "wrf").iterdir()} == FINISHED.keys() | UNFINISHED.keys()


@pytest.mark.parametrize("name", FINISHED)
def test_the_mean_leaves_out_the_first_step_and_those_with_input_or_output(corpus: Path, name: str) -> None:
    text = (corpus / "wrf" / name).read_text()
    count, first, output = FINISHED[name]
    lines = [line for line in text.splitlines() if line.startswith("Timing for")]
    steps = [
        (float(line.split()[-3]), before)
        for before, line in zip(["", *lines], lines, strict=False)
        if "Timing for main" in line
    ]
    assert (len(steps), steps[0][0]) == (count, first)
    quiet = [seconds for seconds, before in steps[1:] if "Timing for main" in before]
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "step_time") == pytest.approx(statistics.mean(quiet))
    assert only(parsed, "steps_per_s") == pytest.approx(1 / statistics.mean(quiet))
    assert only(parsed, "integration_time") == pytest.approx(sum(seconds for seconds, _ in steps))
    assert only(parsed, "output_time") == pytest.approx(output)


@pytest.mark.parametrize("name", UNFINISHED)
def test_unfinished_runs_say_why(corpus: Path, name: str) -> None:
    parsed = parse((corpus / "wrf" / name).read_text(errors="replace"))
    mean, reason = UNFINISHED[name]
    assert not parsed.is_complete
    assert figures(parsed, "step_time") == ([] if mean is None else [pytest.approx(mean)])
    assert any(reason in problem for problem in parsed.problems)


def test_an_abort_of_mpi_is_a_problem(corpus: Path) -> None:
    parsed = parse((corpus / "wrf/10-rsl.error.0000-namelist-FATAL.txt").read_text())
    assert any(problem.startswith("the run was aborted: MPI_ABORT") for problem in parsed.problems)


def test_a_log_cut_anywhere_is_not_complete(corpus: Path) -> None:
    for name in FINISHED:
        text = (corpus / "wrf" / name).read_text()
        for cut in cuts(text[: text.index("SUCCESS COMPLETE WRF")]):
            assert not parse(cut).is_complete
            assert not CONUS.parse(cut.splitlines()).is_complete


# Other versions, damaged logs


def test_the_example_is_complete() -> None:
    parsed = parse(LOG)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.fom: one.value for one in parsed.measurements} == {
        "step_time": 0.25,
        "steps_per_s": 4.0,
        "integration_time": 3.0,
        "output_time": 1.0,
    }


@pytest.mark.parametrize(
    ("words", "others"),
    [
        ("Timing for main: time", "Timing for main (dt= 12.00): time"),
        ("Timing for main", "d01 2020-03-18_00:03:00 Timing for main"),
        ("elapsed seconds", "elapsed seconds."),
        ("wrf: SUCCESS", "d01 2020-03-18_00:15:00 wrf: SUCCESS"),
    ],
)
def test_words_of_other_versions_are_read(words: str, others: str) -> None:
    assert parse(LOG.replace(words, others)) == parse(LOG)


def test_a_time_that_ran_backwards_is_a_problem() -> None:
    parsed = parse(LOG.replace(" 0.30000 elapsed", "-0.30000 elapsed"))
    (problem,) = parsed.problems
    assert problem.startswith("a time is negative: Timing for main: time 2020-03-18_00:09:00")


def test_a_forecast_without_its_first_domain_is_a_problem() -> None:
    parsed = parse(LOG.replace("domain   1:", "domain   2:"))
    assert parsed.problems == ("the steps of domain 1, which every forecast has, are missing",)


STEP = "Timing for main: time 2020-03-18_00:"
BOUNDARY = "d01 2020-03-18_00:00:00  Input data is acceptable to use: wrfbdy_d01\n"


def test_a_log_without_its_first_steps_is_a_problem() -> None:
    """Where the first files stand before it, or only the line of the boundary's input."""
    lines = LOG.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.startswith(STEP))
    (problem,) = parse("".join([*lines[:first], *lines[first + 3 :]])).problems
    assert problem == "lines of steps are missing: files of two times stand before the first one"
    unwritten = [line for line in lines if "Writing" not in line]
    more = [f"{STEP}{minute}:00 on domain   1:    0.25000 elapsed seconds\n" for minute in range(18, 60, 3)]
    steps = [*unwritten[first - 1 : -1], *more, unwritten[-1]]
    head = [*unwritten[: first - 1], BOUNDARY]
    assert parse("".join([*head, *steps])).problems == ()
    (problem,) = parse("".join([*head, *steps[2:]])).problems
    assert problem == "lines of steps are missing: the simulated time jumps"


def test_nested_domains_have_means_of_their_own() -> None:
    inner = LOG.replace("\n", "\0").replace("on domain   1", "on domain   2").replace("\0", "\n")
    inner_steps = re.findall(r"Timing for main.*\n", inner)
    outer_steps = re.findall(r"Timing for main.*\n", LOG)
    text = LOG
    for outer, own in zip(outer_steps, inner_steps, strict=True):
        text = text.replace(outer, own.replace(":    0.", ":    0.0") + outer)
    found = {one.at["domain"]: one.value for one in parse(text).measurements if one.fom == "step_time"}
    assert found == {1: 0.25, 2: pytest.approx(0.025)}


def test_runs_of_one_log_are_distinguished() -> None:
    parsed = parse(LOG + LOG)
    assert [one.at for one in parsed.measurements if one.fom == "step_time"] == [{"run": 1}, {"run": 2}]


def test_a_run_cut_off_and_started_again_counts_once() -> None:
    assert parse(LOG[: LOG.index("wrf: SUCCESS")] + LOG) == parse(LOG)


def test_a_run_that_broke_the_cfl_condition_is_reported_when_it_did_not_end() -> None:
    warning = "d01 2020-03-18_00:15:00 12 points exceeded cfl=2 in domain d01 at time 2020 hours\n"
    parsed = parse(
        LOG.replace("wrf: SUCCESS COMPLETE WRF\n", 2 * warning + "forrtl: severe (174): SIGSEGV\n")
    )
    assert parsed.problems == (
        "the output lacks SUCCESS COMPLETE WRF; the forecast did not come to its end",
        "the CFL condition was broken 2 times; the time step is too long",
        "the run was aborted: forrtl: severe (174): SIGSEGV",
    )
    assert parse(LOG.replace("wrf: SUCCESS", warning + "wrf: SUCCESS")).problems == ()


def test_a_single_step_gives_no_mean() -> None:
    text = re.sub(r"(Timing for (?:main: time |Writing wrfout_d01_)2020-03-18_00:(?!0[03]:).*\n)", "", LOG)
    parsed = parse(text)
    assert figures(parsed, "step_time") == []
    assert parsed.problems == ("WRF made no step but the first and those with input or output",)


@pytest.mark.parametrize("broken", ["NaN", "*******"])
def test_a_time_that_is_no_number_is_a_problem(broken: str) -> None:
    parsed = parse(LOG.replace("0.30000", broken))
    assert (parsed.is_complete, figures(parsed, "step_time")) == (False, [])
    assert parsed.problems


@pytest.mark.parametrize("mess", MESSES)
def test_noise_and_encodings_change_nothing(mess: Callable[[str], str]) -> None:
    assert parse(mess(LOG)) == parse(LOG)


@given(damaged(LOG) | st.text())
@settings(max_examples=200)
def test_damage_never_crashes_and_no_mean_leaves_the_range_of_the_steps(text: str) -> None:
    for parsed in (parse(text), CONUS.parse(text.splitlines())):
        printed = [float(word) for word in re.findall(r"[0-9]+\.?[0-9]*", text)]
        for mean in figures(parsed, "step_time"):
            assert math.isfinite(mean)
            assert min(printed) <= mean * (1 + 1e-9)
            assert mean <= max(printed) * (1 + 1e-9)


# The commands


def test_a_copy_of_the_namelist_is_changed_and_run() -> None:
    tables, link, namelist, run = CONUS.stages(case_of(CONUS, inputs="/data/conus", tables="/opt/wrf/run"))
    assert (tables.argv[-2], link.argv[-2]) == ("/opt/wrf/run", "/data/conus")
    assert namelist.argv[-1] == "namelist.input"
    assert "run_minutes = 180," in namelist.argv[-2]
    assert "history_interval = 21*1000000," in namelist.argv[-2]
    assert (run.argv, run.inputs) == (("wrf.exe",), ("/opt/wrf/run", "/data/conus"))
    assert CONUS.output == "rsl.error.0000"


def test_the_input_is_looked_for_on_the_storage_path() -> None:
    assert CONUS.stages(case_of(CONUS))[0].argv[-2] == "{storage}/conus-2.5km"
    assert CONUS_12.stages(case_of(CONUS_12))[0].argv[-2] == "{storage}/conus-12km"


def test_heavy_output_is_a_history_file_every_five_minutes_on_the_storage_path() -> None:
    case = msgspec.structs.replace(case_of(CONUS), io="heavy", storage="scratch")
    _, namelist, _ = CONUS.stages(case)
    assert "history_interval = 21*5," in namelist.argv[-2]
    assert "history_outname = '{storage}/wrfout_d<domain>_<date>'," in namelist.argv[-2]


def test_what_cannot_be_is_refused() -> None:
    assert list(CONUS.faults(case_of(CONUS))) == []
    faults = list(CONUS.faults(msgspec.structs.replace(case_of(CONUS, inputs="a", tables="b"), io="some")))
    assert [fault.rpartition("; ")[2] for fault in faults] == [
        "set io: heavy",
        "write an absolute path",
        "write an absolute path",
    ]


@pytest.mark.parametrize(("ranks", "is_right"), [(10, True), (8, False)])
def test_a_program_of_another_mpi_is_found_out(ranks: int, is_right: bool) -> None:
    tasks = (
        "Quilting with   1 groups of   2 I/O tasks.\n Ntasks in X            2 , ntasks in Y            4\n"
    )
    layout = Layout(nodes=1, ranks=ranks, ranks_per_node=ranks)
    parsed = CONUS.expecting(case_of(CONUS, layout)).parse(io.StringIO(LOG.replace("WRF V", f"{tasks}WRF V")))
    wrong = "the program ran on 10 ranks instead of 8; build it with the launcher's MPI"
    assert parsed.problems == (() if is_right else (wrong,))


# Options as users set them

NAMELIST = """\
 &time_control
 run_hours                           = 3,
 io_form_history                     = 2
 /
 &domains
 nproc_x                             = 5,
 e_we                                = 425,
 /
 &namelist_quilt
 nio_tasks_per_group = 0,
 nio_groups = 1,
 /
"""


def edited(folder: Path, **parameters: Scalar) -> str:
    """Return NAMELIST after the real sed has edited it."""
    (folder / "namelist.input").write_text(NAMELIST)
    case = msgspec.structs.replace(
        case_of(CONUS, Layout(nodes=1, ranks=8, ranks_per_node=8), **parameters), io="heavy"
    )
    assert list(CONUS.faults(case)) == []
    (stage,) = (stage for stage in CONUS.stages(case) if stage.name == "namelist")
    subprocess.run(stage.argv, cwd=folder, check=True)
    return (folder / "namelist.input").read_text()


def test_entries_that_a_case_does_not_set_stay_as_they_are(tmp_path: Path) -> None:
    text = edited(tmp_path)
    assert " io_form_history                     = 2\n" in text
    assert " nproc_x                             = 5,\n" in text
    assert " history_interval = 21*5," in text


def test_entries_are_set_in_their_group(tmp_path: Path) -> None:
    text = edited(
        tmp_path,
        io_form_history=11,
        nproc_x=3,
        nproc_y=2,
        nio_tasks_per_group=2,
        nio_groups=1,
        history_minutes=15,
    )
    time, domains, quilt = text.split("&")[1:]
    assert (time.count("io_form_history"), " io_form_history = 11,\n" in time) == (1, True)
    assert " history_interval = 21*15,\n" in time
    assert (domains.count("nproc_x"), " nproc_x = 3,\n" in domains, " nproc_y = 2,\n" in domains) == (
        1,
        True,
        True,
    )
    assert " nio_tasks_per_group = 2,\n" in quilt
    assert " nio_groups = 1,\n" in quilt
    assert "e_we                                = 425," in domains


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nproc_x": 4}, "nproc_x is 4 and nproc_y is -1; set both"),
        ({"nproc_x": 0, "nproc_y": 0}, "set both from 1 up"),
        ({"nproc_x": 4, "nproc_y": 2, "nio_tasks_per_group": 2}, "is 8, but 6 ranks compute"),
        ({"nio_tasks_per_group": 4, "nio_groups": 2}, "8 of 8 ranks would only write"),
    ],
)
def test_tasks_that_do_not_fit_the_ranks_are_faults(parameters: dict[str, Scalar], message: str) -> None:
    layout = Layout(nodes=1, ranks=8, ranks_per_node=8)
    (fault,) = CONUS.faults(case_of(CONUS, layout, **parameters))
    assert message in fault


@pytest.mark.parametrize(
    "line",
    [
        "main: time 2020-03-18_00:03:00 on domain   1:",
        "Writing wrfout_d01_2020-03-18_00:09:00 for domain        1:",
    ],
)
def test_a_line_with_a_time_that_another_line_broke_is_a_problem(line: str) -> None:
    """Its time would be missing from the sum."""
    start = LOG.index(f"Timing for {line}") + len(f"Timing for {line}")
    (problem,) = parse(f"{LOG[: start + 6]}[n1:42] UCX  WARN\n{LOG[start + 6 :]}").problems
    assert problem.startswith(f"a line with a time is broken: Timing for {line}")
