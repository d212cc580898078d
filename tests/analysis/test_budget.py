"""How long a campaign goes on: for its runs, or for as long as its budget lasts."""

from __future__ import annotations

import statistics
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.analysis.repeats.budget import Covered, Spending
from tare.core.attempt import Attempt, State
from tare.core.study import Budget

RUN_S = 60.0


def spent(budget: Budget, n_runs: int) -> Spending:
    spending = Spending(budget)
    for block in range(1, n_runs + 1):
        attempt = Attempt(
            case="a",
            block=block,
            attempt=1,
            state=State.DONE,
            started_at=block * RUN_S,
            elapsed_s=RUN_S,
            hosts=["n1", "n2"],
        )
        spending.add(attempt, is_settled=True)
    return spending


def test_before_the_first_run_nobody_knows_how_long_it_takes() -> None:
    assert spent(Budget(), 0).left_s(100) is None


@pytest.mark.parametrize(
    ("budget", "left_s"),
    [
        (Budget(), 100 * RUN_S),
        (Budget(hours=1), 50 * RUN_S),
        (Budget(node_hours=1), 20 * RUN_S),  # of two nodes each
        (Budget(hours=10 / 60), 0.0),
        (Budget(hours=5 / 60), 0.0),  # it was overrun
    ],
)
def test_a_campaign_goes_on_no_longer_than_its_budget(budget: Budget, left_s: float) -> None:
    assert spent(budget, 10).left_s(100) == pytest.approx(left_s)


def attempt(begun_at: float, *, queued_s: float = 0.0) -> Attempt:
    """Return a run of a minute on two nodes, which was started for 20 s and ended for 10 s."""
    return Attempt(
        case="a",
        block=1,
        attempt=1,
        state=State.DONE,
        started_at=begun_at,
        elapsed_s=RUN_S,
        queued_s=queued_s,
        starting_s=20.0,
        ending_s=10.0,
        hosts=["n1", "n2"],
    )


@pytest.mark.parametrize(("counts_queue", "hours_s"), [(True, 390.0), (False, 90.0)])
def test_hours_go_on_while_a_run_is_started_and_ended_and_in_the_queue_if_that_counts(
    counts_queue: bool, hours_s: float
) -> None:
    spending = Spending(Budget(counts_queue=counts_queue))
    spending.add(attempt(1000.0, queued_s=300.0), is_settled=True)
    assert spending.elapsed_s == hours_s
    assert spending.node_s == 180.0, "nodes are not held in a queue"


def test_hours_are_by_the_clock_however_many_runs_are_under_way() -> None:
    spending = Spending(Budget())
    for begun_at in (1000.0, 1010.0, 1005.0, 2000.0):
        spending.add(attempt(begun_at), is_settled=True)
    assert spending.elapsed_s == 100.0 + 90.0
    assert spending.node_s == 4 * 180.0


def test_the_time_left_is_that_of_runs_beside_one_another() -> None:
    spending = Spending(Budget())
    for block in range(1, 5):
        one = msgspec.structs.replace(attempt(1000.0), block=block)
        spending.add(one, is_settled=True)
    assert spending.left_s(8) == pytest.approx(2 * 90.0), "four took 90 s together"


def test_a_run_that_never_started_says_nothing_of_how_long_others_take() -> None:
    spending = Spending(Budget())
    never = Attempt(case="a", block=3, attempt=1, state=State.FAILED, started_at=None)
    spending.add(never, is_settled=True)
    assert spending.left_s(2) is None
    assert spending.expected_s("a") is None
    for block in (1, 2):
        one = Attempt(
            case="a", block=block, attempt=1, state=State.DONE, started_at=100.0 * block, elapsed_s=8.0
        )
        spending.add(one, is_settled=True)
    assert spending.left_s(2) == pytest.approx(16.0)
    assert spending.expected_s("a") == 8.0
    assert spending.n_runs == 3


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=20))
def test_what_intervals_cover_is_each_moment_once(found: list[tuple[int, int]]) -> None:
    covered = Covered()
    for begin, length in found:
        covered.add(begin, begin + length)
    assert covered.seconds == len({at for begin, length in found for at in range(begin, begin + length)})


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), min_size=1, max_size=12))
def test_a_run_is_expected_to_take_the_median_and_counts_once_however_often_it_is_made(
    made: list[tuple[int, int]],
) -> None:
    spending, last = Spending(Budget()), {}
    for block, took_s in made:
        attempt = Attempt(
            case="a", block=block, attempt=1, state=State.DONE, elapsed_s=took_s, started_at=None, session=1
        )
        spending.add(attempt, is_settled=True)
        last[block] = took_s
    assert spending.expected_s("a") == statistics.median(took_s for _, took_s in made)
    assert spending.n_runs == len(last)
    assert spending.left_s(10) == pytest.approx(10 * statistics.mean(last.values()))


def test_what_a_run_costs_the_count_does_not_grow_with_the_runs_before_it() -> None:
    """Means and medians of all runs so far are asked for at each run."""

    def seconds_of(n_runs: int) -> float:
        spending, began = Spending(Budget(hours=1e6)), time.process_time()
        for block in range(1, n_runs + 1):
            took_s = 1 + block * 7 % 11
            attempt = Attempt(
                case="a",
                block=block,
                attempt=1,
                state=State.DONE,
                elapsed_s=took_s,
                started_at=None,
                session=1,
            )
            spending.add(attempt, is_settled=True)
            assert spending.can_afford(["a"])
            assert spending.left_s(10) is not None
        return (time.process_time() - began) / n_runs

    assert min(seconds_of(16_000) / seconds_of(1000) for _ in range(3)) < 4
