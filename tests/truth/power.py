"""What tests of scatter and of change in time find of what is there: two tables of docs/trust.md.

``PYTHONPATH=tests python -m truth.power`` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tare.stats.intervals import Floats
from tare.stats.looks import sequential_p_values
from tare.stats.multiplicity import holm
from tare.stats.scatter_ratios import scatter_ratios
from tare.stats.trend import drift_p_values
from truth.noise import autocorrelated, lognormal, sides
from truth.rates import N_STUDIES, PAGE, PROMISED

SCATTER = "<!-- power: made by tests/truth/power.py -->", "<!-- end of power -->"
IN_TIME = "<!-- in time: made by tests/truth/power.py -->", "<!-- end of in time -->"

SPREAD = 0.02
FAMILY = 4
SCATTER_BLOCKS = (6, 8, 10, 15, 20)
SCATTER_FACTORS = (1, 2, 3, 5)
DRIFT_BLOCKS = (5, 6, 7, 8, 9, 10, 15, 20)
RISE = 4
"""How many times the noise of a run a drift adds from the first block to the last."""

SHARE_OF_ALL = PROMISED / 2
"""What the question whether all cases drift alike may spend."""

Rows = list[tuple[str, list[float]]]


def scatter_rows() -> Iterator[tuple[str, list[float]]]:
    """Yield in how many studies a contender that scatters so much more is told to, alone and with others."""
    for factor in SCATTER_FACTORS:
        for size in (1, FAMILY):
            name = f"× {factor}, {'one row' if size == 1 else f'each of {size} rows'}"
            yield name, [_scatter_told(factor, size, blocks) for blocks in SCATTER_BLOCKS]


def _scatter_told(factor: int, size: int, blocks: int) -> float:
    """Return the share of rows, at a first look, of as many studies as make N_STUDIES rows."""
    noisier = lognormal(SPREAD * factor)
    reference, contender = sides(lognormal(SPREAD), blocks, N_STUDIES, seed=blocks, contender=noisier)
    p = scatter_ratios(np.log(reference), np.log(contender)).difference_p_values()
    p = sequential_p_values(p, [(blocks,)] * len(p)).reshape(-1, size)
    return float(np.mean([holm(of_study) <= PROMISED for of_study in p]))


def in_time_rows() -> Iterator[tuple[str, list[float]]]:
    """Yield in how many campaigns all cases are said to change alike, by what they do."""
    steady, wandering, more = lognormal(SPREAD), autocorrelated(SPREAD), autocorrelated(SPREAD, r=0.9)
    kinds: dict[str, Callable[[np.random.Generator, int], Floats]] = {
        "nothing": lambda random, n: np.log(steady(random, (n, N_STUDIES))),
        "wander, 0.7": lambda random, n: np.log(wandering(random, (n, N_STUDIES))),
        "wander, 0.9": lambda random, n: np.log(more(random, (n, N_STUDIES))),
        f"drift by {RISE} × the noise": lambda random, n: (
            np.log(steady(random, (n, N_STUDIES))) + np.linspace(0, RISE * SPREAD, n)[:, np.newaxis]
        ),
    }
    for name, drawn in kinds.items():
        found = []
        for n in DRIFT_BLOCKS:
            p = drift_p_values(drawn(np.random.default_rng(n), n))
            found.append(float((p <= SHARE_OF_ALL).mean()))
        yield name, found


def table(ends: tuple[str, str], what: str, blocks: tuple[int, ...], found: Rows) -> str:
    """Return a table as the page has it: a column for each number of blocks."""
    head = f"| {what} | {' | '.join(f'{n} blocks' for n in blocks)} |\n|{' --- |' * (len(blocks) + 1)}"
    lines = [f"| {name} | {' | '.join(f'{100 * share:.1f} %' for share in row)} |" for name, row in found]
    return "\n".join([ends[0], head, *lines, ends[1]])


def tables() -> dict[tuple[str, str], str]:
    """Return both tables, by what they stand between."""
    return {
        SCATTER: table(SCATTER, "scatter of the contender", SCATTER_BLOCKS, list(scatter_rows())),
        IN_TIME: table(IN_TIME, "what all cases do", DRIFT_BLOCKS, list(in_time_rows())),
    }


def written(ends: tuple[str, str]) -> str:
    """Return what the page has between two marks, with them."""
    page = PAGE.read_text()
    return page[page.index(ends[0]) : page.index(ends[1]) + len(ends[1])]


def main() -> None:
    """Write both tables into the page."""
    for ends, found in tables().items():
        PAGE.write_text(PAGE.read_text().replace(written(ends), found))


if __name__ == "__main__":
    main()
