"""What the articles claim, and what their own figures carry: numbers by hand from the tables."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tare import published
from tare.cli.commands import published as published_command
from tare.core.errors import InfrastructureError, UsageError
from tare.published import tables
from tare.published.claims import Claim, ClaimFinding, ClaimVerdict, Held, Judgement, judge_claim

SUPPORTED, CONTRADICTED = ClaimVerdict.SUPPORTED, ClaimVerdict.CONTRADICTED
UNDECIDED, ABSENT = ClaimVerdict.UNDECIDED, ClaimVerdict.NOT_IN_THE_DATA

JUDGED = ["8.1", "8.2", "8.3", "8.4", "8.6", "8.7", "9.1", "9.2", "11.1", "11.2", "11.3", "11.4", "11.5"]


def finding(claim: str) -> ClaimFinding:
    (found,) = [one for one in published.judge_claims() if one.claim.id == claim]
    return found


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(published_command.command, [*arguments], catch_exceptions=False)


def test_every_claim_of_the_articles_is_listed_whether_or_not_there_are_figures() -> None:
    numbers = [int(one.claim.id.partition(".")[0]) for one in published.judge_claims()]
    assert list(dict.fromkeys(numbers)) == list(range(1, 14))
    assert numbers == sorted(numbers)


def test_a_claim_without_figures_reports_it() -> None:
    absent = [one for one in published.judge_claims() if one.verdict is ABSENT]
    assert [one.claim.id for one in absent] == ["1", "2", "3", "4", "5", "6", "7", "8.5", "10", "12", "13"]
    assert {one.why for one in absent if one.claim.id != "8.5"} == {"no published figures in the data set"}
    assert "cannot be held against itself" in finding("8.5").why
    assert all(not one.evidence for one in absent)


@pytest.mark.parametrize(
    ("claim", "ratios", "leans_to"),
    [
        ("8.1", [5.233 / 5.476], [SUPPORTED]),
        ("8.6", [1.640 / 1.636, 1.635 / 1.636, 1.638 / 1.636], [SUPPORTED] * 3),
        ("8.7", [2.322 / 2.343, 2.232 / 2.343, 2.279 / 2.343], [SUPPORTED] * 3),
        ("9.1", [101.49 / 99.83, 93.35 / 87.64], [SUPPORTED, CONTRADICTED]),
        ("9.2", [560.37 / 347.19, 591.23 / 379.32], [SUPPORTED] * 2),
        ("11.3", [745 / 938, 847 / 937], [SUPPORTED] * 2),
        ("11.4", [5.07 / 5.09], [SUPPORTED]),
        ("11.5", [1.41 / 1.46, 1.43 / 1.46, 1.42 / 1.46], [SUPPORTED] * 3),
    ],
)
def test_single_runs_lean_and_decide_nothing(
    claim: str, ratios: list[float], leans_to: list[ClaimVerdict]
) -> None:
    found = finding(claim)
    assert [one.ratio for one in found.evidence] == [pytest.approx(ratio) for ratio in ratios]
    assert [one.leans_to for one in found.evidence] == leans_to
    assert {(one.n_reference, one.n_contender, one.low, one.high) for one in found.evidence} == {
        (1, 1, None, None)
    }
    assert {one.verdict for one in found.evidence} == {found.verdict} == {UNDECIDED}
    assert all(one.why.startswith("single runs have no interval") for one in found.evidence)


@pytest.mark.parametrize(
    ("claim", "tau", "n_orders"),
    [
        ("8.2", 1.0, 1),  # 5.656 16.458 17.803 44.179 rise with 0.027 0.077 0.092 0.308
        ("8.3", 4 / 6, 4),  # TCP on 25 GbE passes RoCE: one pair of six is the wrong way round
        ("8.4", -4 / 6, 4),  # RoCE has the lower latency and InfiniBand the higher rate; TCP likewise …
    ],
)
def test_four_fabrics_are_too_few_for_any_order_to_decide(claim: str, tau: float, n_orders: int) -> None:
    found = finding(claim)
    (one,) = found.evidence
    assert one.tau == pytest.approx(tau)
    assert one.chance == pytest.approx(n_orders / 24)
    assert (one.verdict, one.leans_to, found.verdict) == (UNDECIDED, SUPPORTED, UNDECIDED)
    assert f"{n_orders} of the 24 orders" in one.why


def test_hpcg_was_repeated_and_so_has_an_interval() -> None:
    bare, docker = [5.28937, 5.30873, 5.31681], [5.39522, 5.38519, 5.4443]
    below, above = ([math.log(value) for value in side] for side in (bare, docker))
    squares = [statistics.variance(side) / 3 for side in (below, above)]
    error = math.sqrt(sum(squares))
    freedom = sum(squares) ** 2 / sum(square**2 / 2 for square in squares)
    assert 2 < freedom < 4
    ratio = math.exp(statistics.mean(above) - statistics.mean(below))
    for claim in ("11.1", "11.2"):
        (one,) = finding(claim).evidence
        assert (one.n_reference, one.n_contender) == (3, 3)
        assert one.ratio == pytest.approx(ratio) == pytest.approx(1.0194, abs=1e-4)
        assert one.low is not None
        assert one.high is not None
        # The quantile of t lies between those of 4 and 2 degrees of freedom (any printed table).
        assert 2.776 < math.log(one.high / ratio) / error < 4.303
        assert math.log(one.high / ratio) == pytest.approx(math.log(ratio / one.low))
        assert one.verdict is SUPPORTED
        assert "unpaired" in one.why
    assert "pooled" in finding("11.1").why


def test_two_runs_are_too_few() -> None:
    claim = Claim(
        id="x",
        article="",
        claim="",
        kind=Judgement.EQUIVALENT,
        data="hpcg-containers",
        fom="rating",
        held=(Held(contender={"platform": "docker", "nx": 104}, reference={"platform": "bare", "nx": 104}),),
    )
    data = published.as_campaign(published.read_publication("hpcg-containers"))
    found = judge_claim(claim, data)
    assert found.verdict is UNDECIDED
    assert found.evidence[0].why.startswith("3 and 2 runs: an interval takes 3 on both sides")


@pytest.mark.parametrize(
    ("kind", "margin", "verdict"),
    [
        (Judgement.EQUIVALENT, 0.05, SUPPORTED),
        (Judgement.EQUIVALENT, 0.02, UNDECIDED),
        (Judgement.EQUIVALENT, 0.001, CONTRADICTED),
        (Judgement.HIGHER, 0.05, SUPPORTED),
        (Judgement.LOWER, 0.05, CONTRADICTED),
    ],
)
def test_an_interval_supports_contradicts_or_leaves_open(
    kind: Judgement, margin: float, verdict: ClaimVerdict
) -> None:
    claim = msgspec.structs.replace(finding("11.1").claim, kind=kind, margin=margin)
    data = published.as_campaign(published.read_publication("hpcg-containers"))
    assert judge_claim(claim, data).verdict is verdict


def test_every_judged_claim_finds_its_figures_and_names_what_it_rests_on() -> None:
    found = [one for one in published.judge_claims() if one.verdict is not ABSENT]
    assert [one.claim.id for one in found] == JUDGED
    assert all(one.evidence and one.claim.data in published.names() for one in found)
    assert {one.claim.margin for one in found} == {0.05}


def test_the_claims_of_one_table_can_be_asked_for() -> None:
    assert [one.claim.id for one in published.judge_claims("openfoam-fabrics")] == ["9.1", "9.2"]
    with pytest.raises(UsageError, match="did you mean 'openfoam-fabrics'"):
        published.judge_claims("openfoam-fabric")


def test_the_command_prints_every_claim_with_its_numbers_and_counts() -> None:
    shown = invoke("--claims").stdout
    assert "9.2  ▨ undecided: OpenFOAM on TCP takes longer on 8 nodes than on 4" in shown
    assert "1.614" in shown
    assert "2 supported, 0 contradicted, 11 undecided, 11 not in the data" in shown


def test_the_json_has_every_claim_and_no_invented_interval() -> None:
    body = json.loads(invoke("--claims", "--json").stdout)
    assert body["schema"] == "tare.claims/1"
    assert len(body["claims"]) == 24
    by_id = {one["id"]: one for one in body["claims"]}
    assert by_id["8.1"]["evidence"][0]["low"] is None
    assert by_id["8.1"]["evidence"][0]["leans_to"] == "supported"
    assert by_id["11.1"]["evidence"][0]["low"] > 1
    assert by_id["1"]["verdict"] == "not in the data"


def test_claims_make_no_campaign() -> None:
    with pytest.raises(UsageError, match="leave --out out"):
        invoke("--claims", "--out", "somewhere")


@pytest.mark.parametrize("name", published.names())
def test_a_table_is_the_published_one_to_the_byte(name: str) -> None:
    raw = published.read_publication(name).file.read_bytes()
    original = Path(__file__).parents[3] / "shared" / "published" / f"{name}.csv"
    if not original.exists():
        pytest.skip(f"{original} is not there to be compared with")
    assert hashlib.sha256(raw).hexdigest() == hashlib.sha256(original.read_bytes()).hexdigest()


def test_a_table_that_was_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in tables.DATA.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    changed = tmp_path / "openfoam-fabrics.csv"
    changed.write_text(changed.read_text().replace("560.37", "56.037"))
    monkeypatch.setattr(tables, "DATA", tmp_path)
    with pytest.raises(InfrastructureError, match=r"openfoam-fabrics\.csv: not the published table"):
        published.read_publication("openfoam-fabrics")
    assert published.read_publication("hpcc-fabrics").figures
