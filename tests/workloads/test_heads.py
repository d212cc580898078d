"""Columns whose heads are damaged, wrapped or unknown are told: no figure is lost without a word."""

from __future__ import annotations

import re

import pytest

from support.outputs import parse
from tare.plugins.workloads.common.heads import Unknown, unknown_heads
from workloads.collection import text_of

IOR = "ior/16-cgpu-direct-32threads.out"
WANTED, OTHERS = {"total(s)", "Mean Latency Microseconds"}, {"iter"}


def problems(workload: str, text: str) -> str:
    return "; ".join(parse(workload, text).problems)


@pytest.mark.parametrize("name", ["total(s", "tot(s)", "otal(s)", "totsrun: job 7 is queuedal(s)"])
def test_what_is_left_of_a_head_is_known(name: str) -> None:
    assert [*unknown_heads([name], WANTED, OTHERS)] == [Unknown(name, "total(s)")]


@pytest.mark.parametrize("name", ["queue(s)", "t", "Minimum Latency Microseconds", "total(s)2"])
def test_a_head_that_resembles_none_is_only_unknown(name: str) -> None:
    assert [*unknown_heads([name], WANTED, OTHERS)] == [Unknown(name, None)]


def test_known_heads_are_not_unknown() -> None:
    assert [*unknown_heads([*WANTED, *OTHERS], WANTED, OTHERS)] == []


@pytest.mark.parametrize(
    ("whole", "left"), [("wr/rd(s)", "wr/(s)"), ("bw(MiB/s)", "bw(MB/s)"), ("Mean(OPs)", "Mean(Os)")]
)
def test_a_damaged_head_of_ior_is_told(whole: str, left: str) -> None:
    text = text_of(IOR)
    assert whole in text
    assert f"which may be '{whole}'" in problems("ior", text.replace(whole, left.ljust(len(whole))))


def test_an_unknown_column_of_ior_is_told_and_the_others_are_read() -> None:
    text = text_of(IOR)
    parsed = parse("ior", text.replace("Stonewall(s)", "Energy(J)   "))
    assert parsed.problems == ()
    assert parsed.measurements == parse("ior", text).measurements
    assert any(one.startswith("IOR's column Energy(J) is left out") for one in parsed.left_out)


@pytest.mark.parametrize("width", [72, 80])
def test_a_wrapped_table_of_ior_is_told(width: int) -> None:
    text = text_of(IOR)
    wrapped = re.sub(rf"(?m)^(.{{{width}}})(?=.)", r"\1\n", text)
    parsed = parse("ior", wrapped)
    assert "the heads of IOR's table are cut short" in "; ".join(parsed.problems)
    assert parsed.measurements == ()


@pytest.mark.parametrize(
    ("whole", "left"),
    [(r"(?m)^(write +)7020 ", r"\g<1>720 "), (r"(?m)^(write +)7019\.75 ", r"\g<1>7119.75 ")],
)
def test_a_summary_of_ior_is_that_of_its_rows(whole: str, left: str) -> None:
    text, n_times = re.subn(whole, left, text_of(IOR), count=1)
    assert n_times == 1
    assert "of IOR is not that of its writes" in problems("ior", text)


@pytest.mark.parametrize(
    "name", ["elbencho/01-resfile-write-stonewall-01threads.out", "elbencho/06-iops-direct.out"]
)
def test_a_phase_of_elbencho_that_moves_data_has_its_operations(name: str) -> None:
    text = text_of(name)
    assert problems("elbencho.write", text) == ""
    left, n_times = re.subn(r"(?m)^ +IOPS .*\n", "", text, count=1)
    assert n_times == 1
    assert "lines are missing: rate or total of iops of phase WRITE" in problems("elbencho.write", left)


def test_a_phase_of_elbencho_with_one_block_in_each_file_has_no_operations() -> None:
    """elbencho leaves them out, as they are the files per second (Statistics.cpp)."""
    text = text_of("elbencho/08-nersc-storage_sweep-losf.txt")
    write = text[text.index("\nWRITE ") :].partition("---")[0]
    assert ("IOPS" in write, "Throughput" in write, "Files/s" in write) == (False, True, True)
    assert problems("elbencho.write", text) == ""


CSV = "netperf/02-tcp_rr-omni-csv.txt"


