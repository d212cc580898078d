"""JSON and text of fio in all of their forms, whole and damaged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.damage import DISGUISES, NOISE, damaged, made_up
from workloads.fio_examples import JSON, TERSE, TERSE_5, TEXT, figures, parse

UNITS = [1, 1000, 1024, 1e-3, 1024**2, 1e6, 1000 / 1024, 1e6 / 1024]


OLD_JSON = JSON.replace("clat_ns", "clat").replace("7881000.5", "7881.0005").replace("fio-3.33", "fio-2.16")


@pytest.mark.parametrize("text", [JSON, OLD_JSON], ids=["3", "2"])
def test_both_versions_of_json_say_the_same(text: str) -> None:
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    read = figures(parsed)
    assert (read["bandwidth"], read["iops"]) == (30648, 7662.030309)
    assert read["latency"] == pytest.approx(7881.0005)
    assert {one.at["operation"] for one in parsed.measurements} == {"read"}


def test_the_unused_percentiles_of_version_2_are_no_doubled_names() -> None:
    unused = ",\n  ".join(['"99.000000" : 35913', *3 * ['"0.00" : 0']])
    text = OLD_JSON.replace('"99.000000" : 35913728', unused)
    parsed = parse(text)
    assert text != OLD_JSON
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed)["latency_p99"] == 35913


def test_a_latency_that_was_not_measured_is_no_figure() -> None:
    text = JSON.replace("7881000.5", "0.000000").replace('"50.000000" : 6258688', '"50.000000" : 0')
    parsed = parse(text.replace('"99.000000" : 35913728', '"99.000000" : 0'))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed).keys() == {"iops", "bandwidth"}


def test_a_latency_that_was_not_measured_is_no_figure_of_terse_output() -> None:
    fields = TERSE.split(";")
    fields[5 + 10] = "0.000000"  # the mean of the completion latencies of reads (--gtod_reduce)
    assert figures(parse(TERSE)).keys() > {"iops", "bandwidth", "latency"}
    assert figures(parse(";".join(fields))).keys() == {"iops", "bandwidth"}


@pytest.mark.parametrize(
    ("rates", "kib_per_s"),
    [
        ("BW=2088Mibit/s (2189Mbit/s)(261MiB/1000msec)", 2088 * 1024 / 8),
        ("BW=2.04Gibit/s (2.19Gbit/s)(261MiB/1000msec)", 2.04 * 1024**2 / 8),
        ("BW=2189Mbit/s (2088Mibit/s)(274MB/1000msec)", 2189e6 / 1024 / 8),
    ],
)
def test_rates_in_bits_are_converted(rates: str, kib_per_s: float) -> None:
    line = next(line for line in TEXT.splitlines() if "BW=" in line)
    text = TEXT.replace(line, f"{line[: line.index('BW=')]}{rates}")
    parsed = parse(text)
    assert (parsed.is_complete, parsed.problems) == (True, ())
    assert figures(parsed)["bandwidth"] == pytest.approx(kib_per_s)


def test_the_latencies_of_both_operations_together_are_not_those_of_one() -> None:
    """With unified_rw_reporting=both, fio prints no rates of both together (stat.c)."""
    lines = TEXT.splitlines(keepends=True)
    begin = next(number for number, line in enumerate(lines) if "BW=" in line)
    end = next(number for number, line in enumerate(lines) if number > begin and "lat (nsec)   :" in line)
    block = "".join(lines[begin:end])
    mixed = re.sub("read: IOPS=.*", "mixed: IOPS=0, BW=0 (0)(0B/1000msec)", block).replace("43916.99", "1.00")
    status = next(line for line in lines if "READ: bw" in line)
    text = TEXT.replace(block, block + mixed).replace(status, status + status.replace(" READ", "MIXED"))
    parsed = parse(text)
    assert "mixed: IOPS=0" in text
    assert parsed.measurements == parse(TEXT).measurements
    assert (parsed.is_complete, parsed.problems) == (True, ())


def test_two_latencies_of_one_operation_are_lines_of_two() -> None:
    """A line of rates between them is lost."""
    latency = next(line for line in TEXT.splitlines(keepends=True) if " clat (" in line)
    parsed = parse(TEXT.replace(latency, latency + latency.replace("43916.99", "1.00")))
    assert len(parsed.problems) == 1
    assert "mixed" in parsed.problems[0]


def test_the_status_of_a_snapshot_is_not_that_of_the_result() -> None:
    """With --status-interval, fio prints jobs and status again and again."""
    snapshot = TEXT[TEXT.index("one: (groupid") : TEXT.index("Disk stats")]
    text = TEXT.replace(snapshot, snapshot + snapshot)
    assert parse(text).is_complete
    assert not parse(text[: text.rindex("Run status")]).is_complete


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
    assert parsed.problems == ("fio printed 1 value that is no number",)


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


@given(st.data())
@settings(max_examples=200)
def test_damage_never_crashes_and_never_makes_up_a_number(data: st.DataObject) -> None:
    text = data.draw(damaged(data.draw(st.sampled_from([JSON, OLD_JSON, TEXT, TERSE, TERSE_5]))))
    assert made_up(parse(text), text, UNITS) == []


def test_many_jobs_and_long_lines_take_no_more_than_their_share_of_time() -> None:
    job = next(line for line in TEXT.splitlines(keepends=True) if "(groupid=" in line)
    jobs = "".join(re.sub(r"pid=[0-9]+", f"pid={pid}", job) for pid in range(20_000))
    begun = time.process_time()
    assert not parse(TEXT + jobs).is_complete
    assert not parse(3_000 * job.replace("\n", " ") + "\n").is_complete
    assert time.process_time() - begun < 5


def with_percentiles(*rows: str) -> str:
    before, _, rest = TEXT.partition("     |  1.00th=")
    return before + "".join(f"     | {row}\n" for row in rows) + rest.partition("1647]\n")[2]


def test_percentiles_of_the_users_own_list_are_read() -> None:
    """As fio 3.33 prints --percentile_list=50:99.9:99.999."""
    parsed = parse(with_percentiles("50.000th=[   69], 99.900th=[10028], 99.999th=[27919]"))
    assert (parsed.is_complete, parsed.problems) == (True, ())
    found = figures(parsed)
    assert (found["latency_p50"], found["latency_p999"]) == (69, 10028)
    assert "latency_p99" not in found


def test_a_lost_row_of_fios_own_percentiles_is_found() -> None:
    rows = [
        " 1.00th=[    6],  5.00th=[    7], 10.00th=[    8], 20.00th=[    9],",
        "30.00th=[   10], 40.00th=[   11], 50.00th=[   36], 60.00th=[   40],",
        "70.00th=[   41], 80.00th=[   42], 90.00th=[   43], 95.00th=[   69],",
        "99.00th=[  245], 99.50th=[  250], 99.90th=[ 1647], 99.95th=[ 1700],",
        "99.99th=[ 1800]",
    ]
    assert parse(with_percentiles(*rows)).is_complete
    for lost in rows:
        parsed = parse(with_percentiles(*(row for row in rows if row is not lost)))
        assert not parsed.is_complete
        assert parsed.problems == ("fio's text lacks lines of percentiles",)
