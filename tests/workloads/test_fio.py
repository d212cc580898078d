"""fio's parser on real output (corpus/INDEX.tsv names the origin of each file) and on damaged output."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.core.case import Layout
from tare.core.workload import Parsed
from tare.plugins.workloads.fio import WORKLOADS
from workloads.cases import case_of
from workloads.damage import DISGUISES, NOISE, cuts, damaged, made_up

FIO = {workload.pattern: workload for workload in WORKLOADS}
UNITS = [1, 1000, 1024, 1e-3, 1024**2, 1e6, 1000 / 1024, 1e6 / 1024]

JSON = """\
fio: this platform does not support process shared mutexes, forcing use of threads.
{
  "fio version" : "fio-3.33",
  "global options" : {
    "bs" : "4k",
    "bs" : "4k"
  },
  "jobs" : [
    {
      "jobname" : "one",
      "groupid" : 0,
      "error" : 0,
      "read" : {
        "io_bytes" : 1511751680,
        "bw" : 30648,
        "iops" : 7662.030309,
        "clat_ns" : {
          "mean" : 7881000.5,
          "percentile" : {
            "50.000000" : 6258688,
            "99.000000" : 35913728
          }
        }
      },
      "write" : {
        "io_bytes" : 0,
        "bw" : 0,
        "iops" : 0.000000
      }
    }
  ],
  "disk_util" : [
    {
      "name" : "vda",
      "util" : 52.490975
    }
  ]
}
"""

OLD_JSON = JSON.replace("clat_ns", "clat").replace("7881000.5", "7881.0005").replace("fio-3.33", "fio-2.16")

TEXT = """\
one: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4
fio-3.33
Starting 2 processes

one: (groupid=0, jobs=2): err= 0: pid=20565: Sat Nov 21 22:27:31 2026
  read: IOPS=66.9k, BW=261MiB/s (274MB/s)(262MiB/1001msec)
    slat (nsec): min=638, max=803900, avg=22838.36, stdev=25426.69
    clat (nsec): min=814, max=3536.2k, avg=43916.99, stdev=95821.38
     lat (usec): min=5, max=3560, avg=66.76, stdev=100.91
    clat percentiles (usec):
     |  1.00th=[    6], 50.00th=[   36], 95.00th=[   69], 99.00th=[  245],
     | 99.90th=[ 1647]
   bw (  KiB/s): min=260456, max=260456, per=97.29%, avg=260456.00, stdev= 0.00, samples=2
  lat (nsec)   : 1000=0.01%
  cpu          : usr=5.55%, sys=25.55%, ctx=74658, majf=0, minf=27

Run status group 0 (all jobs):
   READ: bw=261MiB/s (274MB/s), 261MiB/s-261MiB/s (274MB/s-274MB/s), io=262MiB (274MB), run=1001-1001msec

Disk stats (read/write):
  vda: ios=59677/29544, merge=0/0, ticks=921/6511, in_queue=7432, util=73.39%
