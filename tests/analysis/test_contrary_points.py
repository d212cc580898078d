"""Means over message sizes whose points differ in opposite ways."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from report.studies import said_of
from support.synthetic import make_attempt, make_case, make_plan
from tare.analysis.verdicts.compare import aggregates
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.verdict import Verdict

SIZES = (1, 1024, 262144, 4194304)


def sized(
    factor: Callable[[int], float],
    *,
    macvlan: Callable[[int], float] | None = None,
    blocks: int = 6,
    noise: float = 0.005,
    seed: int = 1,
) -> Campaign:
    """Return a ping-pong in which overlay takes `factor` of its size times as long as host.

    So does macvlan by its own, if it is given.
    """
    random = np.random.default_rng(seed)
    factors = {"overlay": factor} | ({"macvlan": macvlan} if macvlan else {})
    cases = [make_case("host"), *map(make_case, factors)]
    plan = make_plan(cases, blocks=blocks)
    attempts: list[Attempt] = []
    for block in range(1, blocks + 1):
        for case in plan.order(block):
            slower = [factors[case.network](size) if case.network in factors else 1.0 for size in SIZES]
            own = np.exp(random.normal(0, noise, len(SIZES))) * slower
            latency = (20 + np.array(SIZES) / 1000) * own
            attempts.append(
                make_attempt(case, block, latency.tolist(), SIZES, started_at=1e9 + len(attempts))
            )
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, blocks + 1)}
    return Campaign(folder=Path("sized"), plan=plan, attempts=tuple(attempts), orders=orders)


def crossing(size: int) -> float:
    return 1.25 if size in (1, 262144) else 0.8


def test_a_mean_of_worse_and_better_sizes_is_not_equivalent() -> None:
    [latency, bandwidth] = aggregates(sized(crossing))
    for row in (latency, bandwidth):
        assert row.ratio == pytest.approx(1.0, abs=0.01)
        assert (row.verdict, row.more_blocks) == (Verdict.UNDECIDED, None)
        assert "worse at 1 B and 256 KiB, better at 1 KiB and 4 MiB" in row.note
    text = said_of(sized(crossing))
    assert "equivalent" not in text
    assert "within the margin over all of them, but worse at 1 B, better at 1 KiB" in text
    assert "would settle" not in text


def test_each_contender_is_told_of_its_own_sizes() -> None:
    """Figures with equally many sizes are looked at together."""
    found = aggregates(sized(crossing, macvlan=lambda size: 1 / crossing(size)))
    assert len(found) == 4
    for row in found:
        up, down = ("worse", "better") if row.contender["network"] == "overlay" else ("better", "worse")
        assert f"{up} at 1 B and 256 KiB" in row.note
        assert f"{down} at 1 KiB and 4 MiB" in row.note


def test_nor_is_it_where_the_sides_ran_at_other_times() -> None:
    """What is compared unpaired is asked about its sizes, too."""
    found = sized(crossing)
    attempts = tuple(
        msgspec.structs.replace(one, session=2 if found.cases[one.case].network == "overlay" else 1)
        for one in found.attempts
    )
    for row in aggregates(msgspec.structs.replace(found, attempts=attempts, is_unpaired=True)):
        assert not row.is_paired
        assert row.low is not None
        assert row.verdict is Verdict.UNDECIDED
        assert "worse at 1 B and 256 KiB, better at 1 KiB and 4 MiB" in row.note


def test_a_difference_of_the_mean_names_the_sizes_that_differ_the_other_way() -> None:
    text = said_of(sized(lambda size: 1.5 if size == 1 else 0.9 if size == 1024 else 1.2))
    assert re.search(r"worse than host in synthetic.pingpong’s latency up to 1 KiB", text)
    assert "so in the mean over all of them, but better at 1 KiB" in text


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.3])
def test_sizes_that_agree_have_no_such_note(factor: float) -> None:
    for seed in range(20):
        for row in aggregates(sized(lambda size: factor, noise=0.003, seed=seed)):
            assert "over all of them" not in row.note
            assert row.verdict is not Verdict.UNDECIDED
