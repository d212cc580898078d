"""The answer tells of small and of large messages, and of what neither of them shows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import msgspec

from report.studies import said_of as said
from support.planned import NOISE, WORKLOAD
from support.synthetic import PINGPONG_FOMS, make_attempt, make_case, make_plan
from tare.core.campaign import Campaign

SIZES = (1, 64, 1024, 32768, 65536, 1048576)


def of_sizes(slower: Mapping[int, float], *, has_rate: bool = False) -> Campaign:
    """Return a campaign of a collective, of which messages of some sizes are `slower`."""
    cases = {network: make_case(network, workload=WORKLOAD) for network in ("host", "overlay")}
    plan = make_plan(tuple(cases.values()), blocks=6)
    time, rate = PINGPONG_FOMS
    foms = (time, rate) if has_rate else (time,)
    attempts = []
    for block, network in itertools.product(range(6), cases):
        factors = [slower.get(size, 1.0) if network == "overlay" else 1.0 for size in SIZES]
        times = [(20 + size / 1000) * of * NOISE[block] for size, of in zip(SIZES, factors, strict=True)]
        made = make_attempt(cases[network], block + 1, times, SIZES, started_at=1e9 + block)
        attempts.append(msgspec.structs.replace(made, series=made.series[: len(foms)]))
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, 7)}
    plan = msgspec.structs.replace(plan, foms={WORKLOAD: foms})
    return Campaign(folder=Path("sizes"), plan=plan, attempts=tuple(attempts), orders=orders)


def test_large_messages_without_a_bandwidth_are_part_of_the_answer() -> None:
    text = said(of_sizes({65536: 2.0, 1048576: 2.0}))
    assert text.startswith("overlay is worse than host in planned’s latency from 64 KiB (100")
    assert "is equivalent to host, within ± 2 %, in planned’s latency up to 1 KiB" in text


def test_large_messages_that_are_slower_than_small_ones_are_faster_are_not_left_out() -> None:
    text = said(of_sizes({1: 0.5, 64: 0.5, 1024: 0.5, 65536: 1.5, 1048576: 1.5}))
    assert "worse than host in planned’s latency from 64 KiB (50" in text
    assert "better in planned’s latency up to 1 KiB (50" in text


def test_where_there_is_a_bandwidth_it_tells_of_large_messages() -> None:
    text = said(of_sizes({65536: 2.0, 1048576: 2.0}, has_rate=True))
    assert "planned’s bandwidth from 64 KiB (50" in text
    assert "latency from 64 KiB" not in text


def test_a_difference_in_sizes_of_which_no_sentence_tells_is_added() -> None:
    text = said(of_sizes({32768: 3.0}))
    assert "within ± 2 %, in planned’s latency up to 1 KiB" in text
    assert "Over all sizes planned’s latency is worse: +20" in text
    assert "Over all sizes" not in said(of_sizes({}))
    assert "Over all sizes" not in said(of_sizes(dict.fromkeys(SIZES, 1.5)))
