"""elbencho's parser on real results (corpus/INDEX.tsv names the origin of each file) and on damaged ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.outputs import only, reader
from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.elbencho import WORKLOADS
from workloads.cases import case_of
from workloads.damage import DISGUISES, NOISE, cuts, damaged, made_up

READ, WRITE = WORKLOADS
MEBIBYTE = 1 << 20

TEXT = """\
OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
SYNC      Elapsed ms       :          0          0
---

MKDIRS    Elapsed ms       :          1          2
          Dirs/s           :       1574       5547
          Dirs total       :          1          4
---

WRITE     Elapsed ms       :      84135     110109
          IOPS             :       3627       2788
          Throughput MiB/s :       3628       2789
          Total MiB        :     305224     306992
          IO lat us        : [ min=402 avg=588 max=4958 ]
---

RMFILES   Elapsed ms       :       1874       1951
          Files/s          :        536        537
          Files total      :          9         10
---
"""

SLOW = """\
OPERATION RESULT TYPE        FIRST DONE  LAST DONE
========= ================   ==========  =========
READ      Elapsed ms       :       2500       2750
          Files/s          :          0          5
          IOPS             :         89         93
          Throughput MiB/s :          5          5
          Total MiB        :         14         16
          Files total      :          1         16
---
"""

CSV = """\
ISO date,label,operation,time ms [first],time ms [last],entries/s [first],entries/s [last],\
IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],IO lat us [avg],IO lat us [max],new column,command
2022-03-09T10:43:22-0800,,SYNC,0,0,,,,,,,,,,"/bin/elbencho" "--write" "/vast"
2022-03-09T10:43:22-0800,,MKDIRS,1,2,1574,5547,,,,,,,,"/bin/elbencho" "--write" "/vast"
2022-03-09T10:45:12-0800,,WRITE,84135,110109,,,3627,2788,3628,2789,588,4958,,"/bin/elbencho" "--write" "/vast"
2022-03-09T10:45:12-0800,,RMFILES,1874,1951,536,537,,,,,,,,"/bin/elbencho" "--write" "/vast"
"""

JSON = """\
{"phase_type":"MKDIRS","config":{"threads":"1"},"first_done":{"elapsed_time_ms":"1","entries\\/s":"1574"},\
"last_done":{"elapsed_time_ms":"2","entries\\/s":"5547"}}
{"phase_type":"WRITE","phase_id":"7","first_done":{"elapsed_time_ms":"84135","iops":"3627",\
"bytes\\/s":"3804233728","cpu%":"3"},"last_done":{"elapsed_time_ms":"110109","iops":"2788",\
"bytes\\/s":"2924478464","latency":{"IO":{"min_us":"402","avg_us":"588","max_us":"4958"}}}}
{"phase_type":"RMFILES","first_done":{"elapsed_time_ms":"1874","entries\\/s":"536"},\
"last_done":{"elapsed_time_ms":"1951","entries\\/s":"537"}}
"""


parse = reader(WRITE)


def both(parsed: Parsed, fom: str, phase: str = "WRITE", **at: int) -> tuple[float, float]:
    return only(parsed, f"{fom}_first", phase=phase, **at), only(parsed, fom, phase=phase, **at)


HUMAN = """\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
SYNC        Elapsed time     :         0ms         0ms
---
WRITE       Elapsed time     :   1m24.135s   2h3m4s
            IOPS             :        3627        2788
            Throughput MiB/s :        3628        2789
            Total MiB        :      305224      306992
            IO latency       : [ min=402us avg=1.25ms max=2.50s ]
            IO lat % us      : [ 1%<=215 50%<=512 75%<=609 99%<=1024 ]
