"""What is said of campaigns whose every value is planned: no sentence is false of these values."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence

import msgspec
import pytest

from report.studies import content_of, page_of, plain
from report.studies import said_of as said
from support.planned import ELAPSED, RATE, about, make_planned
from support.synthetic import make_campaign
from tare.analysis.checking.check import CheckedComparison, Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.trust.quality import quality
from tare.analysis.verdicts.compare import aggregates
from tare.core.attempt import Source
from tare.core.campaign import Campaign
from tare.core.comparison import Mean
from tare.core.curves import Crossover
from tare.core.interval import Bounded
from tare.core.verdict import Verdict
from tare.core.workload import Better, Fom
from tare.report.checks.words import limit_words, measured_words
from tare.report.sections.overview import overview
from tare.report.sections.quality_warnings import quality_warnings
from tare.report.variants import lay_out
from tare.report.words.changes import change, levels
from tare.report.words.curves import crossover_words

GAIN = Fom(name="gain", unit="dB", better=Better.HIGHER, is_primary=True)
ERRORS = Fom(name="errors", unit="1", better=Better.LOWER, is_primary=True)
TIMEOUTS = Fom(name="timeouts", unit="1", better=Better.LOWER, is_primary=True)

Sides = dict[str, dict[Fom, Sequence[float | None]]]


def equals(margin: float) -> Campaign:
    """Return a campaign of equals."""
    return make_planned({"host": {ELAPSED: about(5.0)}, "overlay": {ELAPSED: about(5.0)}}, margin=margin)


MARGINS = [(0.02, "2 %"), (0.005, "0.5 %"), (0.025, "2.5 %"), (0.0025, "0.25 %"), (0.1, "10 %")]


@pytest.mark.parametrize(("margin", "text"), MARGINS)
def test_a_margin_is_never_rounded(margin: float, text: str) -> None:
    campaign = equals(margin)
    assert plain(content_of(campaign).margin) == text
    assert f"overlay is equivalent to host, within ± {text}, in" in said(campaign)


@pytest.mark.parametrize(("margin", "text"), MARGINS)
def test_captions_of_charts_state_the_same_margin(margin: float, text: str) -> None:
    found = content_of(make_campaign(ratio=1.2, margin=margin))
    texts = [plain(one.text) for one in found.figures if "the grey band is the margin (" in one.text]
    assert texts
    assert all(f"the margin (± {text})" in one for one in texts)


@pytest.mark.parametrize(
    ("name", "unit", "word"),
    [("timeouts", "1", "higher"), ("step_time", "us", "longer"), ("runtime", "s", "longer")],
)
def test_only_times_are_longer(name: str, unit: str, word: str) -> None:
    fom = Fom(name=name, unit=unit, better=Better.LOWER, is_primary=True)
    campaign = make_planned({"host": {fom: about(1000.5)}, "overlay": {fom: about(1500.75)}})
    assert re.search(rf"% {word} \[", said(campaign))


def test_figures_without_a_ratio_count_among_those_that_were_measured() -> None:
    gain, errors = (msgspec.structs.replace(one, is_primary=False) for one in (GAIN, ERRORS))
    host = {ELAPSED: about(5.0), gain: about(-3.0), errors: about(7.0)}
    campaign = make_planned({"host": host, "overlay": host})
    assert "2 more figures that do not answer this were measured" in said(campaign)


def compared(fom: Fom, host: list[float], overlay: list[float]) -> Campaign:
    return make_planned({"host": {fom: host}, "overlay": {fom: overlay}})


TO_NOTHING = "no ratio: the mean of the reference is zero or less"
SOME = [3.0, 4.0, 2.0, 5.0, 3.0, 4.0]
NEVER_A_RATIO = [
    (GAIN, about(-3.0), about(-6.0), "no ratio: the mean of the reference is zero or less"),
    (GAIN, about(3.0), about(-6.0), "no ratio: the mean of the contender is below zero"),
    (
        ERRORS,
        [0.0] * 6,
        [3.0, 4.0, 2.0, 5.0, 3.0, 4.0],
        "no ratio: the mean of the reference is zero or less",
    ),
]


@pytest.mark.parametrize(("fom", "host", "overlay", "why"), NEVER_A_RATIO)
def test_values_without_a_ratio_are_not_called_unmeasured(
    fom: Fom, host: list[float], overlay: list[float], why: str
) -> None:
    campaign = compared(fom, host, overlay)
    assert said(campaign) == f"overlay is undecided in planned’s {fom.name} ({why}) at 2 nodes."
    [row] = aggregates(campaign)
    assert (row.ratio, row.note, row.n_blocks) == (None, why, 6)
    page = plain(page_of(campaign))
    assert page.count("not measured") == page.count("<option>not measured</option>") == 1
    assert f"planned · 2 nodes, {fom.name}: {why}" in page


@pytest.mark.parametrize(("fom", "verdict"), [(ERRORS, "better"), (RATE, "worse")])
def test_a_contender_of_zero_is_100_percent_less(fom: Fom, verdict: str) -> None:
    text = said(compared(fom, about(7.0), [0.0] * 6))
    assert f"overlay is {verdict} than host in planned’s {fom.name} (100 % lower [100, 100]" in text


def test_a_rule_fails_for_a_rate_of_zero() -> None:
    rule = RuleSource(text="overhead(rate) > 5 %", kind=Kind.FAIL_IF, where="--fail-if")
    campaign = compared(RATE, about(7.0), [0.0] * 6)
    assert check(campaign, [parse_rule(rule)]).outcome is Outcome.FAIL


def test_what_is_printed_as_zero_may_be_as_much_as_its_last_digit() -> None:
    [row] = aggregates(compared(ERRORS, [7.0] * 6, [0.0] * 6))
    assert row.high == pytest.approx(0.5 / 6.5, rel=0.05)


def test_an_interval_that_zeros_prevent_does_not_lack_blocks() -> None:
    campaign = compared(ERRORS, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0], SOME)
    text = said(campaign)
    assert "lack" not in text
    assert (
        "On planned’s errors: some values are zero or less: ratio of arithmetic means; no interval, " in text
    )
    assert plain(content_of(campaign).reading).startswith("No number has an interval. Each number")
    [table] = overview(aggregates(campaign), lay_out(campaign, ())).maps
    assert [cell.settling for cell in table.rows[0].cells if cell] == ["no interval"]


def failing(blocks: int) -> Campaign:
    """Return a campaign whose contender failed after this many blocks."""
    overlay = [*about(5.0, blocks), *[None] * (6 - blocks)]
    return make_planned({"host": {ELAPSED: about(5.0)}, "overlay": {ELAPSED: overlay}})


def test_too_few_blocks_are_still_counted() -> None:
    assert "1 comparison lacks three blocks with values of both sides" in said(failing(2))


def test_a_contender_that_always_failed_is_not_awaited() -> None:
    why = "has not been measured beside host: overlay has none, since no run counts (6 failed)."
    assert said(failing(0)) == f"overlay {why}"


def test_a_median_lacks_six_blocks() -> None:
    campaign = compared(ELAPSED, about(5.0, 5), about(7.5, 5))
    assert "1 comparison lacks 6 blocks with values of both sides" in said(
        msgspec.structs.replace(campaign, mean=Mean.MEDIAN)
    )


def test_rules_on_values_without_a_ratio_state_why() -> None:
    campaign = compared(GAIN, about(-3.0), about(-6.0))
    for text, why in (
        ("overhead(gain) > 5 %", TO_NOTHING),
        ("cv(gain) > 5 %", "not computed: some values are zero or less, or all are the same"),
    ):
        assert {one.why for one in judged(campaign, text)} == {why}


def judged(campaign: Campaign, text: str) -> Sequence[CheckedComparison]:
    rule = parse_rule(RuleSource(text=text, kind=Kind.FAIL_IF, where="--fail-if"))
    [verdict] = check(campaign, [rule]).verdicts
    return verdict.judged


def test_more_runs_narrow_an_interval_no_further_than_its_figures_were_rounded() -> None:
    campaign = compared(ELAPSED, [5.0] * 6, [5.0] * 6)
    [one] = judged(campaign, "overhead(elapsed) > 5 %")
    assert re.fullmatch(
        r"the limit lies within the interval; more runs narrow it, but not below the ± \d+ % by which "
        "rounding may have moved it",
        one.why,
    )


def test_a_rule_on_what_does_not_change_measures_no_negative_zero() -> None:
    host = [5.0123, 5.1234, 4.9123, 5.0534, 4.9412, 5.0012]
    campaign = compared(ELAPSED, host, [0.9999 * one for one in host[::-1]])
    [one] = judged(campaign, "overhead() > 5 %")
    assert -0.0005 < (one.value or 0) < 0
    assert measured_words(one).startswith("0.0 % [−")


def test_a_count_has_no_unit() -> None:
    campaign = compared(ERRORS, about(7.0), about(9.0))
    [row] = aggregates(campaign)
    assert levels(row) == ("7.002", "9.002")
    assert {measured_words(one)[:4] for one in judged(campaign, "value(errors) > 20")} == {"7.00", "9.00"}
    assert {limit_words(one) for one in judged(campaign, "value(errors) > 20")} == {"20"}
    assert {limit_words(one) for one in judged(campaign, "value(errors) > 1234567")} == {"1234567"}


def test_series_that_could_not_be_tested_are_not_counted_as_tested() -> None:
    fails: list[float | None] = [*about(5.0, 3), None, None, None]
    sides: Sides = {
        "host": {ELAPSED: [*about(5.0)], GAIN: [*about(-3.0)]},
        "overlay": {ELAPSED: fails, GAIN: [*about(-3.0)]},
    }
    campaign = make_planned(sides)
    found = quality_warnings(quality(campaign), campaign, lay_out(campaign, ()))
    assert found.tested.startswith("1 series of runs tested for drift and outliers")
    assert "3 more are not tested: that takes 5 blocks, and no value of zero or less." in found.tested


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_a_sure_difference_does_not_look_like_none(noise: float) -> None:
    host = [1_000_000.0 * (1 + noise * (block % 2)) for block in range(6)]
    overlay = [1_000_040.0 * (1 + noise * (block % 3)) for block in range(6)]
    [row] = aggregates(compared(ERRORS, host, overlay), margin=0.00001)
    assert plain(str(change(row))).startswith("+0.004")


def test_what_rounding_hides_is_not_the_noise_of_the_machine() -> None:
    host = {ELAPSED: [5.0] * 6, RATE: [10.0] * 6}
    campaign = make_planned({"host": host, "overlay": host})
    assert quality(campaign).imprecision is None
    text = said(campaign)
    assert "No number of blocks would settle any of the 2 undecided: the figures are printed" in text
    assert "noise" not in text
    [table] = overview(aggregates(campaign), lay_out(campaign, ())).maps
    assert [cell.settling for cell in table.rows[0].cells if cell] == ["needs more digits"] * 2


def test_ratios_do_not_scatter_by_what_rounding_adds() -> None:
    shaken = [5.0, 9.0, 3.0, 7.0, 4.0, 6.0]
    found = quality(make_planned({"host": {ELAPSED: shaken}, "overlay": {ELAPSED: shaken[::-1]}})).imprecision
    ratios = [math.log(above / below) for above, below in zip(shaken[::-1], shaken, strict=True)]
    assert found is not None
    assert found.scatter == pytest.approx(math.expm1(statistics.stdev(ratios)), rel=0.01)


def test_blocks_that_resemble_each_other_need_as_many_as_show_how_many_count() -> None:
    wave = [1.0, 1.01, 1.02, 1.03, 0.99, 0.98, 0.97, 0.965]
    campaign = compared(ELAPSED, about(5.0, 8), [6.0 * one for one in wave])
    [row] = aggregates(campaign)
    assert "8 are too few to tell how many of them count" in row.note
    assert row.more_blocks is not None
    assert row.n_blocks + row.more_blocks >= 10
    assert "About 10 blocks instead of 8" in said(campaign)


@pytest.mark.parametrize(("wave", "verb"), [(0.009, "may resemble"), (0.02, "resemble")])
def test_only_sure_resemblance_is_stated(wave: float, verb: str) -> None:
    shifts = [0, 1, 2, 3, 2, 1, 0, -1, -2, -3, -2, -1]
    noise = [0, 3, -2, 1, -3, 2, 0, -1, 3, -2, 2, -3]
    overlay = [5.0 * (1 + wave * up + 0.005 * off) for up, off in zip(shifts, noise, strict=True)]
    [row] = aggregates(compared(ELAPSED, about(5.0, 12), overlay))
    assert row.note.startswith(f"blocks {verb} the one before (r = ")


def test_ratios_that_never_change_do_not_resemble_each_other() -> None:
    host = about(5.0, 8)
    [row] = aggregates(compared(ELAPSED, host, [1.5 * one for one in host]))
    assert (row.verdict, row.note) == (Verdict.WORSE, "")


def test_a_single_run_far_off_does_not_make_the_machine_noisy() -> None:
    overlay = [one * (20 if block == 6 else 1) for block, one in enumerate(about(5.0, 12))]
    campaign = compared(ELAPSED, about(5.0, 12), overlay)
    found = quality(campaign)
    assert aggregates(campaign)[0].verdict is Verdict.UNDECIDED
    assert found.imprecision is None
    assert [one.blocks for one in found.warnings] == [(7,)]


def test_a_slow_mode_does() -> None:
    overlay = [one * (1.8 if block % 4 == 0 else 1) for block, one in enumerate(about(5.0, 12))]
    assert quality(compared(ELAPSED, about(5.0, 12), overlay)).imprecision is not None


def test_runs_that_are_not_paired_are_no_blocks_in_any_output() -> None:
    campaign = compared(ELAPSED, about(5.0), about(5.0))
    source = Source("a.out", "0" * 64)
    attempts = tuple(msgspec.structs.replace(one, source=source) for one in campaign.attempts)
    imported = msgspec.structs.replace(campaign, attempts=attempts)
    [row] = aggregates(imported)
    assert not row.is_paired
    assert "Equivalent from 6 runs: may miss" in said(imported)
    reading = plain(content_of(imported).reading)
    assert "the runs of a side are independent of each other, which 6 runs cannot show" in reading
    assert "where runs resemble the one before" in reading


def test_a_crossover_between_far_sizes_has_no_more_digits_than_it_deserves() -> None:
    between = Bounded(9213.8, 1024.0, 65536.0)
    one = Crossover(
        workload="pp", fom="latency", unit="us", at={}, settings={}, along="bytes",
        first={"network": "shm"}, second={"network": "tcp"}, x=between, between=(1024.0, 65536.0),
        is_certain=True, n_blocks=6, first_cases=(), second_cases=(),
    )  # fmt: skip
    text = plain(crossover_words(one, {}))
    assert "is better below 9 KiB [1 KiB to 64 KiB]" in text


def test_a_figure_that_one_side_never_prints_does_not_lack_blocks() -> None:
    sides: Sides = {
        "host": {ELAPSED: about(5.0), GAIN: about(3.0)},
        "overlay": {ELAPSED: about(7.0)},
    }
    text = said(make_planned(sides))
    assert "overlay has none, since no run has it" in text
    assert "lacks" not in text
