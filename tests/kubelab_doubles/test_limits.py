"""An operator's limits: what client-go's do with the same requests and changes."""

from __future__ import annotations

from itertools import pairwise

from kubelab.limits import TokenBucket, WorkQueue


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_burst_goes_at_once_and_all_else_at_the_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(5, 10, clock)
    assert [bucket.reserve() for _ in range(12)] == [0.0] * 10 + [0.2, 0.4]
    clock.now_s = 1.0
    assert bucket.reserve() == 0.0


def test_what_is_added_again_takes_a_token_again_but_is_looked_at_when_it_was_due() -> None:
    clock = Clock()
    queue = WorkQueue(TokenBucket(10, 1, clock), clock)
    for key in (("ns", "a"), ("ns", "a"), ("ns", "b")):
        queue.add(key)
    clock.now_s = 0.15
    assert queue.take(0) == ("ns", "a")
    assert queue.take(0) is None
    clock.now_s = 0.25
    assert queue.take(0) == ("ns", "b"), "two tokens were those of a"


def test_nobody_else_gets_a_job_that_somebody_looks_at() -> None:
    clock = Clock()
    queue = WorkQueue(TokenBucket(10, 10, clock), clock)
    queue.add(("ns", "a"))
    clock.now_s = 1.0
    assert queue.take(0) == ("ns", "a")
    queue.add(("ns", "a"))
    clock.now_s = 2.0
    assert queue.take(0) is None
    queue.done(("ns", "a"), is_well=True)
    assert queue.take(0) == ("ns", "a")


def test_what_fails_comes_again_each_time_later() -> None:
    clock = Clock()
    queue = WorkQueue(TokenBucket(1000, 1000, clock), clock)
    waits = []
    queue.add(("ns", "a"))
    for _ in range(6):
        begun_s = clock.now_s
        while queue.take(0) is None:
            clock.now_s += 0.001
        waits.append(clock.now_s - begun_s)
        queue.done(("ns", "a"), is_well=False)
    assert all(1.5 < later / earlier < 2.5 for earlier, later in pairwise(waits))
