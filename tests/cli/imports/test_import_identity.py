"""What runs an import takes as the same: by settings that are stated, printed or unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.imports.imported_logs import IMB_TREE, compared, hpcg, imb, put, run, settings
from tare.cli.commands import parse, report, scaling, status
from tare.core.campaign import Campaign
from tare.core.errors import UsageError
from tare.storage.campaign import read_campaign


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
    table, _, left_out = compared(tmp_path / "c").partition("Not in the table:")
    assert "cirrus" not in table
    assert "peta4" in table
    assert "+100 %" in table
    assert words in left_out


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


def _campaign(tmp_path: Path) -> Campaign:
    return read_campaign(tmp_path / "c")


def test_what_was_printed_is_kept_with_the_run(tmp_path: Path) -> None:
    put(tmp_path / "r" / "1.txt", hpcg(4, 10.0, threads=2))
    run("hpcg", tmp_path / "r", "--out", tmp_path / "c")
    (attempt,) = _campaign(tmp_path).attempts
    assert attempt.printed["ranks"] == [4]
    assert attempt.printed["threads"] == [2]
    assert settings(tmp_path / "c")[0]["nx"] == 104
