"""The benchmark of what watching costs finds a cost that is there, however the machine drifts meanwhile."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench import observer

pytestmark = pytest.mark.alone  # it measures a program that is watched

N_ROWS = 4000
SIZES = {"8": 20.0, "1024": 25.0, "65536": 90.0}


class Machine:
    """A machine that gets slower all the time, and that a sampler delays by `cost` while it is on."""

    def __init__(self, cost: float) -> None:
        self._cost = cost
        self._is_watched = False
        self._noise = random.Random(1)

    @contextmanager
    def watch(self) -> Iterator[None]:
        self._is_watched = True
        yield
        self._is_watched = False

    def rows(self) -> Iterator[observer.Printed]:
        for n, (size, time) in zip(range(N_ROWS), itertools.cycle(SIZES.items()), strict=False):
            time *= 1 + n / N_ROWS + self._noise.gauss(0, 0.02)
            yield observer.Printed(size, math.log(time * (1 + self._cost * self._is_watched)))


@pytest.mark.parametrize("cost", [0.0, 0.03])
def test_a_cost_is_found_on_a_machine_that_drifts(cost: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "SPELL_S", 0.0)
    random.seed(1)  # of the lot, too: an interval of 95 % misses now and then
    machine = Machine(cost)

    spells = [spell for pair in observer.pairs(machine.rows(), machine.watch) for spell in pair]
    found = observer.cost_of(spells)

    assert found.n_pairs == N_ROWS // 4
    assert found.low < 100 * cost < found.high
    assert found.high - found.low < 0.6


def test_a_pair_that_the_program_does_not_finish_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "SPELL_S", 0.0)
    machine = Machine(0.0)

    found = list(observer.pairs(itertools.islice(machine.rows(), 7), machine.watch))

    assert len(found) == 1
