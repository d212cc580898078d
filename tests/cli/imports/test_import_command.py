"""`tare import`, from existing logs to a campaign that every other command reads."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.imports.imported_logs import osu, put, run
from tare.cli.commands import compare, export, report, status
from tare.core.errors import FileFaults, NoCampaign, UsageError
from tare.storage import imports
from tare.storage.campaign import read_campaign

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
PATTERN = "{platform}/{mpi}/{started}/osu_alltoall.out"
STARTS = ("2016-01-08_13-53-05", "2016-01-09T10:00:00+01:00", "1452600000")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return results of two platforms with three runs each; the second is a fifth slower."""
    for platform, slower in (("bare", 1.0), ("docker", 1.2)):
        for number, start in enumerate(STARTS):
            text = osu(slower * (1 + number / 1000))
            put(tmp_path / "results" / platform / "ompi" / start / "osu_alltoall.out", text)
    return tmp_path / "results"


def osu_import(tree: Path, out: Path, *options: str | Path) -> Result:
    return run("osu.alltoall", tree, "--out", out, "--pattern", PATTERN, *options)


def test_a_tree_becomes_a_campaign_that_every_command_reads(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    done = osu_import(tree, out, "--set", "nodes=2", "--set", "ranks=2", "--reference", "platform=bare")
    assert done.exit_code == 0, done.output
    assert "6 runs of 2 cases imported (6 done)" in done.stdout
    runner = CliRunner()
    compared = runner.invoke(compare.command, [str(out)], catch_exceptions=False).stdout
    assert "docker" in compared
    assert "+20" in compared
    assert "▲ worse" in compared
    assert "6 of 6 runs done" in runner.invoke(status.command, [str(out)], catch_exceptions=False).stdout
    rows = list(
        csv.DictReader(runner.invoke(export.command, [str(out)], catch_exceptions=False).stdout.splitlines())
    )
    assert {(row["platform"], row["mpi"], row["nodes"]) for row in rows} == {
        ("bare", "ompi", "2"),
        ("docker", "ompi", "2"),
    }
    page = Path(runner.invoke(report.command, [str(out)], catch_exceptions=False).stdout.strip())
    assert "their order is that of the times in their files, which Tare cannot verify" in page.read_text()


def test_repeats_are_blocks_in_the_order_of_their_starts(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    osu_import(tree, out)
    attempts = read_campaign(out).attempts
    bare = {one.block: one for one in attempts if one.source and "/bare/" in one.source.path}
    assert sorted(bare) == [1, 2, 3]
    starts = {block: Path(one.source.path).parts[-2] for block, one in bare.items() if one.source}
    assert starts == dict(enumerate(STARTS, 1))
    assert [bare[block].started_at for block in (1, 2, 3)] == [1452261185.0, 1452330000.0, 1452600000.0]
    assert not any(one.source and one.source.gives_block for one in attempts)  # an order pairs nothing


def test_every_run_leads_to_the_raw_file_and_where_it_lay(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    osu_import(tree, out)
    for attempt in read_campaign(out).attempts:
        assert attempt.source is not None
        raw = Path(attempt.source.path)
        assert (out / attempt.folder / "stdout").read_bytes() == raw.read_bytes()
        assert hashlib.sha256(raw.read_bytes()).hexdigest() == attempt.source.sha256
        (record,) = json.loads((out / attempt.folder / "command.json").read_text())
        assert record["source"] == {"path": str(raw), "sha256": attempt.source.sha256, "tells_time": True}
        assert record["argv"] == ["tare", "import", "osu.alltoall", str(raw)]


def test_an_output_cut_short_is_an_invalid_run_and_listed(tree: Path, tmp_path: Path) -> None:
    put(tree / "bare" / "ompi" / "2017-01-01" / "osu_alltoall.out", osu(last=1024))
    done = osu_import(tree, tmp_path / "campaign")
    assert done.exit_code == 1
    assert "6 done, 1 invalid" in done.stdout
    shown = CliRunner().invoke(status.command, [str(tmp_path / "campaign")], catch_exceptions=False).stdout
    assert "6 of 7 runs done, 1 invalid" in shown
    assert "stops at 1024" in shown


def test_what_does_not_match_is_listed_and_no_failure(tree: Path, tmp_path: Path) -> None:
    put(tree / "README", "about these")
    done = osu_import(tree, tmp_path / "campaign", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["refused"] == [
        {"file": str(tree / "README"), "why": f"does not match {PATTERN}"}
    ]


def test_nothing_is_written_when_nothing_was_read(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    for arguments in (
        ("osu.alltoall", tree, "--pattern", "elsewhere/{platform}.out"),
        ("hpcg", tree, "--pattern", PATTERN),
        ("osu.alltoall", tmp_path / "missing"),
    ):
        with pytest.raises(UsageError, match="no file gave a figure"):
            run(*arguments, "--out", out)
        assert not out.exists()


def test_a_dry_run_reports_all_and_writes_nothing(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    done = osu_import(tree, out, "--dry-run")
    assert done.stdout.count("osu_alltoall.out") == 6
    assert "would be imported" in done.stdout
    assert not out.exists()


def test_the_same_import_again_changes_nothing_and_new_files_are_added(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    osu_import(tree, out, "--reference", "platform=bare")
    before = (out / "journal.jsonl").read_bytes()
    assert "6 there already" in osu_import(tree, out).stdout
    assert (out / "journal.jsonl").read_bytes() == before
    put(tree / "bare" / "ompi" / "2018-01-01" / "osu_alltoall.out", osu(1.01))
    put(tree / "podman" / "ompi" / "2018-01-01" / "osu_alltoall.out", osu(1.3))
    assert "2 runs of 2 cases imported" in osu_import(tree, out).stdout
    campaign = read_campaign(out)
    assert campaign.plan.reference == {"platform": "bare"}
    assert sorted(one.block for one in campaign.attempts) == [1, 1, 1, 2, 2, 3, 3, 4]
    assert len(campaign.planned()) == 8


def test_another_workload_joins_the_same_campaign(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    osu_import(tree, out)
    text = osu().replace("All-to-All Personalized Exchange", "Allgather")
    log = put(tmp_path / "more" / "bare" / "osu_allgather.out", text)
    run("osu.allgather", log, "--out", out, "--pattern", "{platform}/osu_allgather.out")
    assert set(read_campaign(out).plan.foms) == {"osu.alltoall", "osu.allgather"}


def test_a_file_that_changed_or_changed_sides_is_refused(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    osu_import(tree, out)
    raw = tree / "bare" / "ompi" / STARTS[0] / "osu_alltoall.out"
    raw.unlink()  # the evidence is a hard link to it
    put(raw, osu(2.0))
    done = osu_import(tree, out)
    assert done.exit_code == 1
    assert "its content is not what was imported as attempts/" in done.stderr
    done = osu_import(tree, out, "--set", "network=ib")
    assert "imported with other settings as attempts/" in done.stderr
    assert len(read_campaign(out).attempts) == 6


def test_one_run_is_not_counted_twice(tree: Path, tmp_path: Path) -> None:
    again = tree / "bare" / "ompi" / "1452777777" / "osu_alltoall.out"
    again.parent.mkdir()
    shutil.copy(tree / "bare" / "ompi" / STARTS[0] / "osu_alltoall.out", again)
    done = osu_import(tree, tmp_path / "one")
    assert done.exit_code == 1
    assert "one run is not two" in done.stderr
    assert len(read_campaign(tmp_path / "one").attempts) == 6
    osu_import(tree, tmp_path / "two", "--keep-equal")
    assert len(read_campaign(tmp_path / "two").attempts) == 7


def test_equal_files_of_different_settings_are_pointed_out(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree / "bare", tree / "podman")
    done = osu_import(tree, tmp_path / "campaign")
    assert done.exit_code == 0
    assert "has the same content as" in done.stderr
    assert len(read_campaign(tmp_path / "campaign").attempts) == 9


def test_a_block_in_the_path_is_kept_so_that_pairs_stay_pairs(tmp_path: Path) -> None:
    for platform, blocks in (("bare", (1, 2, 3)), ("docker", (1, 3))):
        for block in blocks:
            put(tmp_path / "r" / platform / f"{block}.out", osu(1 + block / 100 + len(platform)))
    run("osu.alltoall", tmp_path / "r", "--out", tmp_path / "c", "--pattern", "{platform}/{block}.out")
    campaign = read_campaign(tmp_path / "c")
    blocks_of = {
        case.platform: sorted(one.block for one in campaign.attempts if one.case == case.id)
        for case in campaign.plan.cases
    }
    assert blocks_of == {"bare": [1, 2, 3], "docker": [1, 3]}
    assert all(one.source and one.source.gives_block for one in campaign.attempts)
    assert len(campaign.planned()) == 5  # nothing is pending


def test_settings_have_their_types_and_other_names_are_factors(tmp_path: Path) -> None:
    put(tmp_path / "n04" / "1.10" / "64KiB" / "x.out", osu(last=65536))
    run(
        *("osu.alltoall", tmp_path, "--out", tmp_path / "c"),
        *("--pattern", "n{nodes}/{mpi}/{max_bytes}/x.out", "--set", "ranks=16", "--set", "queue=7"),
    )
    (case,) = read_campaign(tmp_path / "c").plan.cases
    assert (case.layout.nodes, case.layout.ranks, case.layout.ranks_per_node) == (4, 16, 4)
    assert case.parameters == {"max_bytes": 65536, "mpi": "1.10", "queue": 7, "program_version": "5.6"}
    assert case.platform == "unknown"


def test_output_is_compared_with_the_stated_parameters(tmp_path: Path) -> None:
    log = put(tmp_path / "64KiB.out", osu(last=65536))
    with pytest.raises(UsageError, match="stops at 65536 of 1048576"):
        run("osu.alltoall", log, "--out", tmp_path / "c")
    with pytest.raises(UsageError, match="stops at 65536 of 4194304"):
        run("osu.alltoall", log, "--out", tmp_path / "c", "--set", "max_bytes=4MiB")
    assert run("osu.alltoall", log, "--out", tmp_path / "c", "--set", "max_bytes=64KiB").exit_code == 0


def test_a_path_with_a_value_that_cannot_be_is_listed(tree: Path, tmp_path: Path) -> None:
    done = run(
        *("osu.alltoall", tree, "--out", tmp_path / "c", "--set", "nodes=2"),
        *("--pattern", "{platform}/ompi/{ranks}/osu_alltoall.out"),
    )
    assert done.exit_code == 1
    assert "'2016-01-08_13-53-05' is not a rank count; use 1 or more" in done.stderr
    assert len(read_campaign(tmp_path / "c").attempts) == 2  # 1452600000 could be one


def test_a_table_states_the_settings_and_its_paths_start_where_it_lies(tree: Path, tmp_path: Path) -> None:
    rows = [
        f"bare/ompi/{start}/osu_alltoall.out,host,{number},{start}" for number, start in enumerate(STARTS)
    ]
    table = put(tree / "factors.csv", "path,network,queue,started\r\n" + "\r\n".join(rows) + "\r\n")
    run("osu.alltoall", "--table", table, "--out", tmp_path / "c")
    settings = [case.settings for case in read_campaign(tmp_path / "c").plan.cases]
    assert [(one["network"], one["queue"]) for one in settings] == [("host", 0), ("host", 1), ("host", 2)]


def test_starts_order_the_repeats_before_names_do(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        put(tmp_path / f"{number}.out", osu(1 + number / 10))
    rows = "1.out,2016-03-01\n2.out,2016-02-01\n10.out,2016-01-01\n"
    table = put(tmp_path / "factors.csv", f"path,started\n{rows}")
    run("osu.alltoall", "--table", table, "--out", tmp_path / "told")
    run("osu.alltoall", tmp_path, "--out", tmp_path / "named", "--pattern", "*.out")
    names = {
        out: [Path(one.source.path).stem for one in read_campaign(tmp_path / out).attempts if one.source]
        for out in ("told", "named")
    }
    assert names == {"told": ["10", "2", "1"], "named": ["1", "2", "10"]}


def test_every_value_of_a_table_that_cannot_be_has_its_line(tree: Path, tmp_path: Path) -> None:
    rows = [f"bare/ompi/{start}/osu_alltoall.out,{nodes}" for start, nodes in zip(STARTS, "x2y", strict=True)]
    table = put(tree / "factors.csv", "path,nodes\n" + "\n".join(rows) + "\n")
    with pytest.raises(FileFaults) as caught:
        run("osu.alltoall", "--table", table, "--out", tmp_path / "c")
    assert [(fault.line, fault.path) for fault in caught.value.faults] == [(2, "nodes"), (4, "nodes")]


def test_files_beside_the_table_and_rows_without_a_file_are_listed(tree: Path, tmp_path: Path) -> None:
    table = put(
        tmp_path / "factors.csv", f"path,nodes\nresults/bare/ompi/{STARTS[0]}/osu_alltoall.out,2\ngone,2\n"
    )
    done = run("osu.alltoall", "--table", table, "--out", tmp_path / "c")
    assert "gone: cannot be read: No such file" in done.stderr
    done = run("osu.alltoall", tree, "--table", table, "--out", tmp_path / "d", "--json")
    assert len([one for one in json.loads(done.stdout)["refused"] if "no row" in one["why"]]) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "platform=x"), "--set and --pattern both give 'platform'"),
        (("--set", "nodes=none"), "'none' is not a node count"),
        (("--set", "nodes"), "write NAME=VALUE"),
        (("--set", "workload=x"), "first word of the command"),
        (("--set", "block=some"), "--set block some: it numbers the repeat; write block=1 or more"),
        (("--set", "repeat=64KiB"), "--set repeat 64KiB: it numbers the repeat"),
        (("--set", "repeat=1", "--set", "block=1"), "mean the same here"),
        (("--set", "repeat=1", "--set", "repeat=2"), "repeat is there twice"),
        (("--reference", "platform=podman"), "no file has these settings; what varies is platform"),
    ],
)
def test_the_error_of_a_wrong_option_has_the_cure(
    tree: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        osu_import(tree, tmp_path / "c", *options)
    assert not (tmp_path / "c").exists()


def test_a_folder_of_something_else_is_left_unchanged(tree: Path, tmp_path: Path) -> None:
    put(tmp_path / "full" / "thesis.tex", "")
    with pytest.raises(UsageError, match="holds something else"):
        osu_import(tree, tmp_path / "full")


def test_an_import_that_was_killed_before_its_plan_was_written_is_made_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(imports, "freeze", killed)
        osu_import(tree, tmp_path / "c")
    assert not (tmp_path / "c" / "plan.json").exists()
    with pytest.raises(NoCampaign, match=r"plan\.json is not written yet; 'tare run STUDY' makes one"):
        read_campaign(tmp_path / "c")
    assert osu_import(tree, tmp_path / "c").exit_code == 0
    assert len(read_campaign(tmp_path / "c").attempts) == 6


def test_names_as_bad_as_a_file_system_allows_do_no_harm(tree: Path, tmp_path: Path) -> None:
    bad = tree / os.fsdecode(b"evil\xff") / "ompi" / "2016" / "osu_alltoall.out"
    put(bad, osu(3.0))
    put(tree / "new\nline\x1b[2J" / "ompi" / "2016" / "osu_alltoall.out", osu(4.0))
    put(tree / "<script>alert(1)" / "'; rm -rf $HOME" / "2016" / "osu_alltoall.out", osu(5.0))
    done = osu_import(tree, tmp_path / "c")
    assert "\x1b" not in done.output
    assert "evil\\xff" in done.stderr
    assert len(read_campaign(tmp_path / "c").attempts) == 7
    page = CliRunner().invoke(report.command, [str(tmp_path / "c")], catch_exceptions=False).stdout.strip()
    assert "<script>alert" not in Path(page).read_text()


@pytest.mark.slow
def test_ten_thousand_files_are_imported_each_once(tmp_path: Path) -> None:
    for number in range(10_000):
        put(tmp_path / "r" / f"p{number % 10}" / f"{number}.out", f"# Barrier\n{number}")
    log = put(tmp_path / "r" / "p0" / "good.out", osu())
    done = run(
        *("osu.alltoall", tmp_path / "r", "--out", tmp_path / "c", "--json"),
        *("--pattern", "{platform}/{block}.out"),
    )
    body = json.loads(done.stdout)
    assert len(body["runs"]) == 10_001
    assert [one["file"] for one in body["runs"] if one["state"] == "done"] == [str(log)]
    assert len(read_campaign(tmp_path / "c").attempts) == 10_001


@pytest.mark.parametrize(
    ("workload", "name", "state"),
    [
        ("osu.alltoall", "osu/16-alltoall-ompi4-roce.out", "done"),
        ("osu.latency", "osu/13-latency-impi-verbs-v5.6.2.out", "done"),
        ("osu.latency", "osu/04-latency-cancelled-at-512K.out", "invalid"),
    ],
)
def test_real_output_is_judged_as_a_run_would_be(
    tmp_path: Path, workload: str, name: str, state: str
) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no collection of real benchmark output at {CORPUS}")
    good = CORPUS / "osu" / "13-latency-impi-verbs-v5.6.2.out"
    files = [CORPUS / name, *([good] if state == "invalid" else [])]
    done = run(workload, *files, "--out", tmp_path / "c", "--json")
    states = {Path(one["file"]).name: one["state"] for one in json.loads(done.stdout)["runs"]}
    assert states[Path(name).name] == state
