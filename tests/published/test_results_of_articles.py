"""Results of articles: what is recorded and shown, and how the studies behind them are run."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from bench.articles import __main__ as command
from bench.articles import running
from bench.articles.judging import judge
from bench.articles.pages import FILE
from bench.articles.results import Results, Verdict, read_results
from bench.articles.running import cluster, run
from published.measured_articles import ARTICLES, HOLDS, UNDECIDED, campaigns, made, of_rates, plan_of, same
from support.synthetic import write_campaign
from tare.core.campaign import Session

NOT_MEASURED = Verdict.NOT_MEASURED


def test_what_a_campaign_lacks_is_undecided_and_reported() -> None:
    article = ARTICLES["stackhpc"]
    whole = campaigns(article, of_rates)["hpcc-rates"]
    slow = {case.id for case in whole.plan.cases if case.network == "tcp-800m"}
    lacking = msgspec.structs.replace(
        whole, attempts=tuple(one for one in whole.attempts if one.case not in slow)
    )
    found = {one.part: one for one in judge(article, {"hpcc-rates": lacking}).parts}
    assert {found[part].verdict for part in ("8.2", "8.6")} == {UNDECIDED}
    assert "has no PTRANS_GBs at network=tcp-800m" in found["8.2"].why


def test_results_name_the_machine_the_day_and_the_version() -> None:
    article = ARTICLES["kniep-2014"]
    campaign = campaigns(article, same)["alltoall-containers"]
    facts = {"cpu.model": "Example 9000", "cpu.cores": "2"}
    known = msgspec.structs.replace(
        campaign,
        environments={"e": {"n1": facts, "n2": facts}},
        sessions=(Session(number=1, began_at=1e9, tare="1.2.3"),),
    )
    (measured,) = judge(article, {"alltoall-containers": known}).campaigns
    assert measured.machine == "Example 9000, 2 cores"
    assert (measured.date, measured.tare) == ("2001-09-09", "1.2.3")


def test_results_of_another_test_do_not_count() -> None:
    article = ARTICLES["kniep-2014"]
    found = judge(article, campaigns(article, same))
    (part, _, cannot) = article.parts
    assert found.of(part).verdict is HOLDS
    assert found.of(cannot).verdict is Verdict.CANNOT
    other = msgspec.structs.replace(part, pass_if="overhead(time_avg) < 1 %")
    assert found.of(other).verdict is NOT_MEASURED
    assert Results().of(part).verdict is NOT_MEASURED


def test_campaigns_are_judged_recorded_and_shown_on_the_page(tmp_path: Path) -> None:
    article = ARTICLES["kniep-2014"]
    campaign = campaigns(article, same)["alltoall-containers"]
    write_campaign(campaign, tmp_path / "campaigns" / "alltoall-containers")
    for key in ARTICLES:
        (tmp_path / "pages" / key).mkdir(parents=True)
    command.judge_article(article, tmp_path / "campaigns", tmp_path / "pages")
    command.write_pages(tmp_path / "pages")
    recorded = read_results("kniep-2014", tmp_path / "pages")
    assert recorded.of(article.parts[0]).verdict is HOLDS
    text = (tmp_path / "pages" / "kniep-2014" / FILE).read_text()
    assert "3 statements. Holds here: 1; cannot be tried here: 1; not measured yet: 1." in text
    assert text.count("✓ **holds here**") == 2
    assert "against platform=intelmpi" in text
    assert "24 of 24 runs" in text
    assert not (tmp_path / "pages" / "red-hat" / "results.json").exists()


_BEGIN = "import os, pathlib, sys, time; (pathlib.Path(sys.argv[2]) / 'pid').write_text(str(os.getpid()));"


_STAY = "print('building'); print('export KUBECONFIG=x', flush=True); time.sleep(60)"


_END = "print('building')"


@pytest.mark.parametrize(("program", "is_expected"), [(_STAY, True), (_END, False)])
def test_a_cluster_is_ended_after_its_study_and_one_that_ends_early_is_not_up(
    program: str, is_expected: bool, tmp_path: Path
) -> None:
    with cluster(tmp_path, (sys.executable, "-c", f"{_BEGIN} {program}")) as is_up:
        assert is_up is is_expected
        pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_study_without_its_root_file_system_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    article = ARTICLES["kniep-2014"]
    (study,) = [one for one in article.studies if one.suites]
    monkeypatch.setattr(running, "TARE", "false")
    assert run(article, msgspec.structs.replace(study, needs=()), tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "$ false lab rootfs --release bullseye",
        "releases is left out, since there is no root file system of bullseye",
    ]


def test_a_complete_campaign_in_pods_brings_up_no_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    article = ARTICLES["red-hat"]
    study = next(one for one in article.studies if one.in_pods)
    write_campaign(made(plan_of(article, study), same), tmp_path / study.name)
    monkeypatch.setattr(running, "cluster", None)
    assert run(article, study, tmp_path) == 0


@pytest.mark.parametrize(("code", "n_calls"), [(1, 2), (0, 1), (3, 1)])
def test_runs_that_failed_are_tried_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, n_calls: int
) -> None:
    article, log, program = ARTICLES["stackhpc"], tmp_path / "log", tmp_path / "tare"
    study = msgspec.structs.replace(article.studies[0], needs=())
    again = 'case "$*" in *--retry-failed) exit 0;; esac'
    program.write_text(f'#!/bin/sh\necho "$@" >>{log}\n{again}\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setattr(running, "TARE", str(program))
    assert run(article, study, tmp_path / "c") == (0 if n_calls == 2 else code)
    calls = log.read_text().splitlines()
    assert [one.endswith("--retry-failed") for one in calls] == [False, True][:n_calls]


def test_a_study_whose_programs_are_missing_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    article = ARTICLES["stackhpc"]
    study = msgspec.structs.replace(article.studies[0], needs=("sh", "no-such-program"))
    assert run(article, study, tmp_path) == 0
    assert capsys.readouterr().out == "hpcc-rates is left out, since it needs no-such-program\n"
    assert list(tmp_path.iterdir()) == []
