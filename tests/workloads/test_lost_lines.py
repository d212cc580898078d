"""Logs that lost, doubled or moved a line are refused, with the reason: no figures are made of the rest."""

from __future__ import annotations

import re

import pytest

from support.outputs import parse
from workloads.collection import text_of


def lines_of(name: str) -> list[str]:
    return text_of(name).splitlines(keepends=True)


def refused(workload: str, lines: list[str]) -> str:
    parsed = parse(workload, "".join(lines))
    return "; ".join(parsed.problems) if parsed.problems else "" if parsed.is_complete else "not complete"


def position(lines: list[str], word: str, which: int = 0) -> int:
    return [number for number, line in enumerate(lines) if word in line][which]


WRF = "wrf/08-rsl.out.0000-acm40080.txt"


def test_an_output_of_wrf_is_not_counted_twice_and_not_missed() -> None:
    lines = lines_of(WRF)
    at = position(lines, "Timing for Writing", 3)
    assert "a file is written twice" in refused("wrf.conus-12km", [*lines[: at + 1], *lines[at:]])
    assert "lines of output are missing" in refused("wrf.conus-12km", [*lines[:at], *lines[at + 1 :]])


@pytest.mark.parametrize("word", ["Timing for processing restart", "Timing for processing lateral boundary"])
def test_input_of_wrf_that_stands_among_the_steps_is_refused(word: str) -> None:
    lines = lines_of("wrf/01-rsl.error.0000-12km-56rank.txt")
    moved = lines.pop(position(lines, word))
    lines.insert(position(lines, "Timing for main", 20), moved)
    assert "input that stands before the steps" in refused("wrf.conus-12km", lines)


def test_a_run_of_wrf_whose_head_stands_among_its_steps_is_refused() -> None:
    lines = lines_of(WRF)
    head, step = position(lines, "taskid: 0 "), position(lines, "Timing for main", 30)
    lines[head], lines[step] = lines[step], lines[head]
    assert "steps come before the head" in refused("wrf.conus-12km", lines)


def test_the_last_step_of_openfoam_has_a_time() -> None:
    lines = lines_of("openfoam/14-log.pimpleFoam-OF2x-corei7")
    del lines[position(lines, "ExecutionTime = ", -1)]
    assert "the time that the last step took is missing" in refused("openfoam.motorbike", lines)


def test_lines_lost_between_two_objects_of_fios_json_are_seen() -> None:
    lines = lines_of("fio/02-json-3.16-superbench-rw.log")
    at = position(lines, '"trim" : {')
    assert "twice" in refused("fio.read", [*lines[: at - 2], *lines[at + 3 :]])
    for word in ('"iops" : 8', '"io_bytes" : '):
        at = position(lines, word)
        assert "lacks lines of its figures" in refused("fio.read", [*lines[:at], *lines[at + 1 :]]), word


def test_a_percentile_that_fios_json_lost_is_seen() -> None:
    lines = lines_of("fio/03-json-vc-write.json")
    lines = lines[position(lines, "{") :]
    at = position(lines, '"50.000000" : 10')
    assert refused("fio.write", lines) == ""
    assert "lacks lines of its figures" in refused("fio.write", [*lines[:at], *lines[at + 1 :]])


def test_a_client_of_fio_without_its_host_is_refused() -> None:
    lines = lines_of("fio/09-json-pbench-fio0-client.txt")
    del lines[position(lines, '"hostname" : ', 3)]
    assert "lacks its host" in refused("fio.read", lines)


def test_results_of_fio_in_two_formats_are_those_of_one_run_or_refused() -> None:
    document = "".join(lines_of("fio/03-json-vc-write.json"))
    text = "".join(lines_of("fio/11-text-ceph-randread-1M.out"))
    for log in (f"{document}\n{text}", f"{text}\n{document}"):
        assert "fio's JSON and its text are of other runs" in refused("fio.write", [log])


def test_rows_of_elbencho_stand_in_their_phase_and_have_their_totals() -> None:
    lines = lines_of("elbencho/01-resfile-write-stonewall-01threads.out")
    one, other = position(lines, "Dirs/s"), position(lines, "Throughput")
    swapped = [*lines]
    swapped[one], swapped[other] = lines[other], lines[one]
    assert "mixed" in refused("elbencho.write", swapped)
    del lines[other]
    assert refused("elbencho.write", lines) == "lines are missing: rate or total of bandwidth of phase WRITE"


def test_a_row_of_elbenchos_csv_counts_once_wherever_it_stands() -> None:
    lines = lines_of("elbencho/02-csvfile-01threads.csv")
    row = next(line for line in lines if ",WRITE," in line)
    assert "twice" in refused("elbencho.write", [lines[0], row, *lines[1:]])


def test_a_size_or_percentile_is_there_once() -> None:
    lines = lines_of("imb/09-biband-ompi4-multi-groups.out")
    at = position(lines, "            0         1000")
    assert "a size is twice" in refused("imb.biband", [*lines[: at + 1], *lines[at:]])
    lines = lines_of("sockperf/02-virtualclient-pingpong-full-log.txt")
    at = position(lines, "percentile 25.000")
    assert "a percentile is there twice" in refused("sockperf.ping_pong", [*lines[: at + 1], *lines[at:]])


