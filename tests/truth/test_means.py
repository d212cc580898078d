"""What people pay stands beside the ratio, and no equivalence is told without what it may have missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from tare.analysis.checking.check import check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.headline import headlines
from tare.analysis.verdicts.judged_family import Terms
from tare.cli.main import make_group
from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.comparison import Mean
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.report.words.mean_cost import beside_words, cost_words
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios
from truth.campaigns import RATE, TIME, Figure, Truth, campaign, campaigns, write
from truth.noise import Noise, lognormal, sides, sometimes_slow

N_STUDIES = 2000
SLOW_ONE = Truth(
    noise=lognormal(0.002),
    contender_noise=sometimes_slow(0.002, slower=3.0, share=0.1),
    workloads={"synthetic.solver": (TIME, RATE)},
    blocks=10,
    margin=0.05,
)
"""One run in ten of the contender takes three times as long: + 20 % in what people pay."""

_Draw = Callable[[int], tuple[Floats, Floats]]


def independent(noise: Noise) -> _Draw:
    return lambda n: sides(noise, n, N_STUDIES, seed=n)


def with_common_blocks(n: int) -> tuple[Floats, Floats]:
    shared = lognormal(0.3)(np.random.default_rng(100 + n), (n, N_STUDIES))
    reference, contender = sides(lognormal(0.02), n, N_STUDIES, seed=n)
    return shared * reference, shared * contender


def with_drift(n: int) -> tuple[Floats, Floats]:
    slower = (1.03 ** np.arange(n))[:, np.newaxis]
    reference, contender = sides(lognormal(0.02), n, N_STUDIES, seed=n)
    return slower * reference, slower * contender


@pytest.mark.parametrize("mean", [Mean.ARITHMETIC, Mean.HARMONIC, Mean.GEOMETRIC])
@pytest.mark.parametrize("n_blocks", [5, 10, 20])
@pytest.mark.parametrize(
    "draw",
    [independent(lognormal(0.02)), independent(lognormal(0.3)), with_common_blocks, with_drift],
    ids=["2 %", "30 %", "common to a block", "drift"],
)
def test_intervals_of_every_mean_hold_the_truth(draw: _Draw, n_blocks: int, mean: Mean) -> None:
    reference, contender = draw(n_blocks)
    found = ratios(reference, contender, mean=mean)
    assert 0.93 <= ((found.low <= 1) & (found.high >= 1)).mean() <= 0.97


@pytest.mark.parametrize("mean", [Mean.ARITHMETIC, Mean.HARMONIC])
@pytest.mark.parametrize("n_blocks", [5, 10, 20])
def test_intervals_where_one_run_in_ten_of_both_sides_is_slow(n_blocks: int, mean: Mean) -> None:
    reference, contender = sides(sometimes_slow(0.02, slower=3.0), n_blocks, N_STUDIES, seed=n_blocks)
    found = ratios(reference, contender, mean=mean)
    assert ((found.low <= 1) & (found.high >= 1)).mean() >= 0.94


def test_a_harmonic_ratio_of_rates_is_the_inverse_of_the_arithmetic_one_of_their_times() -> None:
    times = sides(lognormal(0.3), 7, 5, seed=1)
    one = ratios(*times, mean=Mean.ARITHMETIC)
    other = ratios(1 / times[0], 1 / times[1], mean=Mean.HARMONIC)
    np.testing.assert_allclose(other.ratio, 1 / one.ratio)
    np.testing.assert_allclose(other.low, 1 / one.high)


def test_rates_of_which_one_is_zero_have_no_harmonic_mean() -> None:
    reference = np.array([[1.0], [1.0], [1.0], [1.0]])
    contender = np.array([[1.0], [0.0], [1.0], [1.0]])
    found = ratios(reference, contender, mean=Mean.HARMONIC)
    np.testing.assert_allclose(found.ratio, [0.75])  # not 1, as if the run had not been


def test_what_is_paid_is_computed_by_hand() -> None:
    found = campaign(SLOW_ONE, seed=1)
    time, rate = aggregates(found)
    for row in (time, rate):
        side = {
            case: np.array(
                [
                    float(series.values[0] or 0)
                    for one in found.attempts
                    for series in one.series
                    if (one.case, series.fom) == (case, row.fom)
                ]
            )
            for case in (row.reference_case, row.contender_case)
        }
        below, above = side[row.reference_case], side[row.contender_case]
        assert row.mean_cost is not None
        is_time = row.fom == "time"
        expected = above.mean() / below.mean() if is_time else (1 / below).mean() / (1 / above).mean()
        assert row.mean_cost.ratio == pytest.approx(expected)
        assert row.mean_cost.tail == ("max" if row.fom == "time" else "min")
        assert row.mean_cost.contender_tail == (above.max() if row.fom == "time" else above.min())


def test_twenty_runs_have_a_percentile_in_place_of_the_worst() -> None:
    (row,) = aggregates(campaign(Truth(blocks=20)))
    assert row.mean_cost is not None
    assert row.mean_cost.tail == "p95"


def test_a_rare_slow_mode_of_one_side_is_never_a_bare_equivalence() -> None:
    seen = set()
    for found in campaigns(SLOW_ONE, 60):
        heads = {one.fom: one for one in headlines(found)}
        for row in (*aggregates(found), *comparisons(found)):
            assert row.mean_cost is not None
            is_slow = abs(np.log(row.mean_cost.ratio)) > np.log1p(SLOW_ONE.margin)
            seen.add(is_slow)
            if is_slow:
                assert row.verdict is not Verdict.EQUIVALENT
                assert "in the" in cost_words(row, row.unit)
                assert cost_words(heads[row.fom], row.unit) == cost_words(row, row.unit)
            elif row.verdict is Verdict.EQUIVALENT:
                assert "may miss a slow mode of up to 26" in beside_words(row)
    assert seen == {True, False}


def test_equivalence_is_not_claimed_where_what_people_pay_lies_beyond_the_margin() -> None:
    found = Truth(
        noise=lognormal(0.0005),
        contender_noise=sometimes_slow(0.0005, slower=12.0, share=1 / 60),
        blocks=80,
        margin=0.11,
    )
    rows = [row for one in campaigns(found, 40) for row in aggregates(one)]
    held = [row for row in rows if "what adds up is not" in row.note]
    assert held
    assert all(row.verdict is Verdict.UNDECIDED for row in held)
    same = [row.mean_cost for row in rows if row.verdict is Verdict.EQUIVALENT]
    assert all(one is not None and 1 / 1.11 <= one.ratio <= 1.11 for one in same)


def test_the_mean_that_is_asked_for_is_that_of_every_output() -> None:
    found = campaign(SLOW_ONE, seed=2)
    asked = msgspec.structs.replace(found, mean=Mean.ARITHMETIC)
    (time, _), (head, *_) = aggregates(asked), headlines(asked)
    rule = parse_rule(RuleSource(text="ratio(time) > 1.05", kind=Kind.FAIL_IF, where="--fail-if"))
    judged = check(asked, [rule]).verdicts[0].judged[0]
    assert time.mean_cost is not None
    assert time.mean is Mean.ARITHMETIC
    assert time.ratio == head.ratio == judged.value == time.mean_cost.ratio
    assert time.ratio != aggregates(found)[0].ratio
    assert not time.mean_cost.is_notable


def test_a_verdict_before_the_planned_blocks_says_so() -> None:
    whole = campaign(Truth(blocks=5))
    early = msgspec.structs.replace(whole, attempts=tuple(one for one in whole.attempts if one.block <= 3))
    (row,), (head,) = aggregates(early), headlines(early)
    assert (row.planned_blocks, head.planned_blocks) == (5, 5)
    assert "preliminary: 3 of 5 blocks" in beside_words(row)
    assert aggregates(whole)[0].planned_blocks is None


def test_a_run_that_failed_is_not_still_to_come() -> None:
    whole = campaign(Truth(blocks=5))

    def failed(one: Attempt) -> Attempt:
        return msgspec.structs.replace(one, state=State.FAILED, series=[]) if one.block == 5 else one

    found: Campaign = msgspec.structs.replace(whole, attempts=tuple(map(failed, whole.attempts)))
    assert aggregates(found)[0].planned_blocks is None


def run(*arguments: str) -> str:
    found = CliRunner().invoke(make_group(), list(arguments), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.output


@pytest.fixture
def quiet(tmp_path: Path) -> str:
    return str(write(Truth(noise=lognormal(0.002), margin=0.05, blocks=5), tmp_path / "quiet"))


def test_the_table_tells_of_each_equivalence_what_it_may_miss_and_on_what_it_rests(quiet: str) -> None:
    output = run("compare", quiet)
    assert "≈ equivalent: may miss a slow mode of up to 45 % of the runs" in output
    assert "independent of each other, which 5 blocks cannot show" in output


def test_check_says_on_what_it_rests(quiet: str) -> None:
    output = run("check", quiet, "--fail-if", "overhead() > 5 %")
    assert "independent of each other, which 5 blocks cannot show" in output


def test_json_has_what_is_paid(quiet: str) -> None:
    body = msgspec.json.decode(run("compare", quiet, "--json", "--mean", "arithmetic"))
    (row,) = body["figures"]
    assert row["mean"] == row["paid"]["mean"] == "arithmetic"
    assert row["paid"]["low"] <= row["paid"]["ratio"] <= row["paid"]["high"]
    assert 0.45 < row["may_miss"] < 0.46


def test_the_report_tells_of_each_equivalence_what_it_may_miss(quiet: str, tmp_path: Path) -> None:
    run("report", quiet, "--output", str(tmp_path / "out"), "--format", "markdown")
    text = (tmp_path / "out" / "summary.md").read_text()
    assert "may miss a slow mode of up to 45" in text
    assert "(may miss 45" in text
    assert "which 5 blocks cannot show" in text


def test_the_median_that_is_asked_for_is_that_of_every_output(tmp_path: Path) -> None:
    found = campaign(SLOW_ONE, seed=3)
    asked = msgspec.structs.replace(found, mean=Mean.MEDIAN)
    (time, rate), (head, *_) = aggregates(asked), headlines(asked)
    rule = parse_rule(RuleSource(text="ratio(time) > 1.05", kind=Kind.FAIL_IF, where="--fail-if"))
    judged = check(asked, [rule]).verdicts[0].judged[0]
    assert (time.mean, time.ratio) == (Mean.MEDIAN, head.ratio)
    assert (judged.value, judged.low, judged.high) == (time.ratio, time.low, time.high)
    assert time.high is not None
    assert rate.low == pytest.approx(1 / time.high)
    folder = str(write(SLOW_ONE, tmp_path / "slow", seed=3))
    body = msgspec.json.decode(run("compare", folder, "--json", "--mean", "median"))
    assert [row["ratio"] for row in body["figures"]] == [time.ratio, rate.ratio]
    assert "median" in run("compare", folder, "--mean", "median")
    run("report", folder, "--mean", "median", "--output", str(tmp_path / "out"), "--format", "html")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "interval of the sign test" in page
    assert "Student t interval" not in page


def test_a_median_of_five_blocks_has_no_interval_and_says_so(quiet: str) -> None:
    output = run("compare", quiet, "--mean", "median")
    assert "5 blocks: an interval of the median at 95 % takes 6" in output
    assert "equivalent:" not in output
    judged = run("check", quiet, "--mean", "median", "--fail-if", "overhead() > 5 %")
    assert "5 runs: an interval takes 6" in judged
    assert "Ratios are medians of those of the blocks." in judged


def test_a_median_of_what_did_not_run_together_has_no_interval() -> None:
    values = np.exp(np.random.default_rng(1).normal(size=(12, 1)))
    terms = Terms(margin=0.05, mean=Mean.MEDIAN)
    (one,) = judge(values, 2 * values, [Better.LOWER], terms, np.array([False])).findings()
    assert one.ratio == pytest.approx(2)
    assert (one.low, one.p_value, one.verdict) == (None, None, Verdict.UNDECIDED)
    assert "no interval: that of a median takes blocks that both sides share" in one.note


@pytest.mark.parametrize(
    ("mean", "figure", "line"),
    [
        ("harmonic", TIME, "The harmonic mean of costs such as times does not answer what people pay"),
        ("arithmetic", RATE, "The arithmetic mean of rates does not answer what people pay"),
    ],
)
def test_a_mean_that_does_not_answer_what_people_pay_is_told(
    tmp_path: Path, mean: str, figure: Figure, line: str
) -> None:
    quiet = str(write(Truth(workloads={"synthetic.solver": (figure,)}, blocks=5), tmp_path / "quiet"))
    assert line in " ".join(run("compare", quiet, "--mean", mean).split())
    assert line not in " ".join(run("compare", quiet).split())
    assert line in run("check", quiet, "--mean", mean, "--fail-if", "overhead() > 5 %")
    run("report", quiet, "--mean", mean, "--output", str(tmp_path / "out"), "--format", "markdown")
    assert line in (tmp_path / "out" / "summary.md").read_text()
