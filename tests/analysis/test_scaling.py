"""Which cases make a curve, what it is held against, and what published results say of it."""

from __future__ import annotations

import msgspec
import pytest

from support.scales import SECONDS, make_application, usl
from support.synthetic import make_campaign, make_case, make_plan
from tare.analysis.answering_figures import shown_foms
from tare.analysis.aspects import is_elapsed
from tare.analysis.lines import lines
from tare.analysis.scales.scaling import is_scalable, scaled_cases, scalings
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.comparison import Mean, MeanCost
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.scaling import Law, Remark, ScalingKind, ScalingResult
from tare.core.study import Scaling
from tare.core.values import Settings
from tare.core.workload import ALL_BUT_STORAGE, Better, QuestionKind
from tare.published import as_campaign, read_publication
from tare.report.words.mean_cost import mean_words
from tare.report.words.scaling import sentences
from truth.campaigns import Figure, Truth, campaign


def layout(case: Case, *, nodes: int, ranks: int, ranks_per_node: int) -> Case:
    name = f"{case.id} {nodes} {ranks} {ranks_per_node}"
    return msgspec.structs.replace(case, layout=Layout(nodes, ranks, ranks_per_node), id=name)


def specfem(nex: int, ranks: int) -> Case:
    case = make_case(workload="specfem", parameters={"nex": nex})
    return layout(case, nodes=max(1, ranks // 2), ranks=ranks, ranks_per_node=2)


def test_a_rate_scales_as_the_law_that_made_it() -> None:
    (curve,) = scalings(make_application({"host": usl(6, 0.03, 0.004)}, noise=0.001))
    assert (curve.kind, curve.along, curve.p_ref, curve.fom) == (ScalingKind.STRONG, "nodes", 1, "ns_per_day")
    last = curve.points[-1]
    assert last.efficiency is not None
    assert last.efficiency.value == pytest.approx(1 / (1 + 0.03 * 15 + 0.004 * 16 * 15), rel=0.01)
    assert last.efficiency.low is not None
    assert curve.knee is not None
    assert curve.knee.value == pytest.approx((0.97 / 0.004) ** 0.5, rel=0.03)


def test_a_time_scales_like_the_rate_that_it_is_one_over() -> None:
    rate = usl()
    fast, slow = (
        scalings(make_application({"host": law}, fom=fom, noise=0.0))[0]
        for law, fom in ((rate, make_application({"host": rate}).plan.foms["synthetic.application"][0]),
                         (lambda case: 1 / rate(case), SECONDS))
    )  # fmt: skip
    for one, other in zip(fast.points, slow.points, strict=True):
        assert one.speedup is not None
        assert other.speedup is not None
        assert one.speedup.value == pytest.approx(other.speedup.value)


def test_speedups_refer_to_the_smallest_scale_that_all_sides_have() -> None:
    campaign = make_application({"host": usl(), "overlay": usl()}, missing=[("overlay", 1)])
    host, overlay = scalings(campaign)
    assert (host.p_ref, overlay.p_ref) == (2, 2)
    assert overlay.points[0].value is None
    assert overlay.points[0].note == "not measured: no run counts (5 failed)"
    assert scalings(campaign, p_ref=1)[0].p_ref == 1
    assert scalings(campaign, p_ref=1)[1].note == "not measured at 1 node, to which speedups refer"
    assert all(point.speedup is None for point in scalings(campaign, p_ref=1)[1].points)


def test_a_side_of_which_all_runs_failed_is_listed_with_the_reason() -> None:
    scales = (1, 2, 4)
    lost = [("overlay", nodes) for nodes in scales]
    host, overlay = scalings(make_application({"host": usl(), "overlay": usl()}, scales, missing=lost))
    assert (host.settings["network"], overlay.settings["network"]) == ("host", "overlay")
    assert [point.value for point in overlay.points] == [None, None, None]
    assert {point.note for point in overlay.points} == {"not measured: no run counts (5 failed)"}
    assert overlay.fom == host.fom
    assert sentences(overlay) == ["Not measured: no run counts (5 failed)."]


def test_what_lies_below_the_reference_scale_is_not_called_super_linear() -> None:
    (curve,) = scalings(make_application({"host": usl(sigma=0.3)}, noise=0.001), p_ref=4)
    assert curve.points[0].efficiency is not None
    assert curve.points[0].efficiency.value > 1.2
    assert curve.points[0].remarks == ()


def test_an_unknown_reference_scale_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"p-ref 3: no case has this scale; choose from 1, 2, 4"):
        scalings(make_application({"host": usl()}, (1, 2, 4)), p_ref=3)


def test_a_missing_scale_is_none_and_the_fit_does_without() -> None:
    campaign = make_application({"host": usl()}, missing=[("host", 4)])
    (curve,) = scalings(campaign)
    assert curve.points[2].value is None
    assert curve.points[2].speedup is None
    assert {fit.n_scales for fit in curve.fits} == {4}


def test_a_curve_goes_only_along_what_is_named() -> None:
    campaign = make_application({"host": usl()}, scaling=Scaling(strong=("threads",)))
    assert scalings(campaign) == []


def test_latencies_and_bandwidths_of_messages_do_not_scale() -> None:
    campaign = make_campaign([make_case(nodes=nodes) for nodes in (2, 4, 8)])
    assert scalings(campaign) == []
    assert not is_scalable("us", Better.LOWER, ())
    assert not is_scalable("%", Better.HIGHER, ())
    assert is_scalable("days/ns", Better.LOWER, ())
    assert is_scalable("GB/s", Better.HIGHER, ("operation",))


@pytest.mark.parametrize(
    "unit", ["ms", "s", "sec", "Seconds", "min", "Min", "minutes", "h", "hr", "hours", "d", "day", "days"]
)
def test_a_time_that_somebody_waits_is_one_by_each_spelling_of_its_unit(unit: str) -> None:
    assert is_elapsed(unit, Better.LOWER)
    assert is_scalable(unit, Better.LOWER, ())
    assert is_scalable(f"{unit}/step", Better.LOWER, ())
    assert (
        mean_words(MeanCost(mean=Mean.ARITHMETIC, ratio=1.0, low=None, high=None), unit)
        == "the mean of times"
    )


@pytest.mark.parametrize("unit", ["ns", "us", "µs", "\u03bcs", "usec", "MS", "m", "MB", ""])
def test_what_is_shorter_or_no_time_is_nothing_that_somebody_waits(unit: str) -> None:
    assert not is_elapsed(unit, Better.LOWER)
    assert not is_scalable(unit, Better.LOWER, ())


def storage_study(reference: dict[str, str] | None) -> Campaign:
    """Return a program whose steps scale perfectly and whose output takes as long on any number of nodes."""
    steps = Figure(name="step_time", level=8.0, answers=ALL_BUT_STORAGE)
    elapsed = Figure(name="elapsed", level=16.0, is_primary=False, answers=(QuestionKind.STORAGE,))

    def slower(settings: Settings, fom: str) -> float:
        share = 1 / int(settings["nodes"])
        return share if fom == "step_time" else (1 + share) / 2

    factors = {"storage": ("local", "nfs"), "nodes": (1, 2, 4)}
    workloads = {"wrf": (steps, elapsed)}
    return campaign(Truth(factors=factors, reference=reference, workloads=workloads, slowing=slower))


@pytest.mark.parametrize("reference", [None, {}])
def test_a_storage_study_scales_by_the_time_with_its_output_in_it(reference: dict[str, str] | None) -> None:
    study = storage_study(reference)
    curves = scalings(study)
    assert {one.fom for one in curves} == {"elapsed"}
    efficiency = curves[0].points[-1].efficiency
    assert efficiency is not None
    assert efficiency.value == pytest.approx(0.4, rel=0.02)
    assert {one.fom for one in scalings(study, foms=["step_time"])} == {"step_time"}
    assert {one.cell.fom for one in scaled_cases(study)} == {"elapsed"}
    assert "elapsed" in shown_foms(study.plan, "wrf")


def test_what_a_storage_study_promises_is_the_time_with_its_output_in_it() -> None:
    study = msgspec.structs.replace(storage_study(None), attempts=())
    assert {one.cell.fom for one in scaled_cases(study)} == {"elapsed"}


def test_weak_scaling_keeps_the_problem_of_each_rank() -> None:
    cases = [
        specfem(64, 4),
        specfem(128, 16),
        specfem(192, 36),
        specfem(256, 64),
        specfem(128, 4),
        specfem(192, 16),
    ]
    (line,) = lines(cases, ScalingKind.WEAK, ("nex", "ranks"))
    assert line.held == "nex²/ranks"
    assert [(scale, case.parameters["nex"]) for scale, case in line.cases] == [
        (4, 64),
        (16, 128),
        (36, 192),
        (64, 256),
    ]


def test_strong_scaling_keeps_the_problem_and_the_ranks_of_each_node() -> None:
    wide = [layout(make_case(), nodes=ranks, ranks=ranks, ranks_per_node=1) for ranks in (4, 16)]
    dense = [layout(make_case(), nodes=ranks // 2, ranks=ranks, ranks_per_node=2) for ranks in (4, 16, 64)]
    found = lines([*wide, *dense], ScalingKind.STRONG, ("ranks",))
    assert [[scale for scale, _ in line.cases] for line in found] == [[4, 16], [4, 16, 64]]


def test_the_same_ranks_on_more_nodes_are_a_line_too() -> None:
    cases = [layout(make_case(), nodes=nodes, ranks=8, ranks_per_node=8 // nodes) for nodes in (1, 2, 4)]
    (line,) = lines(cases, ScalingKind.STRONG, ("nodes",))
    assert [scale for scale, _ in line.cases] == [1, 2, 4]


def test_in_weak_scaling_a_constant_time_is_perfect() -> None:
    campaign = make_application(
        {"host": lambda _: 100.0}, fom=SECONDS, noise=0.0, scaling=Scaling(weak=("nodes",))
    )
    (curve,) = scalings(campaign)
    assert curve.kind is ScalingKind.WEAK
    assert [point.efficiency.value for point in curve.points if point.efficiency] == pytest.approx([1] * 5)
    assert [fit.law for fit in curve.fits] == [Law.GUSTAFSON, Law.USL]


def test_published_tcp_scales_negatively_without_interval() -> None:
    campaign = as_campaign(read_publication("openfoam-fabrics"))
    found = {str(curve.settings["network"]): curve.points[-1] for curve in scalings(campaign)}
    for network in ("tcp-25g", "tcp-10g"):
        assert found[network].scale == 8
        assert found[network].remarks == (Remark(ScalingResult.NEGATIVE, is_certain=False),)
        assert found[network].note == "without interval: single run"
    assert found["tcp-25g"].gain is not None
    assert found["tcp-25g"].gain.value == pytest.approx(347.19 / 560.37)
    assert found["tcp-25g"].gain.low is None
    assert found["ib-100g"].remarks == found["roce-25g"].remarks == ()


def test_a_plan_carries_what_scales_and_older_plans_are_still_read() -> None:
    plan = make_plan([make_case()])
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
    old = msgspec.json.decode(msgspec.json.encode(plan))
    del old["scaling"]
    assert msgspec.convert(old, Plan).scaling == Scaling()


def test_without_any_run_there_is_nothing_to_report() -> None:
    campaign = make_application({"host": usl()}, (1, 2), missing=[("host", 1), ("host", 2)])
    assert scalings(campaign) == []


def test_scales_of_many_digits_are_named_with_all_of_them() -> None:
    one = make_application({"host": usl(6, 0.0, 0.0)}, (1048576, 2097152), blocks=3, noise=0.001)
    message = "p-ref 1048577: no case has this scale; choose from 1048576, 2097152"
    with pytest.raises(UsageError, match=message):
        scalings(one, p_ref=1048577)
