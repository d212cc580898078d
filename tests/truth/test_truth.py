"""The generator makes what it is told to, and the harness finds what is false."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from tare.analysis.verdicts.compare import aggregates
from tare.cli.main import main
from tare.core.attempt import State
from tare.core.verdict import Verdict
from tare.storage.campaign import read_campaign
from truth.campaigns import RATE, TIME, Truth, by_level, campaign, campaigns, write
from truth.claims import false_claims, tally
from truth.noise import NOISES, autocorrelated, lognormal

EVERYTHING = Truth(
    factors={"network": ("host", "overlay"), "nodes": (2, 4), "size": (10, 100)},
    workloads={"synthetic.solver": (TIME,), "synthetic.io": (RATE, TIME)},
    slowing=by_level("network", {"overlay": 1.2}),
    noise=lognormal(0.01),
    late=("network", "overlay"),
    late_slower=1.3,
    retried=0.2,
    decimals=2,
    drift=0.001,
    step=(0.5, 1.05),
)


def test_what_is_true_is_found_in_every_figure() -> None:
    truth = Truth(
        factors={"network": ("host", "overlay", "macvlan"), "nodes": (2, 4)},
        workloads={"synthetic.solver": (TIME,), "synthetic.io": (RATE,)},
        slowing=by_level("network", {"overlay": 1.5}),
    )
    found = aggregates(campaign(truth))
    assert len(found) == 8
    for one in found:
        ratio = 1.0 if one.contender["network"] == "macvlan" else 1.5 if one.fom == "time" else 1 / 1.5
        assert one.ratio == pytest.approx(ratio, rel=0.1)
    assert not false_claims(truth, campaign(truth), found)


def test_a_folder_holds_the_same_campaign_and_the_command_line_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(EVERYTHING, tmp_path / "c")
    there, here = read_campaign(folder), campaign(EVERYTHING)
    assert [(one.case, one.block, one.attempt, one.series) for one in there.attempts] == [
        (one.case, one.block, one.attempt, one.series) for one in here.attempts
    ]
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(folder)])
    assert not stopped.value.code
    assert "overlay" in capsys.readouterr().out


def test_a_retried_run_failed_first_and_a_late_level_ran_a_day_later() -> None:
    one = campaign(EVERYTHING)
    failed = [attempt for attempt in one.attempts if attempt.state is State.FAILED]
    assert 0 < len(failed) < len(one.attempts) / 2
    late = {case.id for case in one.plan.cases if case.network == "overlay"}
    times = [attempt.started_at or 0.0 for attempt in one.attempts if attempt.case in late]
    assert min(times) >= 1e9 + 86400


def test_a_verdict_that_the_truth_contradicts_is_false() -> None:
    truth = Truth(slowing=by_level("network", {"overlay": 1.5}), noise=lognormal(0.001))
    one = campaign(truth)
    (row,) = aggregates(one)
    assert row.verdict is Verdict.WORSE
    assert not false_claims(truth, one, [row])
    for verdict in (Verdict.BETTER, Verdict.EQUIVALENT):
        assert false_claims(truth, one, [msgspec.structs.replace(row, verdict=verdict)])
    assert false_claims(Truth(), one, [row])


def test_studies_of_nothing_are_counted() -> None:
    found = tally(Truth(), 100, aggregates)
    assert found.n_studies == 100
    assert found.with_false_difference <= 12
    assert found.with_false_equivalence == 0


@pytest.mark.parametrize("name", NOISES)
def test_noise_has_a_middle_near_one_and_differs_from_run_to_run(name: str) -> None:
    drawn = NOISES[name](np.random.default_rng(1), (50, 200))
    assert np.median(drawn) == pytest.approx(1.0, abs=0.1)
    assert (drawn > 0).all()
    logs = np.log(drawn) - np.log(drawn).mean(axis=0)
    assert abs((logs[1:] * logs[:-1]).mean() / logs.var()) < 0.06


def test_autocorrelated_noise_lasts() -> None:
    logs = np.log(autocorrelated(r=0.7)(np.random.default_rng(1), (2000, 5)))
    assert (logs[1:] * logs[:-1]).mean() / logs.var() == pytest.approx(0.7, abs=0.05)


def test_a_thousand_campaigns_take_seconds() -> None:
    assert sum(len(one.attempts) for one in campaigns(Truth(), 1000)) == 10_000
