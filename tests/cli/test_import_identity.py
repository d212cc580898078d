"""What `tare import` knows of a file, and where from: told, printed or inferred, and else unknown."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tare.analysis.pairs import without_reference
from tare.cli.commands import compare, parse, report, scaling, status
from tare.cli.commands.import_ import command, with_progress_bar
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.storage.campaign import read_campaign
from tare.storage.candidates import Candidate


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)


def compared(folder: Path) -> str:
    return CliRunner().invoke(compare.command, [str(folder)], catch_exceptions=False).stdout


def settings(folder: Path) -> list[dict[str, object]]:
    return [dict(case.settings) for case in read_campaign(folder).plan.cases]


def imb(ranks: int, factor: float = 1.0) -> str:
    """Return what IMB-MPI1 prints of Alltoall on `ranks` ranks."""
    rows = "".join(
        f"{size:13d}{1000:13d}{factor * 10:13.2f}{factor * 12:13.2f}{factor * 11:13.2f}\n"
        for size in (1, 2, 4)
    )
    return (
        "#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n"
        "# Minimum message length in bytes:   1\n# Maximum message length in bytes:   4\n"
        f"# Benchmarking Alltoall\n# #processes = {ranks}\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        f"{rows}\n# All processes entering MPI_Finalize\n"
    )


def hpcg(ranks: int, rating: float, threads: int = 1) -> str:
    """Return the lines of HPCG's report that are read."""
    return f"""\
HPCG-Benchmark
version=3.1
Machine Summary::Distributed Processes={ranks}
Machine Summary::Threads per processes={threads}
Local Domain Dimensions::nx=104
Local Domain Dimensions::ny=104
Local Domain Dimensions::nz=104
Benchmark Time Summary::Total={60.0 + rating}
GFLOP/s Summary::Raw Total={rating + 1}
Final Summary::HPCG result is VALID with a GFLOP/s rating of={rating}
Final Summary::Please upload results from the YAML file contents to=http://hpcg-benchmark.org
"""


IMB_TREE = "{platform}/IMB_Alltoall_{nodes}nodes_*_{date}.out"


@pytest.fixture
def imb_tree(tmp_path: Path) -> Path:
    """Return a tree as that of ARCHER: two machines whose nodes have other numbers of cores."""
    for platform, per_node, factor in (("archer", 24, 1.0), ("cirrus", 36, 1.5), ("peta4", 24, 2.0)):
        for nodes in (2, 4):
            name = f"IMB_Alltoall_{nodes}nodes_MPI_20190531{nodes:02d}00.out"
            put(tmp_path / "r" / platform / name, imb(nodes * per_node, factor))
    return tmp_path / "r"


def test_ranks_are_those_that_the_logs_state(imb_tree: Path, tmp_path: Path) -> None:
    run("imb.alltoall", imb_tree, "--out", tmp_path / "c", "--pattern", IMB_TREE)
    found = {(one["platform"], one["nodes"]): one for one in settings(tmp_path / "c")}
    assert found["archer", 2] == {
        "workload": "imb.alltoall",
        "platform": "archer",
        "nodes": 2,
        "ranks": 48,
        "ranks_per_node": 24,
        "program_version": "2019 Update 6",
    }  # threads are neither told nor printed
    assert found["cirrus", 4]["ranks"] == 144


def test_other_ranks_under_the_same_nodes_are_not_compared_and_that_is_reported(
    imb_tree: Path, tmp_path: Path
) -> None:
    done = run(
        *("imb.alltoall", imb_tree, "--out", tmp_path / "c", "--pattern", IMB_TREE),
        *("--reference", "platform=archer"),
    )
    words = (
        "platform=cirrus nodes=2 ranks=72 ranks_per_node=36 is held against nothing: "
        "the nearest reference has other ranks (48, not 72), ranks_per_node (24, not 36)"
    )
    assert words in done.stderr
    table = compared(tmp_path / "c")
    assert "cirrus" not in table
    assert "peta4" in table
    assert "+100 %" in table


def test_compare_explains_why_nothing_matches(imb_tree: Path, tmp_path: Path) -> None:
    trees = [imb_tree / "archer", imb_tree / "cirrus"]
    run(
        "imb.alltoall",
        *trees,
        "--out",
        tmp_path / "c",
        "--pattern",
        IMB_TREE,
        "--reference",
        "platform=archer",
    )
    assert "other ranks (48, not 72), ranks_per_node (24, not 36); to hold it" in compared(tmp_path / "c")
    named = ("--reference", "platform=archer", "--reference", "ranks=48", "--reference", "ranks_per_node=24")
    run("imb.alltoall", *trees, "--out", tmp_path / "d", "--pattern", IMB_TREE, *named)
    assert "+50 %" in compared(tmp_path / "d")  # as was asked for


