"""The words of sentences: places, notes, further figures, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from support.planned import RATE, make_planned
from tare.analysis.quoted_figures import quoted
from tare.analysis.verdicts.compare import aggregates, overview_of
from tare.analysis.verdicts.headline import headlines
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.values import Scalar
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.live.charts import changes
from tare.live.statistics import compute_statistics
from tare.plugins.workloads import hpcc
from tare.report.variants import lay_out
from tare.report.words.answer import answer_all, reading
from tare.report.words.further import figure_key, further_words
from truth.campaigns import Figure, Truth, campaign, campaigns
from truth.noise import lognormal
from truth.told_campaigns import QUIET, plain, said, slowed


def test_of_a_suite_the_farthest_figures_are_told_and_the_rest_is_counted() -> None:
    names = {one.name for one in hpcc.WORKLOADS[0].foms if not one.name.startswith(("Star", "Single"))}
    by = {name: 70.0 if "Random" in name else 1.35 for name in names} | {"SingleFFT_Gflops": 1.1}
    suite = tuple(
        Figure(
            name=one.name, unit=one.unit, better=one.better, is_primary=one.is_primary, answers=one.answers
        )
        for one in hpcc.WORKLOADS[0].foms
    )
    truth = Truth(workloads={"hpcc": suite}, slowing=slowed("network", "overlay", by), noise=QUIET, blocks=8)
    found = campaign(truth)
    rows = aggregates(found)
    heads = headlines(found)
    (answer,) = answer_all(heads, overview_of(rows), lay_out(found, rows), found.plan.margin, rows)
    text = plain(answer.sentence)
    assert "hpcc’s MPIRandomAccess GUPs (" in text
    assert re.search(r"worse than host in [^;]*2 more figures \(−2[56](\.\d)? %", text)
    assert "Star" not in text, "controls that use no network are no answer"
    assert "PTRANS time" not in text, "its rate tells the same"
    assert re.search(r"\d+ more figures that do not answer this were measured: \d+ worse", answer.beside)
    assert "SingleFFT Gflops" in answer.beside, "a control that got worse contradicts, and is named"


def test_further_figures_that_changed_are_named_by_workload() -> None:
    figures = (Figure(name="rate"), *(Figure(name=f"side{i}", is_primary=False) for i in (1, 2)))
    slowing = slowed("network", "overlay", {"side1": 1.5, "side2": 1.5})
    truth = Truth(workloads={"a": figures, "b": figures}, slowing=slowing, noise=QUIET, blocks=12)
    rows = aggregates(campaign(truth))
    shown = {figure_key(one) for one in rows if one.fom == "rate"}
    text = further_words(rows, shown)
    assert text == "4 more figures were measured: 4 worse (a’s side1 and side2, b’s side1 and 1 more)."
    of_one = [one for one in rows if one.at["workload"] == "a"]
    assert further_words(of_one, shown) == "2 more figures were measured: 2 worse (side1 and side2)."


def test_a_further_figure_that_is_worse_here_and_better_there_counts_once() -> None:
    by = slowed("network", "overlay", {"side1": 1.5})
    figures = (Figure(name="rate"), Figure(name="side1", is_primary=False))
    rows = aggregates(campaign(Truth(workloads={"a": figures}, slowing=by, noise=QUIET, blocks=12)))
    (one,) = (row for row in rows if row.fom == "side1")
    better = msgspec.structs.replace(one, verdict=Verdict.BETTER)
    text = further_words([one, better], set())
    assert text == "1 more figure was measured: 1 worse in some rows and better in others (side1)."


def test_a_further_figure_that_is_better_here_and_undecided_there_is_not_better_everywhere() -> None:
    by = slowed("network", "overlay", {"side1": 0.5, "side2": 0.5})
    figures = (Figure(name="rate"), *(Figure(name=f"side{i}", is_primary=False) for i in (1, 2)))
    rows = aggregates(campaign(Truth(workloads={"a": figures}, slowing=by, noise=QUIET, blocks=12)))
    (one,) = (row for row in rows if row.fom == "side1")
    open_one = msgspec.structs.replace(one, verdict=Verdict.UNDECIDED)
    text = further_words([*rows, open_one], {figure_key(row) for row in rows if row.fom == "rate"})
    assert text == "2 more figures were measured: 1 better (side2) and 1 better in some rows (side1)."


def test_what_has_no_ratio_is_not_said_to_have_changed_by_what_another_figure_did() -> None:
    foms = [msgspec.structs.replace(RATE, name=f"errors{i}") for i in range(6)]
    drops = msgspec.structs.replace(RATE, name="drops")
    zeros = {fom: [0.0] * 6 for fom in foms}
    found = make_planned({network: {**zeros, drops: [5.0] * 6} for network in ("host", "overlay")})
    (answer,) = said(found)
    assert "and 3 more figures at 2 nodes" in plain(answer.sentence)


def test_of_many_further_figures_that_changed_the_rest_is_counted() -> None:
    sides = [f"side{i}" for i in range(1, 6)]
    figures = (Figure(name="rate"), *(Figure(name=name, is_primary=False) for name in sides))
    slowing = slowed("network", "overlay", dict.fromkeys(sides, 1.5))
    rows = aggregates(campaign(Truth(workloads={"a": figures}, slowing=slowing, noise=QUIET, blocks=12)))
    text = further_words(rows, {figure_key(one) for one in rows if one.fom == "rate"})
    assert text == "5 more figures were measured: 5 worse (side1, side2, side3 and 2 more)."


def test_worse_and_better_are_said_by_the_word_and_each_place_once() -> None:
    by = {"rate": 1.5, "time": 0.7}
    figures = (
        Figure(name="time"),
        Figure(name="rate", unit="MB/s", better=Better.HIGHER),
        Figure(name="pace", unit="steps/s", better=Better.HIGHER),
    )
    truth = Truth(workloads={"a": figures}, slowing=slowed("network", "overlay", by), noise=QUIET, blocks=12)
    (answer,) = said(campaign(truth))
    assert re.fullmatch(
        r"overlay is worse than host in a’s rate \(33.*? % lower \[.*?\]\); "
        r"better in a’s time \(30.*? % shorter \[.*?\]\); "
        r"is equivalent to host, within ± 2 %, in a’s pace \(.*?\); all at 2 nodes\.",
        plain(answer.sentence),
    )


def test_a_time_that_grew_more_than_its_rate_fell_is_told_beside_it() -> None:
    hpl = (
        Figure(name="HPL_Tflops", unit="Tflop/s", better=Better.HIGHER),
        Figure(name="HPL_time", is_primary=False),
    )
    for longer, is_told in ((1.2, False), (1.9, True)):
        by = {"HPL_Tflops": 1.2, "HPL_time": longer}
        truth = Truth(
            workloads={"hpl": hpl}, slowing=slowed("network", "overlay", by), noise=QUIET, blocks=12
        )
        (answer,) = said(campaign(truth))
        assert ("HPL time" in answer.text) == is_told


def test_beside_what_is_undecided_no_other_mean_is_told_that_is_undecided_too() -> None:
    figures = (Figure(name="time"), Figure(name="rate", unit="MB/s", better=Better.HIGHER))
    for found in campaigns(Truth(workloads={"a": figures}, noise=lognormal(0.5), blocks=6), 20):
        (answer,) = said(found)
        for clause in answer.clauses:
            (one,) = clause.headlines
            sure = (
                one.mean_cost is not None
                and one.mean_cost.low
                and one.mean_cost.high
                and not one.mean_cost.low <= 1 <= one.mean_cost.high
            )
            assert one.verdict is not Verdict.UNDECIDED or sure or " mean" not in clause.text


def test_a_note_of_one_place_names_it() -> None:
    factors: dict[str, Sequence[Scalar]] = {"network": ("host", "overlay"), "nodes": (2, 4)}
    found = campaign(Truth(factors=factors, noise=QUIET, blocks=8))
    heads = headlines(found)
    one, *_ = heads
    first, second = ((case,) for case in one.cases)
    parts = [
        msgspec.structs.replace(one, cases=first, note="seldom"),
        msgspec.structs.replace(one, cases=second, verdict=Verdict.WORSE, ratio=1.2),
    ]
    rows = aggregates(found)
    (answer,) = answer_all(parts, overview_of(rows), lay_out(found, rows), found.plan.margin)
    assert re.search(r"On synthetic\.solver’s time at 2 nodes: seldom\.", answer.beside)


def test_numbers_without_intervals_are_not_said_to_have_them() -> None:
    for blocks in (1, 2):
        heads = headlines(campaign(Truth(blocks=blocks)))
        assert "In brackets" not in reading(heads, 0.02)
        assert "No number has an interval" in reading(heads, 0.02)
    assert "n = 5 paired blocks." in reading(headlines(campaign(Truth())), 0.02)


def test_a_wide_interval_has_no_decimals_and_places_of_equal_nodes_are_named_together() -> None:
    factors: dict[str, Sequence[Scalar]] = {"network": ("host", "overlay"), "size": ("s", "m", "l", "xl")}
    (answer,) = said(campaign(Truth(factors=factors, noise=lognormal(0.6), blocks=5)))
    text = plain(answer.text)
    assert re.search(r"\([+−]?\d+ % \[−\d+, \d+\] on average", text)
    assert text.endswith("at 2 nodes (size s; size m; size l; size xl).")


def test_a_longer_elapsed_time_is_in_every_overview_and_the_rest_is_counted() -> None:
    figures = (
        Figure(name="rate", unit="op/s", better=Better.HIGHER),
        Figure(name="boot", unit="min", is_primary=False),
        Figure(name="errors", unit="1/s", is_primary=False),
        Figure(name="calm", is_primary=False),
    )
    by = {"boot": 1.5, "errors": 2.0}
    truth = Truth(workloads={"a": figures}, slowing=slowed("network", "overlay", by), noise=QUIET, blocks=12)
    found = campaign(truth)
    rows = aggregates(found)
    assert [one.fom for one in quoted(rows)] == ["rate", "boot"]
    live = compute_statistics(found, 1)
    bars = changes(live.figures, live.variants, found.plan.margin).bars
    assert [(bar.fom, bar.verdict) for bar in bars] == [("rate", "undecided"), ("boot", "worse")]
    (said_live,) = live.sentences
    assert "is within ± 2 % of host in a’s rate" in plain(said_live.text)
    assert "2 more figures that do not answer this were measured: 1 worse (errors)." in said_live.beside


def test_of_a_workload_without_primary_figures_all_are_in_the_overview() -> None:
    none = (Figure(name="x", is_primary=False), Figure(name="y", is_primary=False))
    found = campaign(Truth(workloads={"a": (Figure(name="time"),), "b": none}, noise=QUIET, blocks=5))
    assert [one.fom for one in quoted(aggregates(found))] == ["time", "x", "y"]


def zero_at(found: Campaign, size: int) -> Campaign:
    """Return a campaign in which a time of messages of `size` was printed as zero in the first run."""
    first, *rest = found.attempts
    (series,) = first.series
    values = [
        0.0 if at == size else value for at, value in zip(series.at["bytes"], series.values, strict=True)
    ]
    first = msgspec.structs.replace(first, series=[msgspec.structs.replace(series, values=values)])
    return msgspec.structs.replace(found, attempts=(first, *rest))


def test_what_is_left_out_since_it_was_zero_is_not_called_unmeasured() -> None:
    figure = Figure(name="time", unit="ms", at={"bytes": (8, 65536)})
    (answer,) = said(zero_at(campaign(Truth(workloads={"a": (figure,)}, noise=QUIET, blocks=8)), 8))
    text = plain(f"{answer.sentence} {answer.beside}")
    assert "not measured" not in text
    assert "lacks three blocks" not in text
    figure = Figure(name="time", unit="ms", at={"bytes": (8, 16, 65536)})
    (answer,) = said(zero_at(campaign(Truth(workloads={"a": (figure,)}, noise=QUIET, blocks=8)), 8))
    assert "On a’s time up to 1 KiB: 1 of 2 points left out" in plain(answer.beside)


def test_an_elapsed_time_that_grew_over_all_sizes_forbids_equivalence_at_the_small_ones() -> None:
    time = Figure(name="time", unit="s", at={"bytes": (8, 65536, 1048576)})
    truth = Truth(workloads={"a": (time,)}, noise=QUIET, blocks=12)
    found = campaign(truth)
    contender = {case.id for case in found.plan.cases if case.network == "overlay"}
    grown = np.array([1.0, 1.5, 1.5])
    attempts = [
        msgspec.structs.replace(
            one,
            series=[
                msgspec.structs.replace(series, values=[float(one) for one in grown * series.values])
                for series in one.series
            ],
        )
        if one.case in contender
        else one
        for one in found.attempts
    ]
    (answer,) = said(msgspec.structs.replace(found, attempts=tuple(attempts)))
    text = plain(answer.sentence)
    assert re.match(r"overlay is worse than host in a’s time from 64 KiB \((49|50)(\.\d)? % longer", text)
    assert "is within ± 2 % of host in a’s time up to 1 KiB" in text
    assert "equivalent" not in text


def test_claims_of_figures_that_are_judged_apart_are_not_said_to_be_judged_together() -> None:
    factors: dict[str, Sequence[Scalar]] = {"network": ("host", "overlay", "macvlan")}
    rate = Figure(name="rate", unit="MB/s", better=Better.HIGHER)
    elapsed = Figure(name="elapsed", is_primary=False)
    slowing = slowed("network", "overlay", {"rate": 1.2, "elapsed": 1.9})
    memory = Figure(name="memory", unit="B", is_primary=False)
    for figures, others in (((rate, elapsed), "both"), ((rate, elapsed, memory), "all 4")):
        truth = Truth(workloads={"a": figures}, factors=factors, slowing=slowing, noise=QUIET, blocks=12)
        assert (
            f"What is claimed allows for both of the figures that people quote and {others} of the other "
            "figures being asked at once, but not for these groups being asked together."
        ) in reading(headlines(campaign(truth)), 0.02)
    truth = Truth(workloads={"a": (rate,)}, factors=factors, slowing=slowing, noise=QUIET, blocks=12)
    assert "What is claimed allows for both being asked at once." in reading(headlines(campaign(truth)), 0.02)


def test_a_contender_without_a_value_at_any_scale_is_told_with_its_own_reason() -> None:
    factors: dict[str, Sequence[Scalar]] = {"network": ("host", "overlay"), "nodes": (2, 4)}
    found = campaign(Truth(factors=factors, noise=QUIET, blocks=6))
    is_host = {case: one.network == "host" for case, one in found.cases.items()}
    failed = [
        one if is_host[one.case] else msgspec.structs.replace(one, state=State.FAILED, series=[])
        for one in found.attempts
    ]
    awaited = [one for one in found.attempts if is_host[one.case]]
    for attempts, why in (
        (failed, "has not been measured beside host: overlay has none, since no run counts (6 failed)."),
        (awaited, "has not been measured beside host yet."),
    ):
        (answer,) = said(msgspec.structs.replace(found, attempts=tuple(attempts)))
        assert plain(answer.text) == why


def test_a_level_without_any_letter_is_written_in_quotes_and_is_not_all_cases() -> None:
    found = campaign(Truth(factors={"flags": ("", "-O3")}, noise=QUIET, blocks=6))
    (answer,) = said(found)
    assert "-O3 is equivalent to '', within ± 2 %" in plain(answer.sentence)
    assert found.plan.written("flags", "") == "''"