"""


_ASKED = re.compile(r'"rw" : "(\w+)"|: \(g=0\): rw=(\w+)')
_OF_MIXES = {"rw": "read", "readwrite": "read", "randrw": "randread"}


def parse(text: str) -> Parsed:
    """Return what the workload reads whose pattern the log is of."""
    match = _ASKED.search(text)
    pattern = "read" if match is None else match[1] or match[2]
    return FIO.get(_OF_MIXES.get(pattern, pattern), FIO["read"]).parse(io.StringIO(text))


def figures(parsed: Parsed, operation: str = "read", **at: int | str) -> dict[str, float]:
    at |= {"operation": operation}
    return {one.fom: one.value for one in parsed.measurements if at.items() <= one.at.items()}


def figure(parsed: Parsed, operation: str, **at: int | str) -> tuple[float, float]:
    read = figures(parsed, operation, **at)
    return read["iops"], read["bandwidth"]


@pytest.mark.parametrize("text", [TEXT, JSON], ids=["text", "json"])
def test_a_log_of_another_pattern_contradicts_its_workload(text: str) -> None:
    """Small blocks at random are no sequential reading."""
    asked = text.replace('"jobname" : "one",', '"jobname" : "one", "job options" : {"rw" : "randread"},')
    assert FIO["randread"].parse(io.StringIO(asked)).problems == ()
    for pattern in ("read", "write", "randwrite"):
        reported = FIO[pattern].parse(io.StringIO(asked)).problems
        assert reported == (f"fio.{pattern} is of rw={pattern}, and fio printed rw=randread",)


def test_a_mix_is_of_the_workloads_that_are_in_it_and_keeps_its_pattern(corpus: Path) -> None:
    text = (corpus / "fio/12-text-ceph-rw-4k.out").read_text()
    for pattern, n_problems in {"read": 0, "write": 0, "randread": 1, "randwrite": 1}.items():
        parsed = FIO[pattern].parse(io.StringIO(text))
        assert (len(parsed.problems), parsed.printed["rw"]) == (n_problems, ("rw",))


@pytest.mark.parametrize("text", [TEXT, JSON], ids=["text", "json"])
def test_the_figures_of_each_version_say_which_one_it_is(text: str) -> None:
    (version,) = parse(text).printed["program_version"]
    parsed = parse(text + text.replace(str(version), "3.1"))
    assert parsed.printed["program_version"] == (version, "3.1")
    assert {one.at["program_version"] for one in parsed.measurements} == {version, "3.1"}
    assert not any("run" in one.at for one in parsed.measurements)


# Real output


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "02-json-3.16-superbench-rw.log",
            {"read": (85138.890741, 340570), "write": (85066.128925, 340283)},
        ),
        ("03-json-vc-write.json", {"write": (734.70852, 188085)}),
        ("04-json-vc-readwrite.json", {"read": (569.699415, 145843), "write": (256.606819, 65691)}),
        ("06-json-vc-example.txt", {"write": (2167.231601, 8668)}),
        ("11-text-ceph-randread-1M.out", {"read": (133, 136198)}),
        ("12-text-ceph-rw-4k.out", {"read": (136, 557417 / 1024), "write": (136, 558985 / 1024)}),
    ],
)
def test_a_job_is_read(corpus: Path, name: str, expected: dict[str, tuple[float, float]]) -> None:
    parsed = parse((corpus / "fio" / name).read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    operations = {str(one.at["operation"]) for one in parsed.measurements}
    assert {operation: figure(parsed, operation) for operation in operations} == expected


def test_latencies_are_in_microseconds(corpus: Path) -> None:
    def latency(name: str, operation: str) -> float:
        return figures(parse((corpus / "fio" / name).read_text()), operation)["latency"]

    assert latency("03-json-vc-write.json", "write") == pytest.approx(87015.125958)
    assert latency("11-text-ceph-randread-1M.out", "read") == pytest.approx(240350)
    assert latency("12-text-ceph-rw-4k.out", "write") == pytest.approx(120500)


def test_an_interrupted_run_is_not_complete(corpus: Path) -> None:
    parsed = parse((corpus / "fio/01-json-3.33-terminated-on-signal-prefix.json").read_text())
    assert (parsed.is_complete, parsed.problems) == (
        False,
        ("fio was interrupted: fio: terminating on signal 2",),
    )
    assert figure(parsed, "read") == (7662.030309, 30648)
    assert figure(parsed, "write") == (39338.066766, 157352)


def test_a_job_with_an_error_is_a_problem(corpus: Path) -> None:
    parsed = parse((corpus / "fio/05-json-vc-with-error.txt").read_text())
    assert figure(parsed, "read") == (49501.318267, 197509)
    assert "job fiotest of fio ended with error 42" in parsed.problems
    assert sum("err=4" in problem for problem in parsed.problems) == 2


def test_jobs_of_clients_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "fio/09-json-pbench-fio0-client.txt").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figure(parsed, "read", job="job-/tmp/fio#1", host="perf36") == (7951.016328, 31812)
    assert figure(parsed, "read", job="All clients") == (93198.150858, 372875)
    assert len({(one.at.get("host"), one.at["job"]) for one in parsed.measurements}) == 11


def test_jobs_of_one_name_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "fio/10-json-pbench-perf-fio-0.txt").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figure(parsed, "read", job="job-/dev/nvme8n1#1") == (96.77941, 387)
    assert figure(parsed, "write", job="job-/dev/nvme8n1#1") == (96.729827, 386)
    assert len({one.at["job"] for one in parsed.measurements}) == 8


def test_groups_of_jobs_in_text_are_distinguished(corpus: Path) -> None:
    parsed = parse((corpus / "fio/13-text-ceph-fourjobs-write-1M.out").read_text())
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figure(parsed, "write", job="ceph-fuse-replicated") == (16, 16600)
    assert figure(parsed, "write", job="ceph-fuse-erasure_1") == (26, 26781)
    assert len({one.at["job"] for one in parsed.measurements}) == 6


def test_every_file_has_its_expectation_above(corpus: Path) -> None:
    assert len(list((corpus / "fio").iterdir())) == 11


def test_output_cut_anywhere_is_complete_only_with_all_its_figures(corpus: Path) -> None:
    for path in sorted((corpus / "fio").iterdir()):
        text = path.read_text()
        whole = len(parse(text).measurements)
        for cut in cuts(text):
            for lines in (io.StringIO(cut), cut.splitlines()):
                parsed = FIO["read"].parse(lines)
                assert not parsed.is_complete or len(parsed.measurements) == whole


# Forms and damage


@pytest.mark.parametrize("text", [JSON, OLD_JSON], ids=["3", "2"])
def test_both_versions_of_json_say_the_same(text: str) -> None:
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    read = figures(parsed)
    assert (read["bandwidth"], read["iops"]) == (30648, 7662.030309)
    assert read["latency"] == pytest.approx(7881.0005)
    assert {one.at["operation"] for one in parsed.measurements} == {"read"}


def test_text_of_version_3_is_read() -> None:
    parsed = parse(TEXT)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed) == {
        "iops": 66900,
        "bandwidth": 261 * 1024,
        "latency": 43916.99 * 1e-3,
        "latency_p50": 36,
        "latency_p95": 69,
        "latency_p99": 245,
        "latency_p999": 1647,
    }


def test_of_text_and_json_together_json_counts() -> None:
    assert parse(TEXT + JSON).measurements == parse(JSON).measurements


def test_json_on_one_line_is_read() -> None:
    line = " ".join(line.strip() for line in JSON.splitlines()[1:]) + "\n"
    assert parse(line) == parse(JSON)


def test_a_last_brace_without_an_end_of_line_is_whole() -> None:
    assert parse(JSON.rstrip("\n")) == parse(JSON)


def test_two_documents_are_two_runs() -> None:
    parsed = parse(JSON + JSON)
    assert parsed.is_complete
    assert {one.at["run"] for one in parsed.measurements} == {1, 2}


def test_a_document_cut_short_keeps_the_next_one_from_being_all() -> None:
    parsed = parse(JSON[: JSON.index('"disk_util"')] + "\n" + JSON)
    assert parsed.problems == ("a JSON document of fio is cut short",)
    assert not parsed.is_complete
    assert figures(parsed)["bandwidth"] == 30648


@pytest.mark.parametrize("broken", ["nan", "-nan", "inf"])
def test_what_is_not_a_number_is_a_problem(broken: str) -> None:
    parsed = parse(JSON.replace(": 7881000.5", f": {broken}"))
    assert "latency" not in figures(parsed)
    assert parsed.problems == ("fio printed 1 values that are no numbers",)


def test_text_without_its_closing_status_is_not_complete() -> None:
    parsed = parse(TEXT[: TEXT.index("   READ: ")])
    assert parsed.problems == ("fio's text lacks the closing status of its reads for group 0",)
    assert not parsed.is_complete


def test_data_that_differ_from_what_was_written_are_a_problem() -> None:
    parsed = parse("sha256: verify failed at file one.0.0 offset 4096, length 512\n" + JSON)
    assert parsed.problems[0].startswith("fio read back other data than it wrote: sha256: verify failed")


def test_an_error_in_text_is_a_problem() -> None:
    parsed = parse(TEXT.replace("err= 0: pid", "err= 5 (file:io_u.c:1747, error=Input/output error): pid"))
    assert parsed.problems == ("job one of fio ended with error 5",)


@pytest.mark.parametrize("text", [JSON, TEXT], ids=["json", "text"])
@pytest.mark.parametrize("noise", NOISE)
def test_noise_between_lines_changes_nothing(text: str, noise: str) -> None:
    noisy = "".join(line + noise for line in text.splitlines(keepends=True))
    assert parse(noise + noisy) == parse(text)


@pytest.mark.parametrize("text", [JSON, TEXT], ids=["json", "text"])
@pytest.mark.parametrize("disguise", DISGUISES)
def test_encodings_change_nothing(text: str, disguise: Callable[[str], str]) -> None:
    assert parse(disguise(text)) == parse(text)


@pytest.mark.parametrize("text", ["", "hello\n", "{\n}\n", '{"a": 1}\n', "fio-3.33\n"])
def test_other_output_holds_no_figures(text: str) -> None:
    parsed = parse(text)
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert "the output holds no figures of fio" in parsed.problems


PERCENTILES = (
    "1.000000%=10;5.000000%=12;10.000000%=13;20.000000%=15;30.000000%=17;40.000000%=19;50.000000%=21;60.000000%=24;"
    "70.000000%=27;80.000000%=30;90.000000%=34;95.000000%=39;99.000000%=183;99.500000%=236;99.900000%=411;"
    "99.950000%=481;99.990000%=1400;0%=0;0%=0;0%=0"
)
READ = (
    f"120808;120446;30111;1003;0;0;0.000000;0.000000;2;2636;26.274757;37.005671;{PERCENTILES};"
    "2;2636;26.323388;37.008541;114168;127440;49.968977%;120804.000000;9384.721200"
)
NOTHING = ";".join(["0"] * 12 + ["0%=0"] * 20 + ["0"] * 9)
REST = ";".join(["4.391218%"] * 12 + ["0.01%"] * 22 + ["vda;52517;26153;0;11;961;6523;7483;71.73%"])
TERSE = f"3;fio-3.33;one;0;0;{READ};{NOTHING};{REST}\n"
TERSE_5 = f"5;fio-3.33;one;0;0;{READ};2;1;2;3;4;5;{NOTHING};0;0;0;0;0;0;{NOTHING};0;0;0;0;0;0;{REST}\n"


def terse_figures(text: str) -> dict[str, float]:
    parsed = parse(text)
    assert {one.at["operation"] for one in parsed.measurements} <= {"read"}
    return {one.fom: one.value for one in parsed.measurements}


@pytest.mark.parametrize("row", [TERSE, f"4{TERSE[1:]}".replace(REST, f"{NOTHING};{REST}"), TERSE_5])
def test_terse_rows_are_read(row: str) -> None:
    text = f"fio: a word before\n{row}"
    assert (parse(text).is_complete, parse(text).problems) == (True, ())
    assert terse_figures(text) == {
        "bandwidth": 120446,
        "iops": 30111,
        "latency": 26.274757,
        "latency_p50": 21,
        "latency_p95": 39,
        "latency_p99": 183,
        "latency_p999": 411,
    }


def test_rows_of_several_terse_jobs_are_distinguished_and_their_expected_number_is_unknown() -> None:
    parsed = parse(TERSE + TERSE)
    assert [one.at["job"] for one in parsed.measurements if one.fom == "iops"] == ["one#1", "one#2"]
    assert not parsed.is_end_known


def test_a_terse_job_that_failed_is_a_problem() -> None:
    parsed = parse(TERSE.replace("one;0;0", "one;0;5"))
    assert parsed.problems == ("job one of fio ended with error 5",)


@pytest.mark.parametrize("count", range(0, 121, 7))
def test_a_terse_row_that_lacks_fields_is_not_complete(count: int) -> None:
    text = ";".join(TERSE.split(";")[:count])
    for end in ("", "\n"):
        parsed = parse(f"fio-3.33\n{text}{end}")
        assert (parsed.is_complete, parsed.measurements) == (False, ())


@pytest.mark.parametrize(("version", "cure"), [(2, "version 2"), (6, "version 6")])
def test_other_versions_of_terse_output_are_refused_with_the_cure(version: int, cure: str) -> None:
    row = f"{version}{TERSE[1:]}" if version > 2 else TERSE.replace("3;fio-3.33;", "2;")
    parsed = parse(row)
    assert (parsed.is_complete, parsed.measurements) == (False, ())
    assert cure in parsed.problems[0]
    assert "use --output-format=json" in parsed.problems[0]


@given(st.data())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = data.draw(damaged(data.draw(st.sampled_from([JSON, OLD_JSON, TEXT, TERSE, TERSE_5]))))
    assert made_up(parse(text), text, UNITS) == []


# Commands and faults


def test_sequential_jobs_move_large_blocks() -> None:
    (stage,) = FIO["read"].stages(case_of(FIO["read"], Layout(threads=16)))
    assert " ".join(stage.argv) == (
        "fio --name=read --rw=read --bs=1048576 --size=1073741824 --numjobs=16 --iodepth=8 --ioengine=libaio "
        "--direct=1 --runtime=30 --directory={storage} --time_based --group_reporting --unlink=1 "
        "--output-format=json"
    )
    assert not stage.is_mpi


def test_random_jobs_move_small_blocks() -> None:
    (stage,) = FIO["randwrite"].stages(case_of(FIO["randwrite"], Layout(), direct=False))
    assert "--rw=randwrite --bs=4096" in " ".join(stage.argv)
    assert "--direct=0" in stage.argv


def test_each_of_several_nodes_has_a_server_and_a_job_file() -> None:
    case = case_of(FIO["write"], Layout(nodes=2, ranks=8, ranks_per_node=4, threads=4), size=1 << 20)
    (stage,) = FIO["write"].stages(case)
    assert " ".join(stage.argv) == (
        "sh {work}/run/services.sh 2 8765 {address0} fio --server=ip:%a,8765 -- fio --output-format=json -- "
        "--client=ip:%a,8765 {work}/run/%r.fio"
    )
    assert (stage.is_mpi, stage.layout) == (True, Layout(nodes=2, ranks=2, threads=4))
    assert stage.env == {"STORAGE": "{storage}"}
    assert stage.files["run/1.fio"] == (
        "[write]\nrw=write\nbs=1048576\nsize=1048576\nnumjobs=4\niodepth=8\nioengine=libaio\ndirect=1\n"
        "runtime=30\ndirectory=${STORAGE}\ntime_based=1\ngroup_reporting=1\nunlink=1\n"
        "filename_format=$jobname.1.$jobnum\n"
    )


def clients(*names: str) -> str:
    jobs = (
        f'{{"jobname": "{name}", "hostname": "10.0.0.{number}", "read": {{"io_bytes": 1, "bw": {number}00}}}}'
        for number, name in enumerate(names, start=1)
    )
    return (
        '<n1> read: (g=0): rw=read\n{"fio version": "fio-3.33", "client_stats": [' + ", ".join(jobs) + "]}\n"
    )


def test_what_counts_on_several_nodes_is_the_sum_of_all_clients() -> None:
    asked = FIO["read"].expecting(case_of(FIO["read"]))
    parsed = asked.parse(io.StringIO(clients("read", "read", "All clients")))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    (sum_,) = parsed.measurements
    assert (sum_.fom, sum_.value, sum_.at) == ("bandwidth", 300.0, {"operation": "read"})
    whole = FIO["read"].parse(io.StringIO(clients("read", "read", "All clients")))
    assert len(whole.measurements) == 3, "without a case, each client is told apart"


@pytest.mark.parametrize("names", [("read", "All clients"), ("read", "read"), ("read",)])
def test_a_client_or_a_sum_that_is_missing_keeps_the_run_from_being_complete(names: tuple[str, ...]) -> None:
    asked = FIO["read"].expecting(case_of(FIO["read"]))
    parsed = asked.parse(io.StringIO(clients(*names)))
    assert not parsed.is_complete
    assert f"{len([one for one in names if one == 'read'])} of 2 nodes" in parsed.problems[0]


@pytest.mark.parametrize("pattern", FIO)
def test_one_node_has_no_fault(pattern: str) -> None:
    assert list(FIO[pattern].faults(case_of(FIO[pattern], Layout(threads=8)))) == []


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
    (fault,) = FIO["read"].faults(case_of(FIO["read"], layout, **parameters))
    assert cure in fault


def test_many_jobs_and_long_lines_take_no_more_than_their_share_of_time() -> None:
    job = next(line for line in TEXT.splitlines(keepends=True) if "(groupid=" in line)
    jobs = "".join(re.sub(r"pid=[0-9]+", f"pid={pid}", job) for pid in range(20_000))
    begun = time.process_time()
    assert not parse(TEXT + jobs).is_complete
    assert not parse(3_000 * job.replace("\n", " ") + "\n").is_complete
    assert time.process_time() - begun < 5
