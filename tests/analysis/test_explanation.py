"""What differs in telemetry: real differences, the largest first, each told once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from support.synthetic import make_campaign
from tare.analysis.causes.correlates import Reason, explanations
from tare.core.campaign import Campaign

BLOCKS = 6
Watched = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""By figure: the values of the reference, block by block, and of the contender."""


def watched(figures: Watched) -> Campaign:
    campaign = make_campaign(blocks=BLOCKS)
    attempts = []
    for one in campaign.attempts:
        side = int(not campaign.plan.is_reference(campaign.cases[one.case]))
        telemetry = {name: values[side][one.block - 1] for name, values in figures.items()}
        attempts.append(msgspec.structs.replace(one, telemetry=telemetry))
    return msgspec.structs.replace(campaign, attempts=tuple(attempts))


def reasons(figures: Watched) -> list[Reason]:
    return explanations(watched(figures))


def names(figures: Watched) -> list[str]:
    return [one.figure for one in reasons(figures)]


def about(middle: float, noise: float = 0.01) -> list[float]:
    """Return a value a block, of a noise that has a known mean."""
    return [middle * (1 + noise * way) for way in (1, -1, 0.5, -0.5, 0.2, -0.2)]


def turned(middle: float, noise: float = 0.01) -> list[float]:
    return [middle * (1 + noise * way) for way in (-0.3, 0.8, -1, 0.2, 0.6, -0.3)]


def test_the_ratio_is_paired_by_block_and_the_medians_are_of_runs() -> None:
    below = [10.0, 20.0, 11.0, 21.0, 12.0, 22.0]
    ratios = [2.0, 2.1, 1.9, 2.0, 2.05, 1.95]
    (found,) = reasons({"cpu_softirq": (below, [a * b for a, b in zip(below, ratios, strict=True)])})
    logs = [math.log(one) for one in ratios]
    mean = sum(logs) / 6
    half = 2.5706 * math.sqrt(sum((one - mean) ** 2 for one in logs) / 5 / 6)  # t(0.975, 5)
    assert found.comparison.ratio == pytest.approx(math.exp(mean))
    assert found.comparison.low == pytest.approx(math.exp(mean - half), rel=1e-4)
    assert found.comparison.high == pytest.approx(math.exp(mean + half), rel=1e-4)
    assert found.effect == pytest.approx(mean - half, rel=1e-4)
    assert (found.reference, found.contender) == pytest.approx((16.0, 33.3))


def test_a_large_difference_with_noise_stands_before_a_small_one_without() -> None:
    figures = {
        "wire_packet_size": ([1500.0] * BLOCKS, [1550.0] * BLOCKS),
        "context_switches": (about(1000, 0.1), turned(3000, 0.1)),
    }
    assert names(figures) == ["context_switches", "wire_packet_size"]


def test_what_is_surely_there_but_too_small_to_explain_anything_is_left_out() -> None:
    assert names({"memory_peak": ([1e9] * BLOCKS, [1.004e9] * BLOCKS)}) == []
    assert names({"memory_peak": ([1e9] * BLOCKS, [1.1e9] * BLOCKS)}) == ["memory_peak"]


def test_twice_as_much_of_next_to_nothing_is_left_out() -> None:
    assert names({"disk_busy": (about(0.2), turned(0.4))}) == []
    assert names({"disk_busy": (about(20), turned(40))}) == ["disk_busy"]


def test_a_constant_is_no_difference() -> None:
    assert names({"cpu_busiest_core": ([100.0] * BLOCKS, [100.0] * BLOCKS)}) == []


def test_noise_is_no_difference() -> None:
    assert names({"cpu_system": (about(20, 0.2), turned(20, 0.2))}) == []


def test_a_part_of_the_cpu_that_mirrors_another_is_reported_once() -> None:
    figures = {"cpu_user": (about(80), turned(60)), "cpu_system": (about(20), turned(40))}
    assert names(figures) == ["cpu_system"]
    assert names(figures | {"cpu_user": (about(70), turned(30)), "cpu_idle": (about(10), turned(30))}) == [
        "cpu_idle",
        "cpu_user",
        "cpu_system",
    ]


def test_figures_of_one_kind_are_reported_once_unless_their_ratios_differ() -> None:
    alike = {
        "network_rate": (about(1e8), turned(5e7)),
        "network_packet_rate": (about(1e5, 0.02), turned(5e4, 0.02)),
    }
    assert names(alike) == ["network_rate"]
    encapsulated = {
        "network_sent": ([1e9] * BLOCKS, [1.02e9] * BLOCKS),
        "wire_sent": ([1e9] * BLOCKS, [1.06e9] * BLOCKS),
    }
    assert names(encapsulated) == ["wire_sent", "network_sent"]


def test_something_out_of_nothing_is_reported_though_it_has_no_ratio() -> None:
    figures = {
        "cpu_throttled": ([0.0] * BLOCKS, about(12.0)),
        "cpu_system": (about(20), turned(40)),
    }
    first, second = reasons(figures)
    assert (first.figure, second.figure) == ("cpu_throttled", "cpu_system")
    assert (first.reference, first.contender) == pytest.approx((0.0, 12.0))
    little = {"cpu_throttled": ([0.0] * BLOCKS, [0.0105] * BLOCKS), "cpu_system": (about(10), turned(40))}
    assert names(little) == ["cpu_system", "cpu_throttled"]
    assert names({"cpu_throttled": ([0.0] * BLOCKS, [0.0, *about(12.0)[1:]])}) == []
    assert names({"tcp_retransmits": ([0.0] * BLOCKS, [2.0] * BLOCKS)}) == []


def test_the_same_packet_at_each_interface_of_its_way_is_no_reason() -> None:
    assert names({"total_sent": ([1e9] * BLOCKS, [4e9] * BLOCKS)}) == []


def test_what_tare_itself_takes_is_no_reason() -> None:
    assert names({"sampler_cpu": (about(1.0), turned(3.0))}) == []


def test_among_many_figures_one_that_only_just_excludes_1_is_left_out() -> None:
    just = {"context_switches": ([10e3] * BLOCKS, [12e3, 14e3, 9.8e3, 13e3, 10.5e3, 12.5e3])}
    assert names(just) == ["context_switches"]
    others = ("interrupts", "memory_peak", "cpu_frequency", "network_sent", "cpu_iowait", "run_queue")
    assert names(just | {name: (about(1000, 0.2), turned(1000, 0.2)) for name in others}) == []
