"""How often the interval of each mean misses the truth: the second table of docs/trust.md.

``PYTHONPATH=tests python -m truth.mean_rates`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tare.core.comparison import Mean
from tare.stats.autocorrelation import allow_for
from tare.stats.intervals import Floats
from tare.stats.ratios import ratios
from truth.noise import autocorrelated, lognormal, sides, sometimes_slow
from truth.rates import N_STUDIES, PAGE

BEGIN, END = "<!-- means: made by tests/truth/mean_rates.py -->", "<!-- end of means -->"
BLOCKS = (5, 10, 20)
SLOWER, SHARE = 3.0, 0.1

_HEAD = (
    "| runs of both sides | blocks | geometric misses | arithmetic misses | harmonic misses |\n"
    "| --- | --- | --- | --- | --- |"
)

Row = tuple[str, int, list[float]]


def drawn(name: str, n: int) -> tuple[Floats, Floats]:
    """Return both sides of many studies, as times."""
    if name == "one in ten slow, both sides":
        return sides(sometimes_slow(slower=SLOWER, share=SHARE), n, N_STUDIES, seed=n)
    if name == "one in ten slow, contender only":
        slow = sometimes_slow(slower=SLOWER, share=SHARE)
        return sides(lognormal(), n, N_STUDIES, seed=n, contender=slow)
    if name == "resemble the one before, 0.7":
        return sides(autocorrelated(), n, N_STUDIES, seed=n)
    reference, contender = sides(lognormal(0.3 if name == "log-normal, 30 %" else 0.02), n, N_STUDIES, seed=n)
    shared: Floats = np.ones((n, 1))
    if name == "log-normal, 30 % common to a block":
        shared = lognormal(0.3)(np.random.default_rng(100 + n), (n, N_STUDIES))
    elif name == "3 % slower with each block":
        shared = np.float64(1.03) ** np.arange(n, dtype=np.float64)[:, np.newaxis]
    return shared * reference, shared * contender


NAMES = (
    "log-normal, 2 %",
    "log-normal, 30 %",
    "log-normal, 30 % common to a block",
    "3 % slower with each block",
    "one in ten slow, both sides",
    "one in ten slow, contender only",
    "resemble the one before, 0.7",
)


def rows() -> Iterator[Row]:
    """Yield the share of intervals without the true ratio, of each mean."""
    for name in NAMES:
        is_one_sided = name.endswith("contender only")
        for n in BLOCKS:
            reference, contender = drawn(name, n)
            missed = []
            for mean in (Mean.GEOMETRIC, Mean.ARITHMETIC, Mean.HARMONIC):
                below, above = (reference, contender)
                truth = 1.0
                if is_one_sided:
                    truth = SLOWER**SHARE if mean is Mean.GEOMETRIC else 1 + SHARE * (SLOWER - 1)
                if mean is Mean.HARMONIC:
                    below, above, truth = 1 / reference, 1 / contender, 1 / truth
                found, _ = allow_for(ratios(below, above, mean=mean), below, above, 0.95)
                missed.append(float(((found.low > truth) | (found.high < truth)).mean()))
            yield name, n, missed


def table(found: list[Row]) -> str:
    """Return the table as the page has it."""
    lines = [
        f"| {name} | {n} | {' | '.join(f'{100 * share:.1f} %' for share in missed)} |"
        for name, n, missed in found
    ]
    return "\n".join([BEGIN, _HEAD, *lines, END])


def main() -> None:
    """Write the table into the page."""
    page = PAGE.read_text()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    PAGE.write_text(page[:begin] + table(list(rows())) + page[end:])


if __name__ == "__main__":
    main()