@pytest.mark.parametrize(
    ("whole", "left"),
    [
        ("Stddev Latency Microseconds", "Stddev Lacroseconds"),
        (
            "Local Transport Retransmissions",
            "Local srun: job 7 has been queued\nTransport Retransmissions",
        ),
    ],
)
def test_a_damaged_name_of_netperfs_csv_is_told(whole: str, left: str) -> None:
    text = text_of(CSV)
    assert (whole in text, problems("netperf.tcp_rr", text)) == (True, "")
    assert f"which may be {whole!r}" in problems("netperf.tcp_rr", text.replace(whole, left, 1))


def test_a_damaged_name_of_netperfs_pairs_is_told() -> None:
    text = "THROUGHPUT=1405.50\nTHROUGHPUT_UNITS=Trans/s\nMEAN_LATENCY=700.10\nLOCAL_CPU_METHOD=S\n"
    assert problems("netperf.tcp_rr", text) == ""
    assert "which may be 'MEAN_LATENCY'" in problems("netperf.tcp_rr", text.replace("MEAN_L", "MEANL"))


def test_the_rest_of_a_number_is_no_rate_of_netperf() -> None:
    text = text_of(CSV).replace("\n1405.50,", "\n05.50,")
    assert not any(one.fom == "transactions" for one in parse("netperf.tcp_rr", text).measurements)
    assert problems("netperf.tcp_rr", text) == "netperf's result is missing"


def test_a_wrapped_row_of_netperf_is_told() -> None:
    text = (
        "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"
        "Recv   Send    Send                          Utilization       Service Demand\n"
        "Socket Socket  Message  Elapsed              Send     Recv     Send    Recv\n"
        "Size   Size    Size     Time     Throughput  local    remote   local   remote\n"
        "bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB\n\n"
        " 87380  16384  16384    10.00      9386.80   3.21     12.20    0.056   0.852\n"
    )
    assert problems("netperf.tcp_stream", text) == ""
    assert "netperf's row is cut short" in problems("netperf.tcp_stream", text.replace("   0.852", "\n0.852"))


def test_a_row_that_a_message_parts_is_no_name_of_netperf() -> None:
    text = text_of(CSV).replace("\n1405.50,", "\n1405.srun: job 7 is queued\n50,")
    assert "netperf's row is broken: 1405.srun" in problems("netperf.tcp_rr", text)
    assert not any(one.fom == "transactions" for one in parse("netperf.tcp_rr", text).measurements)


@pytest.mark.parametrize(("whole", "left"), [(",735,", ",73,"), (",600,900,", ",600,90,")])
def test_latencies_of_netperf_grow(whole: str, left: str) -> None:
    text = text_of(CSV)
    assert whole in text
    assert "netperf's row contradicts itself" in problems("netperf.tcp_rr", text.replace(whole, left))


def test_a_damaged_head_of_perftest_is_told() -> None:
    text = text_of("perftest/01-superbench-8M.log")
    assert "which may be 'MsgRate[Mpps]'" in problems(
        "perftest.write_bw", text.replace("MsgRate[Mpps]", "MsgRatpps]")
    )


def test_the_mean_of_iors_operations_is_not_less_than_the_least() -> None:
    name = "ior/15-io500-CRLF-pgs-gcp.txt"
    text, n_times = re.subn(r"(7223\.97 +7223\.97 +7)223\.97", r"\1", text_of(name))
    assert n_times == 1
    assert "IOR's table has a broken row" in problems("ior", text)


@pytest.mark.parametrize("left", ["DROPACHE ", "DRO ", "ROPCACHE "])
def test_a_damaged_name_of_a_phase_of_elbencho_is_told(left: str) -> None:
    text = text_of("elbencho/08-nersc-storage_sweep-losf.txt")
    damaged = text.replace("DROPCACHE ", left, 1)
    assert (damaged != text, problems("elbencho.write", text)) == (True, "")
    assert f"a row of elbencho is broken: {left}Elapsed ms" in problems("elbencho.write", damaged)


def test_a_phase_of_elbencho_that_is_not_known_is_read() -> None:
    text = text_of("elbencho/06-iops-direct.out").replace("WRITE     Elapsed", "RWMIX30   Elapsed")
    assert "is broken" not in problems("elbencho.write", text)


@pytest.mark.parametrize("left", ["\n140550,", "\n1405.5,", "\n1405,"])
def test_a_rate_of_netperf_has_its_decimals(left: str) -> None:
    text = text_of(CSV).replace("\n1405.50,", left)
    assert "without the decimals that netperf prints" in problems("netperf.tcp_rr", text)