def test_input_of_a_cold_start_of_wrf_stands_before_its_steps() -> None:
    lines = lines_of(WRF)
    moved = lines.pop(position(lines, "Timing for processing wrfinput"))
    lines.insert(position(lines, "Timing for main", 20), moved)
    assert "input that stands before the steps" in refused("wrf.conus-2.5km", lines)


def test_times_to_completion_that_fio_counted_are_not_missed() -> None:
    lines = lines_of("fio/11-text-ceph-randread-1M.out")
    first, last = position(lines, "clat (msec)"), position(lines, "99.99th")
    assert "lacks lines of latencies" in refused("fio.randread", [*lines[:first], *lines[last + 1 :]])


def test_rows_of_elbencho_below_a_phase_that_moves_nothing_are_of_another_phase() -> None:
    lines = lines_of("elbencho/06-iops-direct.out")
    head = position(lines, "MKDIRS ")
    assert refused("elbencho.write", [*lines[:head], *lines[head + 1 :]])
    phase = position(lines, "SYNC ", 1)
    lines[head], lines[phase] = lines[phase], lines[head]
    assert refused("elbencho.write", lines)


@pytest.mark.parametrize("word", ["Time Summary::DDOT", "Raw SpMV", "Avg DDOT MPI_Allreduce"])
def test_a_report_of_hpcg_has_all_lines_of_a_kind(word: str) -> None:
    lines = lines_of("hpcg/12-virtualclient-v3.1.txt")
    at = max(number for number, line in enumerate(lines) if word in line and "Floating" not in line)
    assert "lacks lines of" in refused("hpcg", [*lines[:at], *lines[at + 1 :]])


def test_a_client_of_iperf3_has_the_rows_of_both_ends() -> None:
    lines = lines_of("iperf3/07-text-multi-worker.txt")
    for end, which in (("sender", 1), ("receiver", 2)):
        at = position(lines, end, which)
        assert f"the {end}'s row is missing" in refused("iperf3", [*lines[:at], *lines[at + 1 :]])


def test_the_number_of_tests_in_a_csv_of_iperf2_is_unknown() -> None:
    lines = lines_of("iperf2/05-csv-tests-2.txt")
    parsed = parse("iperf2", "".join(lines))
    assert (parsed.is_complete, parsed.is_end_known) == (True, False)
    assert parse("iperf2", lines[0]).is_end_known


def test_a_test_of_perftest_over_all_sizes_has_the_last_and_none_below_its_end() -> None:
    lines = lines_of("perftest/02-superbench-all-sizes.log")
    last = position(lines, "8388608")
    short = [line for line in lines if not line.startswith("8388608")]
    assert "not at 8388608" in refused("perftest.write_bw", short)
    lines.append(lines.pop(last - 1))
    assert "rows after the closing line" in refused("perftest.write_bw", lines)


def test_a_table_of_mdtest_has_its_title() -> None:
    lines = lines_of("mdtest/05-io500-4.1.0-stat.txt")
    first, second = position(lines, "File creation"), position(lines, "SUMMARY time")
    assert "without its title" in refused("mdtest", [*lines[:first], *lines[second + 1 :]])


def test_a_benchmark_line_of_namd_that_comes_before_the_initial_ones_is_refused() -> None:
    lines = lines_of("namd/07-v2.11-ubq_ws_eq.log")
    at = position(lines, "Info: Benchmark time", -1)
    assert refused("namd.apoa1", lines) == ""
    head = position(lines, "TCL: Minimizing")
    for first in (head + 3, position(lines, "Info: Initial time")):
        moved = [*lines[:first], lines[at], *lines[first:at], *lines[at + 1 :]]
        assert "a line Benchmark time comes before the initial ones" in refused("namd.apoa1", moved)


def test_the_steps_of_wrf_reach_to_the_moment_that_its_last_line_names() -> None:
    lines = lines_of(WRF)
    last = position(lines, "Timing for main", -1)
    missing = "the last one is before the forecast's end"
    assert missing in refused("wrf.conus-12km", [*lines[:last], *lines[last + 1 :]])
    assert missing in refused("wrf.conus-12km", [*lines[: last - 2], *lines[last + 1 :]])


WRF_RESTART = "wrf/01-rsl.error.0000-12km-56rank.txt"


@pytest.mark.parametrize("log", [WRF, WRF_RESTART])
def test_the_steps_of_wrf_begin_where_its_input_or_first_output_is(log: str) -> None:
    lines = lines_of(log)
    first = position(lines, "Timing for main")
    assert refused("wrf.conus-12km", lines) == ""
    for n_lost in (1, 2, 10):
        left = [*lines[:first], *lines[first + n_lost :]]
        assert "the simulated time jumps" in refused("wrf.conus-12km", left), n_lost