def test_other_versions_of_a_program_are_not_compared_unless_that_is_asked_for(tmp_path: Path) -> None:
    for platform, version in (("bare", "5.6.2"), ("docker", "7.4")):
        title = f"# OSU MPI Broadcast Latency Test v{version}\n# Size       Avg Latency(us)\n"
        rows = "".join(f"{1 << power:<10d} {10:17.2f}\n" for power in range(21))
        put(tmp_path / "r" / platform / "1.out", title + rows)
    command = ("osu.bcast", tmp_path / "r", "--pattern", "{platform}/*.out", "--reference", "platform=bare")
    done = run(*command, "--out", tmp_path / "c")
    assert "program_version  printed by the program  5.6.2, 7.4" in done.stdout
    assert "the nearest reference has other program_version (5.6.2, not 7.4)" in done.stderr
    assert compared(tmp_path / "c").startswith("Nothing to compare")
    done = run(*command, "--reference", "program_version=5.6.2", "--out", tmp_path / "d")
    assert "is held against nothing" not in done.stderr


def test_settings_neither_stated_nor_printed_are_unknown_in_every_output(tmp_path: Path) -> None:
    head = "# OSU MPI All-to-All Personalized Exchange Latency Test v5.6\n# Size       Avg Latency(us)\n"
    for platform, factor in (("bare", 1), ("docker", 2)):
        for number in (1, 2, 3):
            rows = "".join(f"{1 << power:<10d} {factor * (10 + number):17.2f}\n" for power in range(21))
            put(tmp_path / "r" / platform / f"{number}.out", head + rows)
    done = run(
        *("osu.alltoall", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.out"),
        *("--reference", "platform=bare"),
    )
    assert "The ranks of 2 cases are unknown: neither stated nor printed." in done.stderr
    assert settings(tmp_path / "c") == [
        {"workload": "osu.alltoall", "platform": "bare", "program_version": "5.6"},
        {"workload": "osu.alltoall", "platform": "docker", "program_version": "5.6"},
    ]
    assert "+" in compared(tmp_path / "c")
    for one in (status, scaling):
        assert CliRunner().invoke(one.command, [str(tmp_path / "c")], catch_exceptions=False).exit_code == 0
    shown = CliRunner().invoke(report.command, [str(tmp_path / "c")], catch_exceptions=False)
    page = Path(shown.stdout.strip()).read_text()
    assert "1 node" not in page
    assert "nodes unknown" in page


@pytest.mark.parametrize("told", [("--set", "ranks=512"), ("--set", "nodes=8", "--set", "ranks_per_node=64")])
def test_stated_settings_must_be_the_printed_ones(tmp_path: Path, told: tuple[str, ...]) -> None:
    put(tmp_path / "r" / "a" / "1.txt", hpcg(4, 10.0))
    put(tmp_path / "r" / "b" / "1.txt", hpcg(2, 20.0))
    with pytest.raises(UsageError) as caught:
        run("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt", *told)
    assert "hpcg printed 4 ranks, and 512 were stated" in str(caught.value)
    assert "hpcg printed 2 ranks, and 512 were stated" in str(caught.value)
    assert not (tmp_path / "c").exists()


def test_parse_compares_stated_with_printed_settings(tmp_path: Path) -> None:
    log = put(tmp_path / "1.txt", hpcg(4, 10.0))
    done = CliRunner().invoke(parse.command, ["hpcg", str(log), "--set", "ranks=512"], catch_exceptions=False)
    assert done.exit_code == 1
    assert "hpcg printed 4 ranks, and 512 were stated" in done.stderr
    good = CliRunner().invoke(parse.command, ["hpcg", str(log), "--set", "ranks=4"], catch_exceptions=False)
    assert good.exit_code == 0


def test_a_contradiction_is_an_invalid_run_with_both_values(tmp_path: Path) -> None:
    put(tmp_path / "r" / "a" / "4.txt", hpcg(4, 10.0))
    put(tmp_path / "r" / "b" / "4.txt", hpcg(2, 20.0))
    run("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{ranks}.txt")
    reasons = {one.reason for one in read_campaign(tmp_path / "c").attempts}
    assert reasons == {"", "hpcg printed 2 ranks, and 4 were stated"}


def test_before_anything_is_written_a_table_reports_what_is_known_and_where_from(
    imb_tree: Path, tmp_path: Path
) -> None:
    done = run(
        *("imb.alltoall", imb_tree, "--out", tmp_path / "c", "--pattern", IMB_TREE),
        *("--set", "network=ib", "--dry-run"),
    )
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "setting source values files"
    assert "nodes told by the path 2, 4 6" in lines
    assert "ranks printed by the program 48, 72, 96, 144 6" in lines
    assert "ranks_per_node inferred from the others 24, 36 6" in lines
    assert "threads unknown – 6" in lines
    assert "network told by --set ib 6" in lines
    assert not (tmp_path / "c").exists()
    body = json.loads(
        run("imb.alltoall", imb_tree, "--out", tmp_path / "c", "--pattern", IMB_TREE, "--json").stdout
    )
    assert {"setting": "nodes", "source": "told by the path", "values": [2, 4], "files": 6} in body[
        "settings"
    ]


def elbencho(rate: int) -> str:
    return f"""\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
WRITE       Elapsed ms       :         100         120
            IOPS             :          {rate}          {rate}
            Throughput MiB/s :          {rate}          {rate}
            Total MiB        :         100         100
---
"""


@pytest.fixture
def elbencho_tree(tmp_path: Path) -> Path:
    for storage, factor in (("lustre", 1), ("nfs", 2)):
        for index, block in enumerate(("4KiB", "64KiB", "1MiB")):
            put(
                tmp_path / "r" / storage / block / "2024-01-01" / "out.txt",
                elbencho((index + 1) * 100 // factor),
            )
    return tmp_path / "r"


def test_a_block_is_the_size_of_a_block_where_the_workload_has_one(
    elbencho_tree: Path, tmp_path: Path
) -> None:
    run(
        *("elbencho.write", elbencho_tree, "--out", tmp_path / "c", "--reference", "storage=lustre"),
        *("--pattern", "{storage}/{block}/{started}/out.txt"),
    )
    assert {one["block"] for one in settings(tmp_path / "c")} == {4096, 65536, 1 << 20}
    campaign = read_campaign(tmp_path / "c")
    assert len(campaign.plan.cases) == 6
    assert {one.block for one in campaign.attempts} == {1}  # three sizes are no three repeats
    rows = compared(tmp_path / "c")
    assert rows.count("nfs") == 2 * 3  # bandwidth and operations at each size


def test_a_number_that_may_be_a_repeat_is_asked_about(tmp_path: Path) -> None:
    put(tmp_path / "r" / "nfs" / "3" / "out.txt", elbencho(100))
    with pytest.raises(UsageError, match=r"3 looks like the number of a repeat; write \{repeat\}"):
        run(
            *("elbencho.write", tmp_path / "r", "--out", tmp_path / "c"),
            *("--pattern", "{storage}/{block}/out.txt"),
        )
    run(
        *("elbencho.write", tmp_path / "r", "--out", tmp_path / "c"),
        *("--pattern", "{storage}/{repeat}/out.txt", "--set", "block=512KiB"),
    )
    (attempt,) = read_campaign(tmp_path / "c").attempts
    assert (attempt.block, attempt.source and attempt.source.gives_block) == (3, True)
    assert settings(tmp_path / "c")[0]["block"] == 512 << 10


@pytest.mark.parametrize("name", ["block", "repeat"])
def test_a_block_at_a_time_is_stated_by_its_number(tmp_path: Path, name: str) -> None:
    for number, log in ((7, 1.0), (8, 1.5), (9, 2.0)):  # an interval takes three
        for platform, factor in (("a", 1.0), ("b", 1.1)):
            put(tmp_path / f"{number}" / f"{platform}.txt", hpcg(4, log * factor))
        done = run(
            *("hpcg", tmp_path / f"{number}", "--out", tmp_path / "c", "--pattern", "{platform}.txt"),
            *("--set", f"{name}={number}", "--set", f"date=2026-11-0{number}", "--reference", "platform=a"),
        )
        assert done.exit_code == 0
    found = read_campaign(tmp_path / "c").attempts
    assert sorted(one.block for one in found) == [7, 7, 8, 8, 9, 9]
    assert all(one.source and one.source.gives_block and one.source.gives_time for one in found)
    assert "paired over n blocks" in compared(tmp_path / "c")


def test_two_files_of_equal_settings_are_not_one_block(tmp_path: Path) -> None:
    for number in (1, 2):
        put(tmp_path / "r" / f"{number}.txt", hpcg(4, float(number)))
    done = run("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--set", "repeat=3")
    assert "2.txt: block 3 of these settings is" in done.stderr
    assert [one.block for one in read_campaign(tmp_path / "c").attempts] == [3]


def test_a_block_that_is_a_size_is_shown_as_one(tmp_path: Path) -> None:
    put(tmp_path / "out.txt", elbencho(100))
    with pytest.raises(UsageError, match="--set block 7: here block is the size of a block"):
        run("elbencho.write", tmp_path / "out.txt", "--out", tmp_path / "c", "--set", "block=7")


def test_a_size_is_no_number_of_a_repeat(tmp_path: Path) -> None:
    put(tmp_path / "r" / "nfs" / "64KiB" / "out.txt", hpcg(4, 1.0))
    with pytest.raises(UsageError, match=r"\{block\} numbers repeats, and 64KiB is a size"):
        run("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{storage}/{block}/out.txt")


def test_a_log_that_broke_off_before_it_printed_settings_is_a_run_of_the_case_of_the_others(
    tmp_path: Path,
) -> None:
    for platform in ("a", "b"):
        for number in (1, 2):
            put(tmp_path / "r" / platform / f"{number}.txt", hpcg(4, 10.0 + number))
    put(tmp_path / "r" / "b" / "3.txt", "")
    command = ("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt")
    done = run(*command, "--reference", "platform=a")
    assert "is held against nothing" not in done.stderr
    assert "c: 5 runs of 2 cases imported (4 done, 1 invalid)" in done.stdout
    again = run(*command)
    assert "5 there already" in again.stdout
    assert "not imported" not in again.stderr


def test_compressed_files_are_named_with_the_cure(tmp_path: Path) -> None:
    put(tmp_path / "r" / "a" / "1.txt", hpcg(4, 10.0))
    for name in ("2.txt.gz", "3.txt"):
        (tmp_path / "r" / "a" / name).write_bytes(gzip.compress(hpcg(4, 11.0).encode()))
    command = ("hpcg", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt")
    done = run(*command, "--dry-run")
    assert done.exit_code == 1
    for name in ("2.txt.gz", "3.txt"):
        assert f"{name}: is compressed; unpack it first" in done.stderr


def test_files_of_several_folders_that_no_pattern_distinguishes_are_pointed_out(tmp_path: Path) -> None:
    for platform in ("a", "b"):
        put(tmp_path / "r" / platform / "1.txt", hpcg(4, 10.0 + len(platform) + ord(platform)))
    done = run("hpcg", tmp_path / "r", "--out", tmp_path / "c")
    assert (
        "are taken as repeats of one case; if their paths hold settings, name those in --pattern"
        in done.stderr
    )
    done = run("hpcg", tmp_path / "r", "--out", tmp_path / "d", "--pattern", "{platform}/*.txt")
    assert "repeats of one case" not in done.stderr


def test_systems_with_other_ranges_of_sizes_are_compared_at_the_sizes_of_both(tmp_path: Path) -> None:
    for platform, top in (("a", 22), ("b", 20)):
        title = "# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n"
        rows = "".join(
            f"{size:<10d} {10 + size / 1000:17.2f}\n" for size in (0, *(1 << n for n in range(top + 1)))
        )
        put(tmp_path / "r" / platform / f"{1 << top}" / "1.out", title + rows)
    command = ("osu.latency", tmp_path / "r", "--reference", "platform=a")
    done = run(*command, "--out", tmp_path / "c", "--pattern", "{platform}/*/{repeat}.out")
    assert (
        "stops at 1048576 of 4194304 bytes; if it was to end there, state that: "
        "--set max_bytes=SIZE, or {max_bytes} in --pattern"
    ) in done.stdout
    pattern = ("--pattern", "{platform}/{max_bytes}/{repeat}.out")
    done = run(*command, "--out", tmp_path / "d", *pattern)
    assert "other max_bytes (4194304, not 1048576)" in done.stderr
    run(*command, "--reference", "max_bytes=4MiB", "--out", tmp_path / "e", *pattern)
    table = json.loads(CliRunner().invoke(compare.command, [str(tmp_path / "e"), "--json"]).stdout)
    rows_of = [row for row in table["comparisons"] if row["fom"] == "latency" and row["ratio"] is not None]
    sizes = {row["at"]["bytes"] for row in rows_of}
    assert sizes == {0, *(1 << n for n in range(21))}


def test_many_files_show_how_far_reading_them_is(capsys: pytest.CaptureFixture[str]) -> None:
    many = [Candidate(Path(f"{number}.txt"), {}) for number in range(300)]
    with with_progress_bar(many, is_terminal=True) as files:
        assert [*files] == many
    assert "reading" in capsys.readouterr().err
    for few, is_terminal in ((many, False), (many[:5], True)):
        with with_progress_bar(few, is_terminal=is_terminal) as files:
            assert [*files] == few
    assert capsys.readouterr().err == ""


def test_words_in_a_date_are_no_date_since_they_may_distinguish_cases(tmp_path: Path) -> None:
    for mode in ("sameswitch", "diffswitch"):
        put(tmp_path / "r" / f"IMB_Alltoall_2nodes_{mode}_202102240810.out", imb(48))
    command = ("imb.alltoall", tmp_path / "r", "--out", tmp_path / "c")
    words = (
        r"started diffswitch_202102240810 is no date; if it holds another setting, "
        r"name that by its own name, as \{mode\}_\{started\}"
    )
    with pytest.raises(UsageError, match=words):
        run(*command, "--pattern", "IMB_Alltoall_{nodes}nodes_{started}.out")
    run(*command, "--pattern", "IMB_Alltoall_{nodes}nodes_{mode}_{started}.out")
    assert {one["mode"] for one in settings(tmp_path / "c")} == {"sameswitch", "diffswitch"}


@pytest.mark.parametrize("names", ["{repeat}/{block}", "{started}/{date}"])
def test_two_names_of_one_order_are_refused(tmp_path: Path, names: str) -> None:
    with pytest.raises(UsageError, match="mean the same here; leave one out"):
        run("hpcg", tmp_path, "--out", tmp_path / "c", "--pattern", f"{names}/out.txt")


def qperf(sizes: tuple[int, ...]) -> str:
    return "".join(
        f"tcp_bw:\n    bw        =  {100 + size / 100:.1f} MB/sec\n    msg_size  =  {size} bytes\n"
        for size in sizes
    )


def test_a_log_that_lacks_its_first_sizes_is_compared_at_those_that_both_have(tmp_path: Path) -> None:
    sizes = (1, 2, 300, 500, 700, 900)
    for repeat in (1, 2, 3):
        put(tmp_path / "r" / "a" / f"{repeat}.txt", qperf(sizes))
        put(tmp_path / "r" / "b" / f"{repeat}.txt", qperf(sizes[2:]))
    run(
        *("qperf", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{repeat}.txt"),
        *("--reference", "platform=a", "--keep-equal"),
    )
    table = compared(tmp_path / "c")
    assert "worse" not in table.split("Each is")[0]
    assert "better" not in table.split("Each is")[0]
    places = {
        (attempt.case, size)
        for attempt in read_campaign(tmp_path / "c").attempts
        for series in attempt.series
        for size in series.at["bytes"]
    }
    assert len(places) == len(sizes) + len(sizes[2:])


def _campaign(tmp_path: Path) -> Campaign:
    return read_campaign(tmp_path / "c")


def test_what_was_printed_is_kept_with_the_run(tmp_path: Path) -> None:
    put(tmp_path / "r" / "1.txt", hpcg(4, 10.0, threads=2))
    run("hpcg", tmp_path / "r", "--out", tmp_path / "c")
    (attempt,) = _campaign(tmp_path).attempts
    assert attempt.printed["ranks"] == [4]
    assert attempt.printed["threads"] == [2]
    assert settings(tmp_path / "c")[0]["nx"] == 104


def test_the_table_writes_sizes_as_a_study_does(elbencho_tree: Path, tmp_path: Path) -> None:
    names = "{storage}/{block}/{started}/out.txt"
    done = run("elbencho.write", elbencho_tree, "--out", tmp_path / "c", "--pattern", names)
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("block ")]
    assert "4KiB, 64KiB, 1MiB" in row


def test_thousands_of_cases_that_are_like_no_reference_are_reported_in_seconds() -> None:
    cases = tuple(
        Case(id=str(number), workload="osu.allreduce", platform=f"p{number % 2}", parameters={"x": number})
        for number in range(4000)
    )
    plan = Plan(study="s", site="here", cases=cases, reference={"platform": "p0"})
    started = time.process_time()
    assert len(without_reference(plan)) == 2000
    assert time.process_time() - started < 8
