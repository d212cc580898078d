"""Published articles: each claim is tried or has a reason; made campaigns get the verdict of their truth."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from bench.articles import __main__ as command
from bench.articles import judging, running
from bench.articles.article import FOLDER, Article, Follows, Kind, LocalStudy, Part, keys, read_article
from bench.articles.judging import judge
from bench.articles.pages import FILE, index, page
from bench.articles.results import Results, Verdict, read_results
from bench.articles.running import cluster, run
from support.synthetic import write_campaign
from tare.analysis.check import Outcome, check
from tare.app import planning
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign, Session
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.values import Scalar
from tare.core.workload import Better, Fom
from tare.published import judge_claims, read_claims

ARTICLES = {key: read_article(key) for key in keys()}
PARTS = [(article, part) for article in ARTICLES.values() for part in article.parts]
HOLDS, DOES_NOT, UNDECIDED = Verdict.HOLDS, Verdict.DOES_NOT, Verdict.UNDECIDED
NOT_MEASURED = Verdict.NOT_MEASURED

COORDINATES: dict[str, list[Scalar]] = {
    "bytes": [1, 1024, 1048576],
    "operation": ["read"],
    "direction": ["client to server", "server to client"],
}
TELEMETRY = {
    "cpu_system": "%",
    "network_rate": "B/s",
    "network_packet_size": "B",
    "network_packet_rate": "1/s",
}

Truth = Callable[[Case, str, Scalar], float]
"""The true factor on a figure of a case, at the value of its coordinate."""


def plan_of(article: Article, study: LocalStudy) -> Plan:
    return planning.load(article.path_of(study)).plan


def made(plan: Plan, truth: Truth, *, noise: float = 0.002) -> Campaign:
    """Return a campaign of `plan`, without a file, in which each figure is 100 times its truth."""
    attempts: list[Attempt] = []
    blocks = range(1, plan.repeats.min + 1)
    for block in blocks:
        for case in plan.order(block):
            random = np.random.default_rng(zlib.crc32(f"{block} {case.id}".encode()))
            foms = [*plan.foms[case.workload], *_telemetry()]
            series = [_series(fom, case, truth, noise, random) for fom in foms]
            attempts.append(
                Attempt(
                    case=case.id,
                    block=block,
                    attempt=1,
                    state=State.DONE,
                    started_at=1e9 + len(attempts),
                    elapsed_s=1.0,
                    exit_code=0,
                    hosts=[f"n{number}" for number in range(1, case.layout.nodes + 1)],
                    series=series,
                )
            )
    orders = {block: [case.id for case in plan.order(block)] for block in blocks}
    return Campaign(folder=Path(plan.study), plan=plan, attempts=tuple(attempts), orders=orders)


def _telemetry() -> list[Fom]:
    return [
        Fom(name=f"telemetry.{name}", unit=unit, better=Better.LOWER, by=())
        for name, unit in TELEMETRY.items()
    ]


def _series(fom: Fom, case: Case, truth: Truth, noise: float, random: np.random.Generator) -> Series:
    name = fom.by[0] if fom.by else ""
    points: list[Scalar] = COORDINATES.get(name, ["one"]) if name else [""]
    values = [100 * truth(case, fom.name, point) * float(np.exp(random.normal(0, noise))) for point in points]
    at = {name: points} if name else {}
    return Series(fom=fom.name, unit=fom.unit, better=fom.better, at=at, values=values)


def campaigns(article: Article, truth: Truth, *, noise: float = 0.002) -> dict[str, Campaign]:
    return {study.name: made(plan_of(article, study), truth, noise=noise) for study in article.studies}


def verdicts(key: str, truth: Truth, *, noise: float = 0.002) -> dict[str, Verdict]:
    article = ARTICLES[key]
    return {one.part: one.verdict for one in judge(article, campaigns(article, truth, noise=noise)).parts}


def same(_case: Case, _fom: str, _at: Scalar) -> float:
    return 1.0


def by_network(factors: Mapping[str, float]) -> Truth:
    """Return a truth in which a time takes so many times as long on a network, and a rate as much less."""

    def truth(case: Case, fom: str, _at: Scalar) -> float:
        factor = factors.get(case.network or "", 1.0)
        return 1 / factor if fom in {"ns_per_day", "bandwidth", "throughput"} else factor

    return truth


def test_every_claim_has_a_part_and_no_claim_is_in_two_articles() -> None:
    of_article = {key: {part.claim for part in article.parts} for key, article in ARTICLES.items()}
    assert sorted(claim for claims in of_article.values() for claim in claims) == sorted(
        one.id for one in read_claims()
    )
    assert len({part.id for _, part in PARTS}) == len(PARTS)
    assert all(part.id.startswith(part.claim) for _, part in PARTS)


def test_a_part_without_a_published_text_has_published_figures() -> None:
    judged = {one.claim.id for one in judge_claims() if one.evidence}
    assert {part.id for _, part in PARTS if not part.published and part.claim not in judged} == set()


def test_every_study_and_site_of_an_article_is_there_and_no_table_is_left_out() -> None:
    for article in ARTICLES.values():
        for study in article.studies:
            assert plan_of(article, study).study == study.name
        for full in article.full:
            assert (article.folder / full.file).is_file()
            assert (article.folder / full.site).is_file()
    tables = {claim.data for claim in read_claims() if claim.data}
    assert {table for article in ARTICLES.values() for table in article.tables} == tables


def test_every_study_on_this_machine_tries_a_part() -> None:
    for article in ARTICLES.values():
        assert {study.name for study in article.studies} == {part.study for part in article.parts} - {""}


def test_every_link_of_the_pages_leads_somewhere() -> None:
    for path in FOLDER.glob(f"**/{FILE}"):
        for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path} links to {target}"


def test_the_pages_are_current() -> None:
    for key, article in ARTICLES.items():
        text = (FOLDER / key / FILE).read_text(encoding="utf-8")
        assert text == page(article, read_results(key)), "run: python -m bench.articles --pages"
    articles = [(article, read_results(key)) for key, article in ARTICLES.items()]
    assert (FOLDER / FILE).read_text(encoding="utf-8") == index(articles)


@pytest.mark.parametrize("key", ARTICLES)
def test_every_test_finds_its_figures_in_a_campaign_of_its_study(key: str) -> None:
    article = ARTICLES[key]
    found = judge(article, campaigns(article, same))
    assert [one.part for one in found.parts] == [
        part.id for part in article.parts if part.kind is not Kind.CANNOT
    ]
    assert {one.part: one.why for one in found.parts if one.why} == {}
    assert all(one.evidence for one in found.parts)
    assert all(one.n_done == one.n_planned > 0 for one in found.campaigns)


def test_equal_networks_are_on_a_par_and_none_is_slower() -> None:
    found = verdicts("red-hat", same, noise=0.001)
    assert {found[part] for part in ("1a", "1b", "1e", "2a")} == {HOLDS}
    assert HOLDS not in {found[part] for part in ("1c", "1f", "2b")}


def test_a_slow_overlay_is_slower_and_macvlan_stays_on_a_par() -> None:
    found = verdicts("red-hat", by_network({"overlay": 1.5, "sdn": 9.0}))
    assert {found[part] for part in ("1a", "1b", "1c", "1e", "1f", "2a", "2b")} == {HOLDS}


def test_a_slow_macvlan_is_not_on_a_par() -> None:
    found = verdicts("red-hat", by_network({"macvlan": 1.2, "multus": 0.8}))
    assert {found[part] for part in ("1a", "1b", "1e", "2a")} == {DOES_NOT}


def test_a_number_that_a_range_bounds_is_one_row_with_its_worse_outcome() -> None:
    article = ARTICLES["red-hat"]
    campaign = campaigns(article, by_network({"macvlan": 1.2}))["demo"]
    (found,) = [one for one in judge(article, {"demo": campaign}).parts if one.part == "1a"]
    (row,) = found.evidence
    assert (row.verdict, row.against, row.n) == (DOES_NOT, "network=host", 12)
    measured = float(row.measured.split(" %")[0])
    assert measured == pytest.approx(20.0, abs=0.2)
    assert row.why


def test_the_limit_within_the_interval_says_why_a_range_is_undecided() -> None:
    article = ARTICLES["red-hat"]
    (part,) = [one for one in article.parts if one.id == "1a"]
    campaign = campaigns(article, by_network({"macvlan": 1.05}), noise=0.11)["demo"]
    upper, lower = check(campaign, [judging._rule(part)]).verdicts[0].judged
    assert lower.low is not None
    assert lower.limit < lower.low < upper.limit
    adjusted = msgspec.structs.replace(lower, outcome=Outcome.UNDECIDED, why="not when adjusted for looks")
    assert list(judging._merged([upper, adjusted])) == list(judging._merged([adjusted, upper])) == [upper]


def test_the_page_says_what_a_rule_makes_of_a_figure() -> None:
    texts = {key: page(ARTICLES[key], read_results(key)) for key in ("red-hat", "stackhpc", "cornelis")}
    assert "ratio of the scatter of elapsed, loop, neighbour=apart, against " in texts["red-hat"]
    assert "| ratio of telemetry.network_rate, hpcc, " in texts["stackhpc"]
    assert "efficiency by clock_time, openfoam.motorbike, network=host io=none" in texts["cornelis"]
    assert not re.search(r"(efficiency|ratio) (by|of) latency", texts["red-hat"])


def test_no_rule_joins_its_limits_by_or() -> None:
    assert {part.id for _, part in PARTS if re.search(r"\b(or|not)\b", part.pass_if)} == set()


def test_noise_leaves_everything_undecided() -> None:
    found = verdicts("red-hat", by_network({"overlay": 1.05}), noise=0.5)
    assert {found[part] for part in ("1a", "1b", "1e", "1f", "2a", "2b")} == {UNDECIDED}


@pytest.mark.parametrize(("at_large", "verdict"), [(3.0, HOLDS), (1.2, DOES_NOT)])
def test_a_cost_that_rises_with_the_message_differs_from_one_that_falls(
    at_large: float, verdict: Verdict
) -> None:
    def truth(case: Case, _fom: str, at: Scalar) -> float:
        return (at_large if at == 1048576 else 2.0) if case.network == "overlay" else 1.0

    assert verdicts("red-hat", truth)["1d"] is verdict


@pytest.mark.parametrize(("noisy", "slow", "verdict"), [("beside", 1.1, HOLDS), ("apart", 0.9, DOES_NOT)])
def test_a_neighbour_is_judged_by_speed_and_by_scatter(noisy: str, slow: float, verdict: Verdict) -> None:
    random = np.random.default_rng(1)

    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        neighbour = case.settings["neighbour"]
        noise = 0.05 if neighbour == noisy else 0.0
        return (slow if neighbour == "beside" else 1.0) * float(np.exp(random.normal(0, noise)))

    article = ARTICLES["red-hat"]
    (study,) = [one for one in article.studies if one.name == "isolation"]
    found = judge(article, {"isolation": made(plan_of(article, study), truth)})
    assert {one.part: one.verdict for one in found.parts} == {"3a": verdict, "3b": verdict}


def test_a_cost_that_seems_to_rise_within_the_noise_is_undecided() -> None:
    def truth(case: Case, _fom: str, at: Scalar) -> float:
        return (2.4 if at == 1048576 else 2.0) if case.network == "overlay" else 1.0

    article = ARTICLES["red-hat"]
    study = next(one for one in article.studies if one.name == "demo")
    found = judge(article, {"demo": made(plan_of(article, study), truth, noise=0.3)})
    (rising,) = [one for one in found.parts if one.part == "1d"]
    quotient = rising.evidence[-1].measured
    assert float(quotient.split()[0]) > 1, quotient
    assert rising.verdict is UNDECIDED


@pytest.mark.parametrize(
    ("n_blocks", "why"), [(0, "not judged: no block has both sides at both points"), (1, "")]
)
def test_a_cost_that_was_measured_too_seldom_to_rise_is_undecided(n_blocks: int, why: str) -> None:
    article = ARTICLES["red-hat"]
    whole = campaigns(article, by_network({"overlay": 2.0}))["demo"]
    few = tuple(one for one in whole.attempts if one.block <= n_blocks)
    found = judge(article, {"demo": msgspec.structs.replace(whole, attempts=few)})
    (rising,) = [one for one in found.parts if one.part == "1d"]
    assert (rising.verdict, rising.why) == (UNDECIDED, why)


def test_one_campaign_of_192_runs_has_more_than_180() -> None:
    article = ARTICLES["red-hat"]
    whole = campaigns(article, same)["many-runs"]
    begun = msgspec.structs.replace(whole, attempts=whole.attempts[:180])
    parts = [
        msgspec.structs.replace(one, more_runs_than=192) if one.more_runs_than else one
        for one in article.parts
    ]
    asks_more = msgspec.structs.replace(article, parts=tuple(parts))
    for asked, campaign, verdict in (
        (article, whole, HOLDS),
        (article, begun, UNDECIDED),
        (asks_more, whole, DOES_NOT),
    ):
        (found,) = judge(asked, {"many-runs": campaign}).parts
        assert found.verdict is verdict


RATES = {"tcp-8g": 8.0, "tcp-4g": 4.0, "tcp-2g": 2.0, "tcp-1400m": 1.4, "tcp-800m": 0.8}
RATES |= {"delay-25us": 8.0, "delay-50us": 4.0, "delay-100us": 2.0, "delay-200us": 1.0, "delay-400us": 0.5}
"""What a link does, next to one of 1 Gbit/s: a delay keeps messages back as a low rate does."""


def of_rates(case: Case, fom: str, _at: Scalar) -> float:
    """Return a truth in which all but FFTs within a node follow the rate of the link."""
    rate = RATES.get(case.network or "", 1.0)
    if fom in ("StarFFT_Gflops", "SingleFFT_Gflops"):
        return 1.0
    return 1 / rate if fom.endswith("usec") else rate


def test_what_follows_the_rate_is_found_with_five_levels() -> None:
    found = verdicts("stackhpc", of_rates)
    assert {found[part] for part in ("8.2", "8.3", "8.4", "8.5", "8.6", "8.7")} == {HOLDS}


def test_what_has_the_opposite_order_does_not_follow_and_what_has_none_is_undecided() -> None:
    order = {"tcp-8g": 2.0, "tcp-4g": 4.0, "tcp-2g": 1.0, "tcp-1400m": 3.0, "tcp-800m": 2.5}

    def truth(case: Case, fom: str, at: Scalar) -> float:
        if fom == "PTRANS_GBs":
            return 1 / RATES.get(case.network or "", 1.0)
        return order.get(case.network or "", 1.0) if fom == "MPIFFT_Gflops" else of_rates(case, fom, at)

    found = verdicts("stackhpc", truth)
    assert (found["8.2"], found["8.3"]) == (DOES_NOT, UNDECIDED)


@pytest.mark.parametrize(
    ("on_two", "scales", "is_negative"), [(0.51, HOLDS, DOES_NOT), (1.4, DOES_NOT, HOLDS)]
)
def test_scaling_of_openfoam_is_judged_by_its_time_on_two_nodes(
    on_two: float, scales: Verdict, is_negative: Verdict
) -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        return on_two if case.layout.nodes == 2 else 1.0

    assert verdicts("stackhpc", truth)["9.2"] is is_negative
    found = verdicts("cornelis", truth)
    assert (found["13a"], found["13b"]) == (scales, is_negative)


@pytest.mark.parametrize(("factor", "on_par", "faster"), [(1.02, HOLDS, HOLDS), (0.8, DOES_NOT, DOES_NOT)])
def test_containers_are_judged_by_all_of_their_kinds(factor: float, on_par: Verdict, faster: Verdict) -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        if case.workload == "hpcg":
            return factor if case.network == "direct" else 1.0
        return 1.0 if case.platform in ("debian", "intelmpi") else factor

    found = verdicts("kniep-2016", truth)
    assert (found["11.1a"], found["11.1b"], found["11.2"]) == (on_par, on_par, faster)
    assert verdicts("kniep-2014", truth)["11.5a"] is on_par


@pytest.mark.parametrize(("factor", "verdict"), [(0.97, HOLDS), (1.1, DOES_NOT)])
def test_releases_of_a_distribution_are_compared_with_each_other(factor: float, verdict: Verdict) -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        return factor if case.platform == "trixie" else 1.0

    assert verdicts("kniep-2014", truth)["11.5b"] is verdict


@pytest.mark.parametrize(("back", "verdict"), [(0.8, HOLDS), (1.2, DOES_NOT)])
def test_the_overlay_between_containers_is_judged_in_both_directions(back: float, verdict: Verdict) -> None:
    def truth(case: Case, fom: str, at: Scalar) -> float:
        if fom != "throughput" or case.network != "overlay":
            return 1.0
        return back if at == "server to client" else 0.8

    assert verdicts("kniep-2016", truth)["11.3b"] is verdict


def test_two_threads_that_read_less_than_four_have_not_saturated() -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        return float(case.settings["threads"])  # from the disk as from memory: the reference is four threads

    assert verdicts("cornelis", same)["12b"] is HOLDS
    assert verdicts("cornelis", truth)["12b"] is DOES_NOT


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


def test_a_part_has_exactly_one_test_and_a_question() -> None:
    part = Part(id="x", claim="1", states="it is so", cannot="no")
    change = msgspec.structs.replace
    follows = Follows(fom="a", cause="b", over="network")
    with pytest.raises(ValueError, match="give one of"):
        change(part, cannot="")
    with pytest.raises(ValueError, match="give one of"):
        change(part, pass_if="overhead() < 5 %", study="demo", asked="is it so")
    with pytest.raises(ValueError, match="has a study and a question"):
        change(part, cannot="", follows=follows)
    with pytest.raises(ValueError, match="only a rule"):
        change(part, cannot="", follows=follows, study="demo", asked="is it so", reference={"nodes": 1})


def test_the_list_has_every_study_once_and_an_unknown_article_gets_a_suggestion() -> None:
    shown = CliRunner().invoke(command.main, ["--list"], catch_exceptions=False).stdout
    names = [line.split()[2] for line in shown.splitlines()]
    assert names.count("openfoam-fabrics") == 1
    assert "openshift-networks  in pods" in shown
    wrong = CliRunner().invoke(command.main, ["stackhcp"])
    assert wrong.exit_code == 2
    assert "did you mean 'stackhpc'" in wrong.stderr


def test_each_of_the_32_numbers_of_hpcc_stands_beside_one_measured_here() -> None:
    """The truth of a rate is the link's share of the fastest; StarFFT has one that no link changes."""
    share = {"tcp-8g": 1.0, "tcp-2g": 0.25, "tcp-800m": 0.1}

    def truth(case: Case, fom: str, _at: Scalar) -> float:
        return 1.0 if fom == "StarFFT_Gflops" else share.get(case.network or "", 1.0)

    article = ARTICLES["stackhpc"]
    rates = campaigns(article, truth)["hpcc-rates"]
    results = judge(article, {"hpcc-rates": rates})
    lines = [line.split(" | ") for line in page(article, results).splitlines() if "| tcp-" in line]
    rows = {(line[0].strip("| "), line[2]): line for line in lines if len(line) == 9}
    assert len(rows) == 32
    assert rows["HPL_Tflops", "tcp-25g"][3:6] == ["4.186", "0.764", "tcp-2g"]
    for fom, ratio in (("HPL_Tflops", 0.25), ("StarFFT_Gflops", 1.0)):
        assert float(rows[fom, "roce-25g"][7].split()[0]) == pytest.approx(ratio, rel=0.01)
        assert rows[fom, "ib-100g"][7] == "1"
    unmeasured = page(article, Results())
    assert "| tcp-25g | 4.186 | 0.764 | tcp-2g | – | – | – |" in unmeasured


def test_numbers_that_stood_beside_others_are_not_shown() -> None:
    article = ARTICLES["stackhpc"]
    results = judge(article, {"hpcc-rates": campaigns(article, same)["hpcc-rates"]})
    (match,) = article.matches
    assert len(results.figures_of(match)) == 32
    assert results.figures_of(msgspec.structs.replace(match, reference="tcp-10g")) == ()
