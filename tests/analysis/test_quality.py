"""What speaks against the numbers: each trouble in its case and blocks, and nothing where there is none."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest

from support.planned import ELAPSED, about, make_planned
from support.slowing import slowed
from support.synthetic import make_campaign, make_case
from tare.analysis.trust.precision import Imprecision
from tare.analysis.trust.quality import QualityWarning, quality
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.analysis.verdicts.variability import variabilities
from tare.core.attempt import Source
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.verdict import Verdict
from tare.report.words.quality_warnings import cure, cure_of_noise, finding, imprecision_words, subject
from truth.campaigns import Truth, campaigns
from truth.noise import lognormal

CASES = [make_case(network, nodes=n) for network in ("host", "overlay", "macvlan") for n in (2, 4)]
ODD = CASES[3]


def calm(blocks: int = 10, seed: int = 1, noise: float = 0.01, margin: float = 0.02) -> Campaign:
    return make_campaign(CASES, blocks=blocks, noise=noise, seed=seed, sizes=(1, 1024), margin=margin)


def only(campaign: Campaign) -> QualityWarning:
    [warning] = quality(campaign).warnings
    return warning


def test_a_calm_campaign_has_no_warning_and_names_what_was_tested() -> None:
    found = quality(calm())
    assert found.warnings == ()
    assert found.n_figures == len(CASES)  # the bandwidth tells the latency again
    ratios = found.n_tested.pop(RepeatabilityWarning.AUTOCORRELATION)
    assert ratios == 4  # of both contenders, with two numbers of nodes
    assert set(found.n_tested.values()) == {len(CASES)}


@pytest.mark.slow
def test_clean_pages_raise_a_warning_of_one_kind_in_at_most_five_of_a_hundred() -> None:
    n_pages = 250
    raised = Counter(
        kind
        for seed in range(n_pages)
        for kind in {one.kind for one in quality(calm(seed=seed, margin=0.0)).warnings}
    )
    assert max(raised.values(), default=0) / n_pages <= 0.05 + 3 * (0.05 * 0.95 / n_pages) ** 0.5


def test_a_case_that_drifts_is_found_with_its_rate() -> None:
    found = only(slowed(calm(), lambda case, block: 1.02**block if case == ODD else 1.0))
    assert (found.case, found.kind) == (ODD.id, RepeatabilityWarning.DRIFT)
    assert found.fom == "latency"
    assert found.size == pytest.approx(0.02, abs=0.005)
    assert found.blocks == tuple(range(1, 11))
    assert found.p < 0.05


def test_a_drift_of_all_cases_is_reported_once_also_with_five_blocks() -> None:
    found = only(slowed(calm(blocks=5), lambda _, block: 1.03**block))
    assert (found.case, found.kind) == (None, RepeatabilityWarning.DRIFT)
    assert found.size == pytest.approx(0.03, abs=0.01)


def test_a_case_that_drifts_apart_from_the_others_is_reported_besides() -> None:
    warnings = quality(slowed(calm(), lambda case, block: (1.08 if case == ODD else 1.03) ** block)).warnings
    assert [one.case for one in warnings] == [None, ODD.id]
    assert warnings[1].size == pytest.approx(0.05, abs=0.01)  # over what all do


def test_one_of_two_cases_that_drifts_is_not_taken_for_both() -> None:
    campaign = make_campaign(blocks=10, noise=0.005)
    contender = campaign.plan.cases[1]
    warnings = quality(
        slowed(campaign, lambda case, block: 1.05**block if case == contender else 1.0)
    ).warnings
    assert [(one.case, one.kind) for one in warnings] == [(contender.id, RepeatabilityWarning.DRIFT)]


@pytest.mark.parametrize("blocks", [10, 20])
def test_a_slow_first_block_is_a_warm_up_and_nothing_else(blocks: int) -> None:
    found = only(slowed(calm(blocks, noise=0.005), lambda case, b: 1.2 if case == ODD and b == 1 else 1.0))
    assert (found.case, found.kind, found.blocks) == (ODD.id, RepeatabilityWarning.WARM_UP, (1,))
    assert found.size == pytest.approx(0.2, abs=0.03)


def test_a_first_block_in_which_everything_is_slow_is_reported_once() -> None:
    found = only(slowed(calm(), lambda _, block: 1.2 if block == 1 else 1.0))
    assert (found.case, found.kind, found.blocks) == (None, RepeatabilityWarning.WARM_UP, (1,))
    assert found.size == pytest.approx(0.2, abs=0.03)


def test_of_fewer_than_ten_blocks_a_slow_first_one_is_an_odd_run_and_not_called_warm_up() -> None:
    campaign = slowed(calm(5, noise=0.002), lambda case, b: 1.3 if case == ODD and b == 1 else 1.0)
    found = only(campaign)
    assert (found.case, found.kind, found.blocks) == (ODD.id, RepeatabilityWarning.OUTLIERS, (1,))
    assert "can be told from 10 blocks on" in cure(found, 0)
    assert quality(campaign).n_tested[RepeatabilityWarning.WARM_UP] == 0


def test_a_slow_first_run_is_no_warm_up_where_another_run_is_as_slow() -> None:
    def slow(case: Case, block: int) -> float:
        return 3.0 if (case == ODD and block == 1) or (case == CASES[0] and block == 6) else 1.0

    found = quality(slowed(calm(), slow)).warnings
    assert {one.kind for one in found} == {RepeatabilityWarning.OUTLIERS}


def test_two_modes_are_found_with_both_levels() -> None:
    campaign = calm(noise=0.005)
    found = only(slowed(campaign, lambda case, b: 1.5 if case == ODD and b in (2, 5, 6, 9) else 1.0))
    assert (found.case, found.kind, found.blocks) == (ODD.id, RepeatabilityWarning.MODES, (2, 5, 6, 9))
    low, high = found.levels
    assert high / low == pytest.approx(1.5, rel=0.02)
    assert low == pytest.approx(1.5 * (20.001 * 21.024) ** 0.5, rel=0.02)


def test_a_single_slow_run_is_an_outlier_and_not_serious() -> None:
    found = only(slowed(calm(), lambda case, block: 1.6 if case == ODD and block == 7 else 1.0))
    assert (found.case, found.kind, found.blocks) == (ODD.id, RepeatabilityWarning.OUTLIERS, (7,))
    assert found.size == pytest.approx(0.6, abs=0.05)
    assert not found.is_serious


def test_a_short_session_that_is_as_slow_as_another_has_no_run_far_off() -> None:
    """All runs are 10 % slower from the second session on; the third has a single block."""
    found = slowed(calm(9), lambda case, block: 1.1 if block > 4 else 1.0)
    attempts = [
        msgspec.structs.replace(one, session=1 + (one.block - 1) // 4, started_at=1e9 + 86400 * one.block)
        for one in found.attempts
    ]
    assert quality(msgspec.structs.replace(found, attempts=tuple(attempts))).warnings == ()


def test_runs_that_resemble_the_one_before_are_found() -> None:
    wave = 1 + 0.05 * np.sin(np.arange(33) * np.pi / 4)
    campaign = slowed(calm(blocks=32), lambda case, b: float(wave[b]) if case == ODD else 1.0)
    [found] = [one for one in quality(campaign).warnings if one.is_serious]
    assert (found.case, found.kind) == (ODD.id, RepeatabilityWarning.AUTOCORRELATION)
    assert found.size > found.levels[0]


def wave(seed: int, blocks: int = 40) -> list[float]:
    steps = np.random.default_rng(seed).normal(0, 0.05, blocks)
    level = [0.0]
    for step in steps:
        level.append(0.7 * level[-1] + float(step))
    return [float(np.exp(one)) for one in level]


def waving(seed: int) -> Campaign:
    slow = wave(seed)
    return slowed(calm(blocks=40, seed=seed), lambda _, block: slow[block])


@pytest.mark.slow
def test_what_lasts_from_block_to_block_on_both_sides_alike_does_ratios_no_harm() -> None:
    n_warned = 0
    for seed in range(60):
        warnings = quality(waving(seed)).warnings
        n_warned += any(one.kind is RepeatabilityWarning.AUTOCORRELATION for one in warnings)
    assert n_warned <= 8


def test_what_lasts_on_one_side_is_reported_for_its_ratio() -> None:
    slow = wave(3)
    warnings = quality(slowed(calm(blocks=40), lambda case, b: slow[b] if case == ODD else 1.0)).warnings
    [found] = [one for one in warnings if one.kind is RepeatabilityWarning.AUTOCORRELATION]
    assert (found.case, found.is_of_ratio) == (ODD.id, True)
    assert finding(found).startswith("its ratio to the reference resembles the one in the block before")


def on_nodes(campaign: Campaign, load: float, n_cpus: int) -> Campaign:
    attempts = tuple(msgspec.structs.replace(one, load=load, environment="e") for one in campaign.attempts)
    return msgspec.structs.replace(
        campaign, attempts=attempts, environments={"e": {"n1": {"cpu.logical": str(n_cpus)}}}
    )


def test_a_machine_too_noisy_for_the_question_is_reported_with_its_load() -> None:
    noisy = quality(on_nodes(make_campaign(ratio=1.0, noise=0.25, margin=0.02), 4.0, 2)).imprecision
    assert noisy is not None
    assert (noisy.n_wide, noisy.n_ratios, noisy.load, noisy.n_cpus) == (2, 2, (4.0, 4.0), 2)
    assert noisy.half_width > 0.1
    assert "too noisy for that question" in imprecision_words(noisy)
    assert "the load average was 4.0 when runs started, on nodes of 2 CPUs" in imprecision_words(noisy)
    varied = msgspec.structs.replace(noisy, load=(4.0, 6.0))
    assert "the load average was 4.0 to 6.0 when runs started" in imprecision_words(varied)
    assert "fewer CPUs" in cure_of_noise(noisy)


def test_a_noise_beyond_tenfold_is_told_as_a_factor() -> None:
    words = imprecision_words(
        Imprecision(
            n_wide=2,
            n_ratios=2,
            half_width=2686.0,
            margin=0.02,
            load=None,
            n_cpus=None,
            scatter=11.5,
            n_needed=10**9,
        )
    )
    assert "known to a factor of 2\u202f687 in the median" in words
    assert "ratios scatter by a factor of 12.5 from block to block" in words


def test_ratios_are_not_said_to_scatter_by_what_their_interval_allows_for() -> None:
    """Two slow blocks, one after the other: 18 % from block to block, and a far wider interval."""
    slow_start = [15.0, 15.01, *about(10.0, 12)]
    found = make_planned({"host": {ELAPSED: about(10.0, 14)}, "overlay": {ELAPSED: slow_start}})
    noisy = quality(found).imprecision
    assert noisy is not None
    assert 0.1 < noisy.scatter < 0.2
    assert noisy.n_needed > 1000
    assert "from block to block and resemble the one before, so that" in imprecision_words(noisy)


@pytest.mark.parametrize("blocks", [5, 6, 8, 11, 12, 20])
@pytest.mark.parametrize("slower", [1.5, 100.0])
def test_one_run_far_off_is_no_noisy_machine(blocks: int, slower: float) -> None:
    """With fewer than 12 blocks, a single run widens the interval by ranks as well."""
    two = make_campaign(ratio=1.0, noise=0.005, margin=0.02, blocks=blocks)

    def late(case: Case, block: int) -> float:
        return slower if case.network == "overlay" and block == 3 else 1.0

    assert quality(slowed(two, late)).imprecision is None


def test_few_blocks_of_a_usual_machine_are_no_noisy_machine() -> None:
    """What some more blocks decide is said by the row itself; load below the CPUs is no reason."""
    usual = [Truth(noise=lognormal(0.03), blocks=blocks) for blocks in (3, 5, 8)]
    told = [quality(on_nodes(each, 1.0, 2)).imprecision for truth in usual for each in campaigns(truth, 15)]
    assert sum(one is not None for one in told) <= 2


def test_a_load_that_fits_the_processors_is_no_reason() -> None:
    noisy = quality(on_nodes(make_campaign(ratio=1.0, noise=0.25, margin=0.02), 1.0, 2)).imprecision
    assert noisy is not None
    assert noisy.n_needed > 100
    assert "load" not in imprecision_words(noisy)
    assert "blocks: they were too noisy" in imprecision_words(noisy)


def test_a_noisy_machine_whose_ratios_are_decided_was_quiet_enough() -> None:
    assert quality(on_nodes(make_campaign(ratio=5.0, noise=0.1), 4.0, 2)).imprecision is None
    assert quality(on_nodes(calm(), 4.0, 2)).imprecision is None


def test_what_is_smaller_than_the_margin_is_no_warning() -> None:
    def warm(case: Case, block: int) -> float:
        return 1.03 if case == ODD and block == 1 else 1.0

    assert quality(slowed(calm(noise=0.001, margin=0.02), warm)).warnings
    assert not quality(slowed(calm(noise=0.001, margin=0.05), warm)).warnings


def test_of_imported_runs_nobody_knows_the_order_so_nothing_in_time_is_looked_for() -> None:
    campaign = slowed(calm(), lambda _, block: 1.1**block)
    source = Source("a.out", "0" * 64)
    imported = tuple(msgspec.structs.replace(one, source=source) for one in campaign.attempts)
    found = quality(msgspec.structs.replace(campaign, attempts=imported))
    assert not found.is_in_order
    assert not [one for one in found.warnings if one.kind.is_in_time]
    assert found.n_tested[RepeatabilityWarning.DRIFT] == 0
    assert found.n_tested[RepeatabilityWarning.MODES] == len(CASES)


def test_too_few_blocks_test_nothing() -> None:
    found = quality(slowed(calm(blocks=4), lambda _, block: 2.0**block))
    assert found.warnings == ()
    assert set(found.n_tested.values()) == {0}


def test_a_campaign_without_a_run_has_no_warning() -> None:
    found = quality(msgspec.structs.replace(calm(), attempts=()))
    assert not found.warnings
    assert not found.scatters
    assert found.n_figures == 0


def test_the_scatter_of_each_case_has_an_interval() -> None:
    found = quality(calm(noise=0.03)).scatters
    assert len(found) == 2 * len(CASES)
    assert all(one.low and one.cv and one.high and one.low < one.cv < one.high for one in found)


def noisy_contender(blocks: int, sigma: float, networks: tuple[str, ...] = ("overlay",)) -> Campaign:
    random = np.random.default_rng(9)
    return slowed(
        calm(blocks),
        lambda case, _: float(np.exp(random.normal(0, sigma))) if case.network in networks else 1,
    )


def test_a_contender_that_scatters_more_is_worse_and_one_that_does_not_is_not() -> None:
    found = variabilities(noisy_contender(12, 0.1))
    latency = {(one.contender["network"], one.at["nodes"]): one for one in found if one.fom == "latency"}
    assert set(latency) == {(network, nodes) for network in ("overlay", "macvlan") for nodes in (2, 4)}
    worse = latency["overlay", 2]
    assert worse.verdict is Verdict.WORSE
    assert worse.ratio is not None
    assert worse.ratio > 4
    assert worse.contender_cv == pytest.approx(0.1, rel=0.6)
    assert latency["macvlan", 2].verdict is Verdict.UNDECIDED


def test_isolating_infrastructure_lowers_the_variance() -> None:
    found = variabilities(noisy_contender(12, 0.1, networks=("host",)))
    assert {one.verdict for one in found} == {Verdict.BETTER}


def test_two_blocks_have_no_variability_and_note_it() -> None:
    [first, *_] = variabilities(calm(blocks=2))
    assert first.ratio is first.low is first.reference_cv is None
    assert first.verdict is Verdict.UNDECIDED
    assert "too few blocks" in first.note


@pytest.mark.parametrize("blocks", [6, 8, 12])
def test_a_case_that_stays_as_it_is_does_not_drift_because_the_others_do(blocks: int) -> None:
    drifting = slowed(calm(blocks=blocks), lambda case, block: 1.0 if case == ODD else 1.05**block)
    shared, own = sorted(quality(drifting).warnings, key=lambda one: one.case is not None)
    assert (shared.case, shared.n_alike, shared.n_cases) == (None, len(CASES) - 1, len(CASES))
    assert subject(shared) == "5 of 6 cases"
    assert "Ratios of these cases to each other" in cure(shared, 0)
    assert (own.case, own.is_beside_others) == (ODD.id, True)
    assert finding(own).startswith("next to what the others do alike, ")
    assert "does not change with time as the others do" in cure(own, 0)


def test_a_drift_of_every_case_is_told_of_all() -> None:
    found = only(slowed(calm(), lambda case, block: 1.05**block))
    assert found.n_alike == found.n_cases == len(CASES)
    assert subject(found) == "all cases"
    assert cure(found, 0).startswith("Ratios are paired by block, so they hold")


def test_one_case_that_can_be_tested_is_not_all_of_them() -> None:
    rising = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    campaign = make_planned({"host": {ELAPSED: [0.0] * 6}, "overlay": {ELAPSED: rising}})
    assert all(one.case is not None for one in quality(campaign).warnings)


def test_the_cure_of_autocorrelation_says_whether_intervals_allow_for_it() -> None:
    wandering = QualityWarning(
        case="c", kind=RepeatabilityWarning.AUTOCORRELATION, blocks=(1,), n_blocks=12, size=0.6, p=0.01
    )
    assert "; the interval is wider for it" in cure(wandering, 0)
    of_ratio = msgspec.structs.replace(wandering, is_of_ratio=True)
    assert "the interval of the ratio is wider for it" in cure(of_ratio, 0)
    few = msgspec.structs.replace(of_ratio, n_blocks=8)
    assert "8 blocks do not show how much less" in cure(few, 0)


@pytest.mark.parametrize("margin", [0.0, 5e-324, 1e-160, 0.02])
def test_any_margin_may_be_asked_about(margin: float) -> None:
    noisy = np.random.default_rng(1).lognormal(0, 0.3, (2, 6)).tolist()
    campaign = make_planned({"host": {ELAPSED: noisy[0]}, "overlay": {ELAPSED: noisy[1]}}, margin=margin)
    assert (quality(campaign).imprecision is None) is (margin < 0.02)


def test_values_of_zero_are_not_called_too_few() -> None:
    values = [5.0, 5.1, 4.9, 5.2, 5.05, 4.95, 5.15]
    campaign = make_planned({"host": {ELAPSED: [*values, 5.0]}, "overlay": {ELAPSED: [*values, 0.0]}})
    [row] = variabilities(campaign)
    assert (row.verdict, row.note) == (Verdict.UNDECIDED, "no scatter: some values are zero or less")