@pytest.mark.parametrize("log", [WRF, WRF_RESTART])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_the_end_of_a_log_of_wrf_is_not_a_whole_run(log: str, share: float) -> None:
    lines = lines_of(log)
    left = lines[int(len(lines) * share) :]
    for text in (left, lines + left, left + lines):
        assert "the beginning of the log is missing" in refused("wrf.conus-12km", text)


def test_steps_of_wrf_reach_the_time_of_each_file_that_is_written() -> None:
    lines = lines_of(WRF_RESTART)
    last = position(lines, "Timing for main", -1)
    missing = "the last one is before the forecast's end"
    assert missing in refused("wrf.conus-12km", [*lines[:last], *lines[last + 1 :]])


@pytest.mark.parametrize("word", ["Timing for main", "Timing for Writing"])
def test_a_time_of_wrf_that_is_no_number_is_a_broken_line(word: str) -> None:
    lines = lines_of(WRF)
    at = position(lines, word, 3)
    lines[at] = re.sub(r"([0-9])\.([0-9]+ elapsed)", r"\1,\2", lines[at])
    assert "a line with a time is broken" in refused("wrf.conus-12km", lines)


def test_two_steps_of_wrf_that_became_one_are_a_broken_line() -> None:
    lines = lines_of(WRF)
    at = position(lines, "Timing for main", 20)
    lines[at : at + 2] = [f"{lines[at].partition('  1:')[0]}  1:{lines[at + 1][41:]}"]
    assert "a line with a time is broken" in refused("wrf.conus-12km", lines)


def test_rates_of_mdtest_are_not_lost_with_their_title_and_not_taken_for_times() -> None:
    lines = lines_of("mdtest/06-io500-nan-sol.txt")
    title, rows = position(lines, "SUMMARY rate"), position(lines, "File creation")
    without = [*lines[:title], lines[title].replace("SUMMARY", "SUMMXRY"), *lines[title + 1 :]]
    assert "a table of mdtest is missing" in refused("mdtest", without)
    times = position(lines, "SUMMARY time")
    doubled = [*lines[: times + 1], *lines[rows : times + 1], *lines[times + 1 :]]
    assert "two tables of one kind" in refused("mdtest", doubled)


QPERF = "tcp_bw:\n    bw  =  1.2 GB/sec\ntcp_lat:\n    latency  =  25 us\n"


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (QPERF, ""),
        (QPERF.replace("tcp_bw", "tcp_bx"), "tcp_bx is no test of qperf"),
        (QPERF.replace("tcp_bw:", "tcp_bw"), "a value stands before the head of its test"),
        (QPERF.replace("tcp_bw:\n", ""), "a value stands before the head of its test"),
    ],
)
def test_a_value_of_qperf_is_that_of_a_test_that_qperf_has(damaged: str, why: str) -> None:
    assert why in refused("qperf", [damaged])
    assert bool(refused("qperf", [damaged])) is bool(why)


def test_a_run_of_lammps_whose_performance_is_lost_is_refused() -> None:
    log = (
        "LAMMPS (2 Aug 2023)\nLoop time of 2 on 2 procs for 100 steps with 32000 atoms\n\n"
        "Performance: 21600.000 tau/day, 50.000 timesteps/s\n"
        "99.2% CPU use with 2 MPI tasks x 1 OpenMP threads\nTotal wall time: 0:00:03\n"
    )
    lines = log.splitlines(keepends=True)
    assert refused("lammps.lj", lines) == ""
    assert "lacks the line Performance" in refused("lammps.lj", [*lines[:3], *lines[4:]])


OSU = (
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# Size                  MB/s        Messages/s\n"
)


def test_a_garbled_head_of_a_column_of_osu_is_refused_and_a_column_of_its_own_is_not() -> None:
    rows = "1 52.76 52760000.00\n2 110.22 55110000.00\n"
    assert "may be 'messages/s'" in refused("osu.mbw_mr", [OSU.replace("Messages", "Messxges"), rows])
    assert "may be" not in refused("osu.mbw_mr", [OSU.replace("Messages/s", "Watts"), rows])


def test_the_row_of_iperf3s_sender_stands_before_the_receivers() -> None:
    test = [
        "[  5]   0.00-10.12  sec  41.3 MBytes  34.2 Mbits/sec  0.000 ms  0/29915 (0%)  sender\n",
        "[  5]   0.00-10.00  sec  14.7 MBytes  12.4 Mbits/sec  3.603 ms  27892/38559 (72%)  receiver\n",
    ]
    assert "before the sender's" not in refused("iperf3", [*test, *test])
    assert "the receiver's row stands before the sender's" in refused("iperf3", [test[1], *test, test[0]])


def test_a_table_of_elbencho_without_results_is_refused() -> None:
    lines = lines_of("elbencho/06-iops-direct.out")
    at = position(lines, "OPERATION")
    assert "mixed" in refused("elbencho.write", [*lines[:at], *lines[at : at + 1], *lines[at:]])
