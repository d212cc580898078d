"""What the sentences say of campaigns whose truth is known: each clause by its value, and by its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pytest

from tare.analysis.answering_figures import kinds_asked
from tare.analysis.compare import aggregates, overview_of
from tare.analysis.headline import Headline, headlines
from tare.analysis.quoted_figures import quoted
from tare.core.campaign import Campaign
from tare.core.values import Scalar, Settings
from tare.core.verdict import Verdict
from tare.core.workload import ALL_BUT_STORAGE, Better, QuestionKind
from tare.live.charts import changes
from tare.live.statistics import compute_statistics
from tare.plugins.workloads import hpcc
from tare.report.variants import lay_out
from tare.report.words.answer import Answer, answer_all, reading
from tare.report.words.clauses import Clause
from tare.report.words.further import figure_key, further_words
from truth.campaigns import Figure, Slowing, Truth, campaign, campaigns
from truth.noise import lognormal

QUIET = lognormal(0.003)
SIZES = {"bytes": (1, 64, 1024, 65536, 1048576)}
WRF = (
    Figure(name="step_time", answers=ALL_BUT_STORAGE),
    Figure(name="steps_per_s", unit="steps/s", better=Better.HIGHER),
    Figure(name="integration_time", is_primary=False, level=100.0, answers=(QuestionKind.STORAGE,)),
)
NAMD = (
    Figure(name="days_per_ns", unit="days/ns", answers=ALL_BUT_STORAGE),
    Figure(name="wall_time", level=300.0, answers=(QuestionKind.STORAGE,)),
)
HPCC = (
    Figure(name="HPL_Tflops", unit="Tflop/s", better=Better.HIGHER),
    Figure(name="MPIRandomAccess_GUPs", unit="GUP/s", better=Better.HIGHER),
    Figure(name="StarFFT_Gflops", unit="Gflop/s", better=Better.HIGHER),
)
OSU = {
    "osu.latency": (Figure(name="latency", unit="us", at=SIZES),),
    "osu.alltoall": (Figure(name="latency", unit="us", at=SIZES),),
    "osu.bw": (Figure(name="bandwidth", unit="MB/s", better=Better.HIGHER, at=SIZES),),
}


def said(found: Campaign) -> list[Answer]:
    rows = aggregates(found)
    heads = headlines(found)
    return answer_all(heads, overview_of(rows), lay_out(found, rows), found.plan.margin)


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def slowed(setting: str, level: str, by: Mapping[str, float]) -> Slowing:
    """Return a slowing of some figures wherever a setting has a level."""
    return lambda settings, fom: by.get(fom, 1.0) if settings.get(setting) == level else 1.0


def gateway(settings: Settings, fom: str) -> float:
    """Return WRF behind a gateway that writes slowly: heavy runs on four nodes take 44 % longer."""
    is_slow = settings["storage"] == "gateway" and settings["io"] == "heavy" and settings["nodes"] == 4
    return 1.44 if is_slow and fom == "integration_time" else 1.0


PATHS: Mapping[str, Sequence[Scalar]] = {
    "storage": ("direct", "gateway"),
    "io": ("none", "heavy"),
    "nodes": (1, 4),
}


def test_a_gateway_that_slows_heavy_output_is_told_by_the_time_that_output_is_in() -> None:
    truth = Truth(factors=PATHS, workloads={"wrf.x": WRF}, slowing=gateway, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.match(
        r"gateway is worse than direct in wrf\.x’s integration time \(4[345] % longer \[\d+, \d+\]\) "
        r"at 4 nodes \(io heavy\)",
        text,
    )
    assert "equivalent" not in text
    assert "is within ± 2 % of direct in wrf.x’s integration time (" in text, "the other places, named"
    assert "step" not in text, "its pace does not answer what storage costs"


def test_without_a_declared_answer_the_elapsed_time_still_forbids_equivalence() -> None:
    figures = tuple(
        Figure(name=one.name, unit=one.unit, better=one.better, is_primary=one.is_primary) for one in WRF
    )
    truth = Truth(factors=PATHS, workloads={"wrf.x": figures}, slowing=gateway, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    assert re.match(
        r"gateway is worse than direct in wrf\.x’s integration time \(4[345] % longer", plain(answer.sentence)
    )
    assert "equivalent" not in answer.sentence


def test_wall_time_and_pace_are_two_figures_and_not_one_average() -> None:
    truth = Truth(
        workloads={"namd.x": NAMD},
        slowing=slowed("network", "overlay", {"wall_time": 1.3}),
        noise=QUIET,
        blocks=8,
    )
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.match(
        r"overlay is worse than host in namd\.x’s wall time \((30|29\.\d|30\.\d) % longer \[", text
    )
    assert "is within ± 2 % of host in namd.x’s days per ns (" in text
    assert "equivalent" not in text
    assert "14" not in text


def test_figures_of_different_kinds_are_told_one_by_one() -> None:
    faster = {"HPL_Tflops": 1 / 1.35, "MPIRandomAccess_GUPs": 1 / 70}
    truth = Truth(
        workloads={"hpcc": HPCC}, slowing=slowed("network", "overlay", faster), noise=QUIET, blocks=8
    )
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.search(r"better than host in .*hpcc’s MPIRandomAccess GUPs \(multiplied by (70|69)", text)
    assert re.search(r"better than host in hpcc’s HPL Tflops \(3[45](\.\d)? % higher", text)
    assert "is equivalent to host, within ± 2 %, in hpcc’s StarFFT Gflops (" in text


def test_scales_are_averaged_only_where_they_agree_and_then_the_range_is_told() -> None:
    factors = {"network": ("host", "overlay"), "nodes": (1, 2, 4)}

    def slower(settings: Settings, _: str) -> float:
        by_nodes = {1: 1.0, 2: 1.1, 4: 1.4}
        return by_nodes[int(settings["nodes"])] if settings["network"] == "overlay" else 1.0

    (answer,) = said(campaign(Truth(factors=factors, slowing=slower, noise=QUIET, blocks=8)))
    text = plain(answer.sentence)
    assert re.search(
        r"2[34](\.\d)? % longer \[.*\] on average, \+(10|9\.\d) % to \+(40|39) %\) at 2 and 4", text
    )
    assert re.search(r"is within ± 2 % of host in synthetic\.solver’s time \(.*\) at 1 node", text)
    assert "At 1 node nothing crosses the network" in answer.beside


def test_reads_and_writes_are_told_apart() -> None:
    bandwidth = Figure(
        name="bandwidth", unit="MiB/s", better=Better.HIGHER, at={"operation": ("read", "write")}
    )
    truth = Truth(workloads={"ior": (bandwidth,)}, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    assert "ior’s bandwidth (operation read: " in plain(answer.text)
    assert "ior’s bandwidth (operation write: " in plain(answer.text)


def test_a_ping_pong_is_not_averaged_with_an_all_to_all() -> None:
    truth = Truth(
        workloads=OSU, slowing=slowed("network", "overlay", {"latency": 1.5}), noise=QUIET, blocks=8
    )
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.search(r"osu\.latency’s latency up to 1 KiB \((50|49|4\d\.\d) % higher", text)
    assert re.search(r"osu\.alltoall’s latency up to 1 KiB \((50|49|4\d\.\d) % higher", text)
    assert "osu.bw’s bandwidth from 64 KiB (" in text


@pytest.mark.parametrize(
    ("differing", "varied", "kind"),
    [
        ({"network"}, ("network", "nodes"), QuestionKind.NETWORK),
        ({"network"}, ("network", "io"), QuestionKind.STORAGE),
        ({"storage"}, ("storage",), QuestionKind.STORAGE),
        ({"platform"}, ("platform",), QuestionKind.PLATFORM),
        ({"cells"}, ("cells",), QuestionKind.COMPUTE),
        ({"bind"}, ("bind",), QuestionKind.SCHEDULER),
    ],
)
def test_what_differs_says_what_is_asked(
    differing: set[str], varied: tuple[str, ...], kind: QuestionKind
) -> None:
    assert kinds_asked(differing, varied) == {kind}


def test_the_workloads_that_leave_output_out_of_their_pace_declare_what_answers_storage() -> None:
    from tare.plugins.workloads import gromacs, lammps, namd, openfoam, wrf_output

    answering = {
        name: {kind: [fom.name for fom in foms if kind in fom.answers] for kind in QuestionKind}
        for name, foms in {
            "wrf": wrf_output.FOMS,
            "namd": namd._FOMS,
            "openfoam": openfoam._FOMS,
            "lammps": lammps._FOMS,
            "gromacs": gromacs._FOMS,
        }.items()
    }
    storage = {name: kinds[QuestionKind.STORAGE] for name, kinds in answering.items()}
    assert storage == {
        "wrf": ["integration_time"],
        "namd": ["wall_time"],
        "openfoam": ["clock_time"],
        "lammps": ["loop_time"],
        "gromacs": ["wall_time"],
    }
    assert all(len(foms) == 1 for kinds in answering.values() for foms in kinds.values())


def is_true(truth: Truth, found: Campaign, one: Headline) -> bool:
    """Return whether the truth at every place of a headline is what its verdict says."""
    ratios = [
        truth.ratio(found.cases[reference], found.cases[contender], one.fom, one.better)
        for reference, contender in one.cases
    ]
    match one.verdict:
        case Verdict.UNDECIDED:
            return True
        case Verdict.EQUIVALENT:
            return all(1 / (1 + truth.margin) <= ratio <= 1 + truth.margin for ratio in ratios)
        case _:
            is_up = (one.verdict is Verdict.WORSE) == (one.better is Better.LOWER)
            return all(ratio > 1 if is_up else ratio < 1 for ratio in ratios)


_CHANGE = re.compile(r"(\d+(?:\.\d+)?) % (longer|higher|shorter|lower)")


def words_are_those_of_the_value(clause: Clause) -> bool:
    """Return whether the number and the direction in the text are those of the headline."""
    match = _CHANGE.search(plain(clause.text))
    if match is None or clause.is_range:
        return True
    (one,) = clause.headlines
    assert one.ratio is not None
    is_more = match[2] in ("longer", "higher")
    return is_more == (one.ratio > 1) and abs(float(match[1]) - 100 * abs(one.ratio - 1)) <= 0.51


def mixed(random: np.random.Generator) -> Truth:
    """Return a study of mixed effects: of each figure and scale none, within the margin, or large."""
    kinds: Sequence[Mapping[str, Sequence[Figure]]] = [{"wrf.x": WRF}, {"namd.x": NAMD}, {"hpcc": HPCC}, OSU]
    workloads = kinds[int(random.integers(len(kinds)))]
    factor = ("network", "storage")[int(random.integers(2))]
    effects = {
        (fom.name, nodes): float(random.choice([1.0, 1.0, 1.005, 0.8, 1.3, 20.0]))
        for figures in workloads.values()
        for fom in figures
        for nodes in (1, 4)
    }

    def slower(settings: Settings, fom: str) -> float:
        return effects[fom, int(settings["nodes"])] if settings[factor] == "b" else 1.0

    return Truth(
        factors={factor: ("a", "b"), "nodes": (1, 4)},
        workloads=workloads,
        slowing=slower,
        noise=lognormal(float(random.choice([0.003, 0.01, 0.03]))),
        blocks=int(random.choice([5, 8, 12])),
    )


def test_sentences_of_random_campaigns_are_true() -> None:
    random = np.random.default_rng(11)
    n_studies, with_false = 0, 0
    for seed in range(40):
        truth = mixed(random)
        for found in campaigns(truth, 3, seed=seed):
            n_studies += 1
            (answer,) = said(found)
            told = [one for clause in answer.clauses for one in clause.headlines]
            with_false += not all(is_true(truth, found, one) for one in told)
            assert all(words_are_those_of_the_value(clause) for clause in answer.clauses)
            assert all(
                clause.text in answer.text and clause.where in answer.text for clause in answer.clauses
            )
            rows = aggregates(found)
            is_slow = any(row.verdict is Verdict.WORSE and row.unit == "s" for row in rows)
            assert not (is_slow and "equivalent to" in answer.text)
            verdicts = {(row.contender_case, row.fom): row.verdict for row in rows}
            for one in told:
                for _, case in one.cases:
                    if one.sizes == "all":
                        assert one.verdict is verdicts[case, one.fom], "the row of the table says the same"
    assert with_false / n_studies <= 0.1, "two families at 5 % each"


def test_every_installed_workload_has_a_figure_that_answers_each_kind_of_question() -> None:
    from tare.plugins import registry

    for name, workload in registry.workloads().items():
        for kind in QuestionKind:
            assert any(kind in fom.answers or fom.is_primary for fom in workload.foms), (name, kind)


def test_a_figure_at_sizes_between_latency_and_bandwidth_is_told_all_the_same() -> None:
    between = Figure(name="latency", unit="us", at={"bytes": (4096, 8192)})
    slower = slowed("network", "overlay", {"latency": 1.5})
    truth = Truth(workloads={"osu.latency": (between,)}, slowing=slower, noise=QUIET, blocks=8)
    (answer,) = said(campaign(truth))
    text = plain(answer.sentence)
    assert re.match(r"overlay is worse than host in osu\.latency’s latency \((50|49|4\d\.\d) % higher", text)


def test_figures_without_a_direction_are_not_called_unmeasured() -> None:
    found = campaign(Truth(noise=QUIET, blocks=8))
    attempts = tuple(
        msgspec.structs.replace(
            one, series=[msgspec.structs.replace(series, better=None) for series in one.series]
        )
        for one in found.attempts
    )
    (answer,) = said(msgspec.structs.replace(found, attempts=attempts))
    assert answer.text == "has no figure that says which way is better, so nothing is claimed of it."


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
    assert text == "4 more figures were measured: 4 worse (a’s side1 and side2, b’s side1 and others)."
    of_one = [one for one in rows if one.at["workload"] == "a"]
    assert further_words(of_one, shown) == "2 more figures were measured: 2 worse (side1 and side2)."


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
