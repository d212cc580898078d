"""What programs print of themselves reaches the measurement: its size, and what tells its parts apart."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.outputs import parse
from tare.core.values import Scalar
from tare.plugins import registry
from workloads.cases import case_of

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"

PRINTED: dict[str, tuple[str, Mapping[str, Scalar]]] = {
    "hpl/01-stackhpc-ompi4-hpl2.3.out": ("hpl", {"ranks": 32, "n": 115584, "nb": 192}),
    "hpcc/05-buaa-5node-complete.txt": ("hpcc", {"ranks": 10, "n": 10000, "nb": 192}),
    "hpcg/12-virtualclient-v3.1.txt": ("hpcg", {"ranks": 2, "threads": 2, "nx": 16, "ny": 16, "nz": 16}),
    "mdtest/05-io500-4.1.0-stat.txt": (
        "mdtest",
        {"ranks": 640, "nodes": 80, "items": 1000000, "repetitions": 1},
    ),
    "ior/12-io500-inconsistent-file-size.txt": (
        "ior",
        {
            "ranks": 2520,
            "nodes": 70,
            "ranks_per_node": 36,
            "transfer": 1 << 20,
            "block": 1 << 30,
            "segments": 10000000,
            "random": True,
            "file_per_process": False,
            "api": "POSIX",
        },
    ),
    "ior/07-io500-3.1.0-cern-2019.txt": (
        "ior",
        {"ranks": 64, "ranks_per_node": 1, "transfer": 16 << 20, "repetitions": 1},
    ),
    "imb/03-pingpong-impi193-peta4.out": ("imb.pingpong", {"ranks": 64}),
    "imb/04-alltoall-cirrus-mpt218.out": ("imb.alltoall", {"ranks": 72}),
    "imb/08-uniband-multi-nproc-groups.out": ("imb.uniband", {"ranks": 112}),
    "osu/17-mbw_mr-8pairs-ompi4.out": ("osu.mbw_mr", {"pairs": 8}),
    "openfoam/01-stackhpc-of7-mbike-8nodes-ompi4.out": (
        "openfoam.motorbike",
        {"ranks": 256, "solver": "simpleFoam"},
    ),
    "gromacs/12-2018.2-archer-0.5nsday.log": (
        "gromacs.water",
        {"ranks": 3072, "nodes": 128, "threads": 2, "n_atoms": 41953021},
    ),
    "gromacs/06-v2025.3-ok-md.log": ("gromacs.water", {"thread_mpi_ranks": 7, "threads": 4}),
    "lammps/17-ruby-1600-ranks1.out": ("lammps.lj", {"ranks": 1600, "threads": 1, "steps": 100}),
    "namd/14-v2.14-warnings-many.log": ("namd.stmv", {"ranks": 1, "nodes": 1, "processors": 12}),
    "wrf/01-rsl.error.0000-12km-56rank.txt": ("wrf.conus-12km", {"ranks": 56}),
    "elbencho/07-perlmutter.csv": (
        "elbencho.write",
        {"nodes": 4, "threads": 1, "block": 1 << 20, "direct": True, "size": 1 << 40},
    ),
    "elbencho/06-iops-direct.out": (
        "elbencho.write",
        {"nodes": 4, "threads": 32, "block": 4096, "direct": True, "random": True},
    ),
    "elbencho/01-resfile-write-stonewall-01threads.out": (
        "elbencho.write",
        {"nodes": 4, "threads": 1, "block": 1 << 20, "direct": False, "size": 1 << 40},
    ),
    "fio/12-text-ceph-rw-4k.out": (
        "fio.read",
        {"rw": "rw", "block": 4096, "iodepth": 32, "threads": 1, "ioengine": "libaio"},
    ),
    "fio/13-text-ceph-fourjobs-write-1M.out": (
        "fio.write",
        {"rw": "write", "block": 1 << 20, "threads": 4, "program_version": "2.16"},
    ),
    "fio/02-json-3.16-superbench-rw.log": ("fio.read", {"block": 4096, "iodepth": 64, "threads": 4}),
    "iperf3/03-json-3.9-udp.json": ("iperf3", {"protocol": "udp", "streams": 1, "message_bytes": 1012}),
    "iperf2/01-p3-sum-with-perfstat-and-error.txt": ("iperf2", {"streams": 3, "bidirectional": False}),
    "perftest/01-superbench-8M.log": ("perftest.write_bw", {"bidirectional": False, "queue_pairs": 1}),
    "sockperf/02-virtualclient-pingpong-full-log.txt": ("sockperf.ping_pong", {"message_bytes": 1024}),
    "stream/09-superbench-neo.log": ("stream", {"threads": 4, "n_elements": 120000000}),
}


VERSIONS = {
    "elbencho/02-csvfile-01threads.csv": ("elbencho.write", "2.1-0"),
    "fio/09-json-pbench-fio0-client.txt": ("fio.read", "3.7"),
    "gromacs/12-2018.2-archer-0.5nsday.log": ("gromacs.water", "2018.2"),
    "hpcc/05-buaa-5node-complete.txt": ("hpcc", "1.5.0"),
    "hpcg/12-virtualclient-v3.1.txt": ("hpcg", "3.1"),
    "hpl/01-stackhpc-ompi4-hpl2.3.out": ("hpl", "2.3"),
    "imb/03-pingpong-impi193-peta4.out": ("imb.pingpong", "2019 Update 1"),
    "ior/07-io500-3.1.0-cern-2019.txt": ("ior", "3.1.0"),
    "iperf3/02-json-3.9-tcp-bbr.json": ("iperf3", "3.9"),
    "lammps/17-ruby-1600-ranks1.out": ("lammps.lj", "29 Sep 2021 - Update 2"),
    "mdtest/04-io500-1.9.3-cern.txt": ("mdtest", "1.9.3"),
    "namd/14-v2.14-warnings-many.log": ("namd.stmv", "2.14"),
    "openfoam/01-stackhpc-of7-mbike-8nodes-ompi4.out": ("openfoam.motorbike", "7"),
    "osu/13-latency-impi-verbs-v5.6.2.out": ("osu.latency", "5.6.2"),
    "sockperf/01-pingpong-and-throughput-one-log.extract.txt": ("sockperf.ping_pong", "3.10-no.git"),
    "stream/09-superbench-neo.log": ("stream", "5.10"),
    "wrf/01-rsl.error.0000-12km-56rank.txt": ("wrf.conus-12km", "3.8.1"),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_the_version_that_a_program_prints_is_read(name: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    workload, version = VERSIONS[name]
    parsed = parse(workload, (CORPUS / name).read_text(errors="replace"))
    assert parsed.printed["program_version"] == (version,)


@pytest.mark.parametrize("name", PRINTED)
def test_the_facts_in_real_output_are_read(name: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    workload, facts = PRINTED[name]
    parsed = parse(workload, (CORPUS / name).read_text(errors="replace"))
    assert {fact: parsed.printed.get(fact) for fact in facts} == {
        fact: (value,) for fact, value in facts.items()
    }


def qperf(*sizes: int, rate: float = 1.0) -> str:
    """Return what ``qperf -oo msg_size:… -v tcp_bw`` prints, a block for each of `sizes`."""
    blocks = []
    for size in sizes:
        exact = f" ({size:,})" if size % 1024 == 0 else ""
        shown = f"{size // 1024} KiB" if exact else f"{size} bytes"
        blocks.append(
            f"tcp_bw:\n    bw        =  {rate * size:.0f} MB/sec\n    msg_size  =  {shown}{exact}\n"
        )
    return "".join(blocks)


def test_qperfs_message_size_is_a_coordinate_and_not_its_place() -> None:
    whole = parse("qperf", qperf(1, 64, 1024, 65536))
    later = parse("qperf", qperf(1024, 65536))
    assert [one.at for one in whole.measurements] == [
        {"test": "tcp_bw", "bytes": size} for size in (1, 64, 1024, 65536)
    ]
    assert later.measurements == whole.measurements[2:]


def test_a_size_that_was_not_asked_for_is_a_problem_of_qperf() -> None:
    workload = registry.workloads()["qperf"]
    asked = workload.expecting(case_of(workload, tests="tcp_bw", message_bytes=4096))
    (problem,) = asked.parse(io.StringIO(qperf(1024))).problems
    assert problem == "qperf printed messages of 1024 bytes, and 4096 were asked for"
    assert asked.parse(io.StringIO(qperf(4096))).problems == ()


RULE = "-" * 87 + "\n"


def perftest(words: str, rate: float, queue_pairs: int = 1) -> str:
    heads = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    return (
        f"{RULE}                    RDMA_Write {words}BW Test\n Dual-port       : OFF\t\tDevice : mlx5_0\n"
        f" Number of qps   : {queue_pairs}\t\tTransport type : IB\n{RULE}{heads}"
        f" 65536      5000             {rate + 1:.2f}               {rate:.2f}               "
        f"{rate * 1e3 / 65536 / 8:.6f}\n{RULE}"
    )


def test_both_directions_of_perftest_are_not_one() -> None:
    one, both = (parse("perftest.write_bw", perftest(words, 90.0)) for words in ("", "Bidirectional "))
    assert (one.printed["bidirectional"], both.printed["bidirectional"]) == ((False,), (True,))
    log = perftest("", 90.0) + perftest("Bidirectional ", 170.0) + perftest("", 95.0, queue_pairs=4)
    positions = [at.at for at in parse("perftest.write_bw", log).measurements if at.fom == "bandwidth"]
    assert positions == [
        {"bytes": 65536, "bidirectional": False, "queue_pairs": 1},
        {"bytes": 65536, "bidirectional": True, "queue_pairs": 1},
        {"bytes": 65536, "bidirectional": False, "queue_pairs": 4},
    ]


IPERF2 = """\
------------------------------------------------------------
Server listening on TCP port 5002
------------------------------------------------------------
------------------------------------------------------------
Client connecting to 10.0.0.2, TCP port 5001
------------------------------------------------------------
[  5] local 10.0.0.1 port 40990 connected with 10.0.0.2 port 5001
[  4] local 10.0.0.1 port 5002 connected with 10.0.0.2 port 50014
[ ID] Interval       Transfer     Bandwidth
[  5]  0.0-10.0 sec  9.14 GBytes  7.85 Gbits/sec
[  4]  0.0-10.0 sec  8.97 GBytes  7.70 Gbits/sec
"""


def test_iperf2_in_both_directions_is_read_by_direction() -> None:
    parsed = parse("iperf2", IPERF2)
    assert parsed.is_complete
    assert {one.at["direction"]: one.value for one in parsed.measurements} == {
        "client to server": 7.85,
        "server to client": 7.70,
    }
    assert parsed.printed["bidirectional"] == (True,)
    half = "".join(IPERF2.splitlines(keepends=True)[:-1])
    assert not parse("iperf2", half).is_complete


def test_iperf2_can_be_asked_for_both_directions() -> None:
    workload = registry.workloads()["iperf2"]
    (stage,) = workload.stages(case_of(workload, bidirectional=True))
    words = " ".join(stage.argv)
    assert "-d -L 5002" in words
    assert [*workload.faults(case_of(workload, bidirectional=True, streams=2))] == [
        "iperf 2 does not sum directions; with bidirectional, set protocol: tcp and streams: 1"
    ]


def fio_json(printed_ms: int, runtime_ms: int, iops: float, block: str = "4k") -> str:
    return f"""{{
  "fio version" : "fio-3.33",
  "timestamp" : {printed_ms // 1000},
  "timestamp_ms" : {printed_ms},
  "global options" : {{
    "bs" : "{block}"
  }},
  "jobs" : [
    {{
      "jobname" : "j",
      "groupid" : 0,
      "error" : 0,
      "job options" : {{
        "numjobs" : "2"
      }},
      "read" : {{
        "io_bytes" : {4096 * runtime_ms},
        "bw" : {4 * iops},
        "iops" : {iops},
        "runtime" : {runtime_ms}
      }}
    }}
  ]
}}
"""


def test_snapshots_of_fio_are_no_runs() -> None:
    snapshots = [fio_json(1000_000 + after, after, 100.0 + after) for after in (5000, 10_000, 15_000)]
    parsed = parse("fio.read", "".join(snapshots))
    assert [(one.fom, one.value, one.at) for one in parsed.measurements if one.fom == "iops"] == [
        ("iops", 15_100.0, {"operation": "read"})
    ]
    runs = [fio_json(1000_000 + 20_000 * number, 15_000, 100.0 + number) for number in (1, 2)]
    assert [one.at["run"] for one in parse("fio.read", "".join(runs)).measurements if one.fom == "iops"] == [
        1,
        2,
    ]


def test_runs_of_fio_are_distinguished_by_their_options() -> None:
    runs = [
        fio_json(1000_000 + 20_000 * number, 15_000, 100.0, block)
        for number, block in enumerate(("4k", "64k"), 1)
    ]
    parsed = parse("fio.read", "".join(runs))
    assert {one.at["block"] for one in parsed.measurements} == {4096, 65536}
    assert parsed.printed["threads"] == (2,)


FIO_TEXT = """\
one: (groupid=0, jobs=2): err= 0: pid=20565: Sat Nov 21 22:27:31 2026
  read: IOPS={iops}, BW={bandwidth}MiB/s (1MB/s)(1MiB/1001msec)
Run status group 0 (all jobs):
   READ: bw=1MiB/s (1MB/s), 1MiB/s-1MiB/s (1MB/s-1MB/s), io=1MiB (1MB), run=1001-1001msec
"""


def test_snapshots_in_fios_text_are_no_jobs() -> None:
    text = "fio-3.33\n" + "".join(FIO_TEXT.format(iops=one, bandwidth=one) for one in (10, 20, 30))
    parsed = parse("fio.read", text)
    assert [(one.value, one.at) for one in parsed.measurements if one.fom == "iops"] == [
        (30.0, {"operation": "read"})
    ]


def test_runs_of_elbencho_are_distinguished_by_their_blocks() -> None:
    heads = "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,operation"
    heads += ",time ms [first],time ms [last],IOPS [last],MiB/s [last],command\n"
    rows = [
        f'2022-03-09T10:43:2{number}-0800,,dir,1,1,4,1,1,1048576,{block},WRITE,10,11,{number},{number},"x"\n'
        for number, block in ((1, 4096), (2, 65536))
    ]
    parsed = parse("elbencho.write", heads + "".join(rows))
    assert {(one.at["block"], one.value) for one in parsed.measurements if one.fom == "bandwidth"} == {
        (4096, 1.0),
        (65536, 2.0),
    }
    other = parse("elbencho.write", heads + rows[1])
    assert other.printed["block"] == (65536,)


def test_netperfs_size_of_messages_is_read_from_its_table() -> None:
    heads = (
        "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n"
        "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n"
        "bytes  bytes   bytes    secs.    10^6bits/sec\n\n"
    )
    parsed = parse(
        "netperf.tcp_stream",
        "".join(f"{heads} 87380  16384  {size}    10.00    941.1\n" for size in (64, 1024)),
    )
    assert [one.at for one in parsed.measurements] == [{"message_bytes": 64}, {"message_bytes": 1024}]


ELBENCHO_JSON = (
    '{"phase_type":"WRITE","config":{"hosts":"2","threads":"8","file_size":"1048576","block_size":"4096",'
    '"direct_io":"true","random_offsets":"false","io_depth":"4","version":"3.0-1"},'
    '"first_done":{"elapsed_time_ms":"10","iops":"100"},"last_done":{"elapsed_time_ms":"11","iops":"90"}}\n'
)


def test_elbenchos_json_has_the_settings_of_its_run() -> None:
    printed = parse("elbencho.write", ELBENCHO_JSON).printed
    assert printed == {
        "nodes": (2,),
        "threads": (8,),
        "size": (1 << 20,),
        "block": (4096,),
        "iodepth": (4,),
        "direct": (True,),
        "random": (False,),
        "program_version": ("3.0-1",),
    }


def test_a_table_of_elbencho_has_its_own_command_line_or_none() -> None:
    table = (
        "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n========= ====   ====  ====\n"
        "WRITE     Elapsed ms       :      10      11\n          IOPS             :       {}       {}\n---\n"
    )
    line = 'COMMAND LINE: "elbencho" "-w" "-t" "{}" "-b" "{}" "--hosts" "n1,n2:1612,n2:1613" "/s" \n\n'
    text = line.format(2, "4k") + table.format(1, 2) + line.format(2, "1M") + table.format(3, 4)
    parsed = parse("elbencho.write", text)
    assert [one.at["block"] for one in parsed.measurements if one.fom == "iops"] == [4096, 1 << 20]
    assert (parsed.printed["nodes"], parsed.printed["threads"]) == ((2,), (2,))
    other = parse("elbencho.write", text + table.format(5, 6))
    assert [one.at.get("block") for one in other.measurements if one.fom == "iops"] == [4096, 1 << 20, None]


def test_fios_text_has_the_settings_of_each_run() -> None:
    text = "".join(
        f"one: (g=0): rw=randread, bs=(R) {block}-{block}, (W) 4096B-4096B, (T) 4096B-4096B, "
        f"ioengine=psync, iodepth=1\n...\nfio-3.33\n{FIO_TEXT.format(iops=10, bandwidth=20)}"
        for block in ("4096B", "16.0KiB")
    )
    parsed = parse("fio.randread", text)
    assert [one.at["block"] for one in parsed.measurements if one.fom == "iops"] == [4096, 16384]
    assert (parsed.printed["threads"], parsed.printed["rw"]) == ((2,), ("randread",))


def test_blocks_of_fio_that_differ_are_no_setting() -> None:
    text = (
        "one: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 16.0KiB-16.0KiB, (T) 4096B-4096B, ioengine=psync, "
        f"iodepth=1\nfio-3.33\n{FIO_TEXT.format(iops=10, bandwidth=20)}"
    )
    assert "block" not in parse("fio.read", text).printed


def test_iors_json_has_the_settings_of_each_test() -> None:
    from workloads.test_ior_json import JSON

    options = '"api": "POSIX", "nodes": 2, "tasks": 8, "clients per node": 4, '
    parameters = '"transferSize": 1048576, "segmentCount": 1, "filePerProc": 1, "randomOffset": 0, '
    text = JSON.replace('"Options": {', '"Options": {' + options.replace('"api": "POSIX", ', ""))
    text = text.replace('"Parameters": {', '"Parameters": {' + parameters)
    printed = parse("ior", text).printed
    assert printed == {
        "nodes": (2,),
        "ranks": (8,),
        "ranks_per_node": (4,),
        "api": ("POSIX",),
        "file_per_process": (True,),
        "random": (False,),
        "segments": (1,),
        "transfer": (1 << 20,),
        "block": (1 << 24,),
        "repetitions": (2,),
        "program_version": ("4.0.0",),
    }


@pytest.mark.parametrize(
    ("workload", "name", "version", "other"),
    [
        ("imb.pingpong", "imb/03-pingpong-impi193-peta4.out", "2019 Update 1", "2019 Update 4"),
        ("hpl", "hpl/01-stackhpc-ompi4-hpl2.3.out", "2.3", "2.2"),
    ],
)
def test_figures_of_several_versions_say_which_one_or_are_refused(
    workload: str, name: str, version: str, other: str
) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the corpus is not here")
    text = (CORPUS / name).read_text()
    parsed = parse(workload, text + text.replace(version, other))
    assert f"the output is of several versions ({version}, {other})" in "".join(parsed.problems)
