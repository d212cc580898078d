"""Lines of results that another program broke, or whose numbers cannot be read, are told.

Messages of other programs end up within lines, two lines become one, and numbers overflow their field. What
such a line held is then not simply missing among figures that look complete.
"""

from __future__ import annotations

import re

import pytest

from support.outputs import parse
from workloads.collection import text_of

BROKEN = [
    ("elbencho.write", "elbencho/01-resfile-write-stonewall-01threads.out",
     r"(IOPS +: +3627 +)2788", r"\1***", "a row of elbencho is broken: IOPS"),
    ("elbencho.write", "elbencho/06-iops-direct.out",
     r"(MKDIRS +Elapsed ms +: +0 +9)\n", r"\1", "a row of elbencho is broken: MKDIRS Elapsed ms"),
    ("elbencho.write", "elbencho/07-perlmutter.csv", r",2630,", r",2.630e+3x,", "row of CSV is broken"),
    ("iperf3", "iperf3/09-text-udp-client-side.txt",
     r"0\.015 ms(.*receiver)", r"nan ms\1", "a row of the summary is broken"),
    ("iperf3", "iperf3/08-text-udp-server-side.txt",
     r"receiver\n", "rece", "a row of the summary is broken"),
    ("iperf3", "iperf3/06-text-retr-cwnd.txt",
     r" 0( +sender)", r" 1,946\1", "a row of the summary is broken"),
    ("iperf3", "iperf3/06-text-retr-cwnd.txt",
     r"54\.3 Gbits/sec( +0 +sender)", r"54,3 Gbits/sec\1", "a row of the summary is broken"),
    ("iperf2", "iperf2/05-csv-tests-2.txt",
     r"(20171119161901,.*?)\n", r"\1", "two rows of CSV stand on one line: 20171119161901"),
    ("iperf2", "iperf2/05-csv-tests-2.txt",
     r"2017(1119161901),", r"\1,", "a row of CSV is broken: 1119161901"),
    ("lammps.lj", "lammps/13-jkkdy-argon-stdout.log",
     r"Loop time of 2\.66016 on 11 procs", "Loop time of 2.66016 on 1", "a line Loop time is broken"),
    ("namd.stmv", "namd/07-v2.11-ubq_ws_eq.log",
     r"(0\.0401746 s/step )0\.232492 days/ns", r"\1***", "a line Benchmark time is broken"),
    ("osu.alltoall", "osu/26-polaris-cuda-alltoall-v5.3.dat",
     r"70596\.65", "70,596.65", "has a broken row: 67108864 70,596.65"),
    ("osu.alltoall", "osu/26-polaris-cuda-alltoall-v5.3.dat",
     r"(\n4 +50\.69)\n", r"\1 ", "has a broken row: 4 50.69 8 50.76"),
    ("imb.pingpong", "imb/07-pingpong-ompi4-ucx.out",
     r"(\n +1 +1000 +1\.10 +0\.91)\n", r"\1 ", "has a broken row: 1 1000 1.10 0.91 2 1000"),
    ("perftest.read_bw", "perftest/05-ib_read_bw-gbits-all-sizes.extract.txt",
     r"0\.002943", "1e+06", "the table has a broken row: 8388608"),
    ("perftest.read_bw", "perftest/05-ib_read_bw-gbits-all-sizes.extract.txt",
     r"(\n 4194304.*)\n", r"\1", "the table has a broken row: 4194304"),
    ("perftest.write_bw", "perftest/01-superbench-8M.log",
     r"\n 8388608( +20000 .*\n)", r"\n 8388 UCX WARN no\n608\1", "the table has a broken row: 608 20000"),
    ("qperf", "qperf/03-rdma-bw.extract.txt",
     r"(rc_bw:)\n", r"\1", "a value of qperf is broken: rc_bw: bw ="),
    ("qperf", "qperf/03-rdma-bw.extract.txt",
     r"(rc_bw:\n.*/sec)\n", r"\1", "a value of qperf is broken: bw ="),
    ("mdtest", "mdtest/05-io500-4.1.0-stat.txt",
     r"(\n   Tree removal +[0-9.]+)( +[0-9.]+.*\n-- finished)",
     r"\1 File stat 106.718 106.718 106.718 0.000\n\2", "mdtest's table has a broken row: Tree removal"),
    ("wrf.conus-12km", "wrf/01-rsl.error.0000-12km-56rank.txt",
     r"(Timing for main: .*)\n(Timing for main)", r"\1\2", "a line with a time is broken: Timing for main"),
    ("hpcc", "hpcc/05-buaa-5node-complete.txt",
     r"(SingleSTREAM_Triad)=", r"\1=-", "SingleSTREAM_Triad is -519.418, which is no measurement"),
    ("sockperf.throughput", "sockperf/01-pingpong-and-throughput-one-log.extract.txt",
     r"127096", "127,096", "the summary lacks rows: message rate"),
    ("sockperf.ping_pong", "sockperf/01-pingpong-and-throughput-one-log.extract.txt",
     r"# dropped messages = 0;", "# dropped messages = *;", "the summary lacks rows: dropped messages"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("workload", "name", "what", "by", "fault"), BROKEN, ids=[f"{one[0]}-{one[4][-24:]}" for one in BROKEN]
)
def test_a_broken_line_is_told(workload: str, name: str, what: str, by: str, fault: str) -> None:
    text = text_of(name)
    broken, n_times = re.subn(what, by, text, count=1)
    assert n_times == 1
    assert fault not in "".join(parse(workload, text).problems)
    assert fault in "; ".join(parse(workload, broken).problems)


def test_a_negative_rate_of_netperf_is_told_and_minus_one_is_unknown() -> None:
    text = text_of("netperf/02-tcp_rr-omni-csv.txt")
    workload = "netperf.tcp_rr"
    assert parse(workload, text).problems == ()
    assert "1405.5" in "".join(parse(workload, text.replace("1405.50", "-1405.50")).problems)
    unknown = parse(workload, text.replace(",735,", ",-1,"))
    assert unknown.problems == ()
    assert len(unknown.measurements) == len(parse(workload, text).measurements) - ("735" in text)


def test_an_option_that_imb_does_not_know_is_told() -> None:
    text = text_of("imb/07-pingpong-ompi4-ucx.out")
    assert parse("imb.pingpong", text).problems == ()
    head = "# List of Benchmarks to run:\n"
    unknown = text.replace(head, f"Invalid benchmark name -show_tail\nInvalid benchmark name yes\n{head}")
    assert "IMB printed: Invalid benchmark name -show_tail" in parse("imb.pingpong", unknown).problems


def test_requests_of_netperf_that_are_under_way_at_once_are_a_setting() -> None:
    row = "Throughput,Throughput Units\n{},Trans/s\n"
    title = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET"
    text = f"{title} : first burst 0\n{row.format(22000.5)}{title} : first burst 8\n{row.format(31433.95)}"
    parsed = parse("netperf.tcp_rr", text)
    assert [(one.value, one.at) for one in parsed.measurements] == [(22000.5, {}), (31433.95, {"burst": 8})]


@pytest.mark.parametrize("head", ["Throughput,Throughput Units", "THROUGHPUT,A"])
def test_an_endless_field_of_netperfs_csv_is_no_crash(head: str) -> None:
    parsed = parse("netperf.tcp_stream", f'{head}\n1,"{200_000 * "a"}",2\n1"{200_000 * "a"},\n')
    assert not parsed.is_complete


IPERF3 = """\
Connecting to host 10.9.9.1, port 5201
Reverse mode, remote host 10.9.9.1 is sending
[  5] local 10.9.9.1 port 39002 connected to 10.9.9.1 port 5201
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  1.33 GBytes  11.4 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-1.00   sec  1.33 GBytes  11.4 Gbits/sec    2             sender
[  5]   0.00-1.02   sec  1.33 GBytes  11.2 Gbits/sec                  receiver

iperf Done.
"""


def test_a_title_of_iperf3_hides_no_direction() -> None:
    plain = parse("iperf3", IPERF3)
    assert plain.printed["reverse"] == (True,)
    titled = "".join(f"my title:  {line}\n" for line in IPERF3.splitlines())
    assert parse("iperf3", titled) == plain


def test_a_label_that_hides_what_was_tested_is_told() -> None:
    quoted = "".join(f"> {line}\n" for line in IPERF3.splitlines())
    assert any("text stands before rows" in problem for problem in parse("iperf3", quoted).problems)


def test_what_a_client_of_iperf2_does_not_know_of_udp_is_no_measurement() -> None:
    """iperf 2.1.8 -u -y C without the server's report: no datagram was counted, and -1 were received."""
    row = "20261129212016,10.9.9.1,52739,10.9.9.1,5002,1,0.0-2.0,13112400,52438220,0.000,0,-1,-0.000,0\n"
    parsed = parse("iperf2", row)
    assert [(one.fom, one.value) for one in parsed.measurements] == [("throughput_sent", 0.05243822)]
    assert parsed.problems == ("the server's report of what arrived is missing",)


def test_two_lines_of_fio_that_became_one_have_the_latency_of_completion() -> None:
    text = text_of("fio/11-text-ceph-randread-1M.out")
    joined = re.sub(r"(    clat \(msec\): .*)\n", r"\1", text, count=1)
    assert joined != text
    assert parse("fio.randread", joined).measurements == parse("fio.randread", text).measurements