---
"""


def test_times_with_units_are_read() -> None:
    parsed = parse(HUMAN)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert only(parsed, "time_first", phase="WRITE") == 84135
    assert only(parsed, "time", phase="WRITE") == 1000 * (2 * 3600 + 3 * 60 + 4)
    assert only(parsed, "latency", phase="WRITE") == 1250
    assert only(parsed, "latency_max", phase="WRITE") == 2.5e6
    assert only(parsed, "bandwidth", phase="WRITE") == 2789


def test_decimals_that_elbencho_cuts_off_come_from_total_and_time() -> None:
    parsed = parse(SLOW)
    assert only(parsed, "bandwidth", phase="READ") == pytest.approx(16 / 2.75)  # printed as 5
    assert only(parsed, "bandwidth_first", phase="READ") == pytest.approx(14 / 2.5)
    assert only(parsed, "entries", phase="READ") == pytest.approx(16 / 2.75)
    assert only(parsed, "entries_first", phase="READ") == pytest.approx(1 / 2.5)  # printed as 0


def test_a_total_that_contradicts_the_rate_is_not_taken() -> None:
    parsed = parse(
        SLOW.replace("Total MiB        :         14         16", "Total MiB        :         14         99")
    )
    assert only(parsed, "bandwidth", phase="READ") == 5


def test_a_time_that_is_none_is_a_problem() -> None:
    parsed = parse(HUMAN.replace("2h3m4s", "2h3m4"))
    assert [one for one in parsed.measurements if one.fom == "time"] == []
    assert "time at phase WRITE is nan, which is no measurement" in parsed.problems


# Real output


@pytest.mark.parametrize(
    ("name", "bandwidth", "iops", "time"),
    [
        ("01-resfile-write-stonewall-01threads.out", (3627, 2788), (3627, 2788), (84135, 110109)),
        ("02-csvfile-01threads.csv", (3627, 2788), (3627, 2788), (84135, 110109)),
        ("06-iops-direct.out", (380, 383), (97530, 98300), (45247, 45252)),
        ("07-perlmutter.csv", (2611, 2630), (2611, 2630), (45281, 45285)),
    ],
)
def test_both_columns_of_a_phase_are_read(
    corpus: Path, name: str, bandwidth: tuple[int, int], iops: tuple[int, int], time: tuple[int, int]
) -> None:
    parsed = parse((corpus / "elbencho" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert both(parsed, "bandwidth") == bandwidth
    assert both(parsed, "iops") == iops
    assert both(parsed, "time") == time


def test_text_and_csv_of_a_run_say_the_same(corpus: Path) -> None:
    text = parse((corpus / "elbencho/01-resfile-write-stonewall-01threads.out").read_text())
    csv = parse((corpus / "elbencho/02-csvfile-01threads.csv").read_text())
    without_latencies = [one for one in csv.measurements if "latency" not in one.fom]
    assert {(one.fom, str(one.at), one.value) for one in text.measurements} == {
        (one.fom, str(one.at), one.value) for one in without_latencies
    }


def test_the_master_is_distinguished_from_its_services(corpus: Path) -> None:
    parsed = parse((corpus / "elbencho/04-slurm-with-errors.out").read_text())
    assert (parsed.is_complete, parsed.problems, len(parsed.measurements)) == (True, (), 7 * 10 - 8)
    assert [one.partition(":")[0] for one in parsed.left_out] == [
        "time_first is left out at phase MKDIRS at run 1 and 6 further places",
        "time is left out at phase MKDIRS at run 1",
    ]
    assert [only(parsed, "bandwidth", phase="WRITE", run=run) for run in (1, 2, 3, 4)] == [
        2788,
        4195,
        4446,
        4947,
    ]


def test_tables_mixed_line_by_line_are_refused(corpus: Path) -> None:
    parsed = parse((corpus / "elbencho/05-coribb-slurm-errors.out").read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert any("mixed line by line" in problem for problem in parsed.problems)
    assert any("File delete failed" in problem for problem in parsed.problems)


@pytest.mark.parametrize(
    ("name", "n_runs", "files", "bandwidth"),
    [
        ("08-nersc-storage_sweep-losf.txt", 10, (53679, 53757), (52, 52)),
        ("09-nersc-storage_sweep-session-overall.txt", 93, (54247, 54216), (52, 52)),
    ],
)
def test_the_runs_of_a_sweep_are_distinguished(
    corpus: Path, name: str, n_runs: int, files: tuple[int, int], bandwidth: tuple[int, int]
) -> None:
    parsed = parse((corpus / "elbencho" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {one.at["run"] for one in parsed.measurements} == set(range(1, n_runs + 1))
    assert both(parsed, "entries", run=1) == files
    assert tuple(map(int, both(parsed, "bandwidth", run=1))) == bandwidth


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (
            "03-livecsv.csv",
            "this is a --livecsv of samples while elbencho ran, not a file of results",
        ),
        ("10-million-file-dryrun.txt", "this is a dry run, which measures nothing"),
    ],
)
def test_what_is_no_result_is_refused(corpus: Path, name: str, problem: str) -> None:
    parsed = parse((corpus / "elbencho" / name).read_text())
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert problem in parsed.problems


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert len(list((corpus / "elbencho").iterdir())) == 10


def test_results_cut_anywhere_are_complete_only_between_runs(corpus: Path) -> None:
    for path in sorted((corpus / "elbencho").iterdir()):
        text = path.read_text()
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = WRITE.parse(lines)
                runs = {one.at.get("run", 1) for one in parsed.measurements}
                writes = [
                    one for one in parsed.measurements if one.at["phase"] == "WRITE" and one.fom == "time"
                ]
                assert not parsed.is_complete or len(writes) == len(runs) >= 1
                assert all(value < 100 and str(int(value)) in cut for value in made_up(parsed, cut))


# Forms and damage


@pytest.mark.parametrize("text", [TEXT, CSV, JSON], ids=["text", "csv", "json"])
def test_all_forms_say_the_same(text: str) -> None:
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert {(one.fom, one.at["phase"]): one.value for one in parsed.measurements} == {
        ("time_first", "MKDIRS"): 1,
        ("time", "MKDIRS"): 2,
        ("entries_first", "MKDIRS"): 1574,
        ("entries", "MKDIRS"): 5547,
        ("time_first", "WRITE"): 84135,
        ("time", "WRITE"): 110109,
        ("iops_first", "WRITE"): 3627,
        ("iops", "WRITE"): 2788,
        ("bandwidth_first", "WRITE"): 3628,
        ("bandwidth", "WRITE"): 2789,
        ("latency", "WRITE"): 588,
        ("latency_max", "WRITE"): 4958,
        ("time_first", "RMFILES"): 1874,
        ("time", "RMFILES"): 1951,
        ("entries_first", "RMFILES"): 536,
        ("entries", "RMFILES"): 537,
    }


def test_the_readers_of_a_mix_have_a_phase_of_their_own() -> None:
    mixed = TEXT.replace("WRITE  ", "RWMIX30").replace(
        "          IOPS             :       3627       2788\n",
        "          IOPS write       :       3627       2788\n"
        "          IOPS read        :       1500       1400\n",
    )
    parsed = parse(mixed + TEXT)
    assert only(parsed, "iops", phase="RWMIX30", run=1) == 2788
    assert only(parsed, "iops", phase="RWMIX30 read", run=1) == 1400


def test_a_phase_that_was_not_measured_is_missed() -> None:
    parsed = READ.parse(io.StringIO(TEXT))
    assert (parsed.is_complete, parsed.problems) == (False, ("the output holds no results of phase READ",))


def test_a_case_expects_the_phases_of_its_command() -> None:
    parsed = WRITE.expecting(case_of(WRITE)).parse(io.StringIO(TEXT))
    assert parsed.problems == ("the output holds no results of phase RMDIRS",)


def test_a_second_run_that_stops_early_keeps_the_whole_from_being_complete() -> None:
    parsed = parse(TEXT + TEXT[: TEXT.index("RMFILES")])
    assert not parsed.is_complete
    assert parsed.problems == ("the last run stops where others go on to their next phase",)


def test_repeated_phases_are_another_run() -> None:
    parsed = parse(TEXT + TEXT[TEXT.index("SYNC") :])
    assert [only(parsed, "bandwidth", phase="WRITE", run=run) for run in (1, 2)] == [2789, 2789]


def test_a_phase_cut_short_is_left_out() -> None:
    parsed = parse(TEXT[: TEXT.index("          Total MiB")])
    assert not parsed.is_complete
    assert {one.at["phase"] for one in parsed.measurements} == {"MKDIRS"}


def test_a_row_of_csv_cut_short_is_left_out() -> None:
    cut = CSV[: CSV.index(",588,4958")]
    assert not parse(cut).is_complete
    assert not WRITE.parse(cut.splitlines()).is_complete


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (TEXT[: TEXT.index("          Files total")], "the results of phase RMFILES are cut short"),
        (CSV + CSV.splitlines()[2][:60] + "\n", "1 row of CSV is broken"),
        (CSV + CSV.splitlines()[2][:60], "the last line is cut short"),
        (JSON + JSON[:80] + "\n", "a line of JSON is broken"),
        (JSON + JSON[:80], "the last line is cut short"),
    ],
)
def test_a_torn_end_after_whole_results_keeps_them_from_being_complete(text: str, problem: str) -> None:
    parsed = parse(text)
    assert not parsed.is_complete
    assert problem in parsed.problems
    assert only(parsed, "bandwidth", phase="WRITE") == 2789


def test_a_last_line_without_its_end_is_whole_where_it_shows() -> None:
    assert parse(TEXT.rstrip("\n")) == parse(TEXT)
    assert parse(CSV.rstrip("\n")) == parse(CSV)


def test_an_error_is_a_problem() -> None:
    parsed = parse(TEXT + "ERROR: File write failed. Path: /a; SysErr: No space left on device\n")
    assert parsed.problems == (
        "elbencho printed: ERROR: File write failed. Path: /a; SysErr: No space left on device",
    )


@pytest.mark.parametrize("text", [TEXT, CSV, JSON], ids=["text", "csv", "json"])
@pytest.mark.parametrize("noise", [one for one in NOISE if not one.startswith("---")])
def test_noise_between_lines_changes_nothing(text: str, noise: str) -> None:
    noisy = "".join(line + noise for line in text.splitlines(keepends=True))
    assert parse(noise + noisy) == parse(text)


@pytest.mark.parametrize("text", [TEXT, CSV, JSON], ids=["text", "csv", "json"])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_encodings_change_nothing(text: str, disguise: Callable[[str], str]) -> None:
    assert parse(disguise(text)) == parse(text)


@given(st.data())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = data.draw(damaged(data.draw(st.sampled_from([TEXT, CSV, JSON]))))
    assert made_up(parse(text), text, [1, MEBIBYTE]) == []


# Commands and faults


def test_a_write_makes_writes_and_deletes_its_files() -> None:
    (stage,) = WRITE.stages(case_of(WRITE, Layout(threads=16), block=512 << 10))
    assert " ".join(stage.argv) == (
        "elbencho --mkdirs --write --delfiles --deldirs --threads 16 --files 1 --size 1073741824 "
        "--block 524288 --lat --nolive --direct {storage}"
    )
    assert not stage.is_mpi


def test_a_read_writes_its_files_first() -> None:
    prepare, read = READ.stages(case_of(READ, Layout(), direct=False, random=True, iodepth=8))
    assert prepare.argv[:4] == ("elbencho", "--mkdirs", "--write", "--sync")
    assert " ".join(read.argv) == (
        "elbencho --read --delfiles --deldirs --threads 1 --files 1 --size 1073741824 "
        "--block 1048576 --lat --nolive --rand --iodepth 8 {storage}"
    )


def test_several_nodes_have_a_service_each_and_a_master_for_each_stage() -> None:
    prepare, read = READ.stages(case_of(READ, Layout(nodes=3, ranks=3, ranks_per_node=1, threads=2), port=99))
    options = "--threads 2 --files 1 --size 1073741824 --block 1048576 --lat --nolive --direct {storage}"
    for stage, name, phases in (
        (prepare, "prepare", "--mkdirs --write --sync"),
        (read, "run", "--read --delfiles --deldirs"),
    ):
        assert " ".join(stage.argv) == (
            f"sh {{work}}/{name}/services.sh 3 99 {{address0}} elbencho --service --foreground --port 99 -- "
            f"elbencho --hostsfile {{work}}/{name}/hosts --port 99 {phases} {options} --"
        )
        assert (stage.is_mpi, stage.layout) == (True, Layout(nodes=3, ranks=3, threads=2))


def test_one_node_has_no_fault() -> None:
    assert list(READ.faults(case_of(READ, Layout(threads=48)))) == []


@pytest.mark.parametrize(
    ("layout", "parameters", "cure"),
    [
        (Layout(), {"block": 8192, "size": 4096}, "set size: 8192"),
        (Layout(), {"block": 1000}, "set block: 4096 or direct: false"),
    ],
)
def test_faults_are_found_before_the_run_and_name_the_cure(
    layout: Layout, parameters: dict[str, int], cure: str
) -> None:
    (fault,) = READ.faults(case_of(READ, layout, **parameters))
    assert cure in fault


@pytest.mark.parametrize("begin", ["WRITE", "---\n\nWRITE", "MKDIRS", "SYNC"])
def test_a_log_that_lost_its_head_and_perhaps_phases_is_not_complete(begin: str) -> None:
    parsed = parse(TEXT[TEXT.index(begin) :])
    assert not parsed.is_complete
    assert "the head of elbencho's table is missing, and perhaps phases below it" in parsed.problems


def test_a_total_without_the_head_of_its_phase_is_told() -> None:
    parsed = parse(TEXT[TEXT.index("          Dirs total") :])
    assert "a row of elbencho is broken: Dirs total : 1 4" in parsed.problems
