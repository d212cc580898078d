"""The few numbers of the report's sentence."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from support.synthetic import make_campaign, make_case
from tare.analysis.aspects import Aspect, aspect_of
from tare.analysis.table import Cell
from tare.analysis.verdicts.headline import headlines
from tare.core.values import Scalar
from tare.core.verdict import Verdict
from tare.core.workload import Better


@pytest.mark.parametrize(
    ("unit", "better", "at", "aspect"),
    [
        ("us", Better.LOWER, {"bytes": 1}, Aspect.LATENCY),
        ("us", Better.LOWER, {"bytes": 1024}, Aspect.LATENCY),
        ("us", Better.LOWER, {"bytes": 65536}, None),
        ("us", Better.LOWER, {}, Aspect.LATENCY),
        ("s", Better.LOWER, {}, Aspect.TIME),
        ("MB/s", Better.HIGHER, {"bytes": 1}, None),
        ("MB/s", Better.HIGHER, {"bytes": 65536}, Aspect.BANDWIDTH),
        ("Gbit/s", Better.HIGHER, {}, Aspect.BANDWIDTH),
        ("MiB/s", Better.HIGHER, {"threads": 4}, Aspect.BANDWIDTH),
        ("ns/day", Better.HIGHER, {}, Aspect.RATE),
        ("GFLOP/s", Better.HIGHER, {}, Aspect.RATE),
        ("widgets", None, {}, None),
    ],
)
def test_a_number_is_filed_under_its_aspect(
    unit: str, better: Better | None, at: dict[str, Scalar], aspect: Aspect | None
) -> None:
    assert aspect_of(Cell("figure", unit, better, tuple(at.items()))) is aspect


def test_each_contender_has_its_latency_and_its_bandwidth_reported() -> None:
    cases = [make_case(network, nodes=n) for network in ("host", "overlay", "macvlan") for n in (2, 4)]
    campaign = make_campaign(cases, ratio={"overlay": 1.6, "macvlan": 1.0}, noise=0.002)
    found = {(one.contender["network"], one.aspect): one for one in headlines(campaign)}
    assert set(found) == {(n, a) for n in ("overlay", "macvlan") for a in (Aspect.LATENCY, Aspect.BANDWIDTH)}
    latency, bandwidth = (found["overlay", aspect] for aspect in (Aspect.LATENCY, Aspect.BANDWIDTH))
    assert latency.ratio == pytest.approx(1.6, rel=0.01)
    assert bandwidth.ratio == pytest.approx(1 / 1.6, rel=0.01)
    assert latency.verdict is bandwidth.verdict is Verdict.WORSE
    assert latency.n_blocks == 5
    assert latency.workload == "synthetic.pingpong"
    assert found["macvlan", Aspect.LATENCY].verdict is Verdict.EQUIVALENT


def test_scales_with_other_verdicts_are_headlines_of_their_own_and_no_average() -> None:
    cases = [make_case(network, nodes=n) for network in ("host", "overlay") for n in (2, 4)]
    slow, fast = (
        make_campaign(cases[::2], ratio=4, noise=0.001, sizes=(1, 2, 3, 4)),
        make_campaign(cases[1::2], ratio=1, noise=0.001, sizes=(1,)),
    )
    both = msgspec.structs.replace(make_campaign(cases), attempts=slow.attempts + fast.attempts)
    found = [one for one in headlines(both) if one.aspect is Aspect.LATENCY]
    assert {one.verdict: round(one.ratio or 0, 1) for one in found} == {
        Verdict.WORSE: 4.0,
        Verdict.EQUIVALENT: 1.0,
    }


def test_scales_with_one_verdict_are_averaged_each_once_whatever_their_sizes() -> None:
    cases = [make_case(network, nodes=n) for network in ("host", "overlay") for n in (2, 4)]
    slow, fast = (
        make_campaign(cases[::2], ratio=4, noise=0.001, sizes=(1, 2, 3, 4)),
        make_campaign(cases[1::2], ratio=1.5625, noise=0.001, sizes=(1,)),
    )
    both = msgspec.structs.replace(make_campaign(cases), attempts=slow.attempts + fast.attempts)
    [latency] = [one for one in headlines(both) if one.aspect is Aspect.LATENCY]
    assert latency.ratio == pytest.approx(2.5, rel=0.01)  # √(4 · 1.5625)
    assert (latency.least, latency.most) == pytest.approx((1.5625, 4), rel=0.01)
    assert len(latency.cases) == 2


def test_a_case_that_failed_on_one_side_is_reported_as_not_measured() -> None:
    cases = [make_case(network, nodes=n) for network in ("host", "overlay") for n in (2, 4)]
    campaign = make_campaign(cases, noise=0.001)
    kept = tuple(one for one in campaign.attempts if one.case != cases[3].id)
    found = headlines(msgspec.structs.replace(campaign, attempts=kept))
    assert found[0].verdict is Verdict.WORSE
    assert [one.cases for one in found if one.ratio is None] == [((cases[1].id, cases[3].id),)] * 2


def test_figures_that_are_not_primary_are_not_reported() -> None:
    campaign = make_campaign()
    foms = {name: (latency,) for name, (latency, _) in campaign.plan.foms.items()}
    plan = msgspec.structs.replace(campaign.plan, foms=foms)
    assert [one.aspect for one in headlines(msgspec.structs.replace(campaign, plan=plan))] == [Aspect.LATENCY]


def test_two_blocks_have_no_interval_to_report() -> None:
    for one in headlines(make_campaign(blocks=2)):
        assert (one.low, one.high, one.verdict) == (None, None, Verdict.UNDECIDED)


def test_every_workload_has_a_headline_of_its_own_though_a_few_runs_are_missing() -> None:
    cases = [make_case(name, workload=f"w{index:02}") for index in range(40) for name in ("host", "overlay")]
    campaign = make_campaign(cases, ratio=1.5, noise=0.01, blocks=10)
    random = np.random.default_rng(1)
    kept = tuple(one for one in campaign.attempts if random.random() > 0.05)
    found = headlines(msgspec.structs.replace(campaign, attempts=kept))
    assert len(found) == 80
    assert {one.verdict for one in found} == {Verdict.WORSE}
