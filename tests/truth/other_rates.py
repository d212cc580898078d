"""How often scatter is told apart, and a reason named, where nothing differs: a table of docs/trust.md.

``PYTHONPATH=tests python -m truth.other_rates`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tare.analysis.causes.correlates import explanations
from tare.stats.looks import sequential_p_values
from tare.stats.multiplicity import holm
from tare.stats.scatter_ratios import scatter_ratios
from truth.noise import NOISES, Noise, sides
from truth.rates import PAGE, PROMISED
from truth.test_telemetry_claims import SHAPES, watched

BEGIN, END = "<!-- others: made by tests/truth/other_rates.py -->", "<!-- end of others -->"
FAMILY = 4
N_STUDIES = {"scatter": 500, "telemetry": 80}

_HEAD = (
    "| claim | noise | blocks | studies | with a false claim |\n| --- | --- | --- | --- | --- |\n"
    f"| *promised, at most* | | | | {100 * PROMISED:.0f} % |"
)

Row = tuple[str, str, int, int, float]


def rows() -> Iterator[Row]:
    """Yield the share of studies of nothing with any false claim, of each kind."""
    n = N_STUDIES["scatter"]
    for name, noise in NOISES.items():
        for blocks in (8, 10):
            yield "any of 4 scatters more or less", name, blocks, n, _scatter(noise, blocks, n)
    n = N_STUDIES["telemetry"]
    for shape in SHAPES:
        named = [bool(explanations(one)) for one in watched(10, n, shape)]
        yield "any reason under *Why?*", shape, 10, n, float(np.mean(named))


def _scatter(noise: Noise, blocks: int, n_studies: int) -> float:
    reference, contender = sides(noise, blocks, n_studies * FAMILY, seed=blocks)
    p = scatter_ratios(np.log(reference), np.log(contender)).difference_p_values()
    p = sequential_p_values(p, [(blocks,)] * len(p)).reshape(n_studies, FAMILY)
    return float(np.mean([(holm(of_study) <= PROMISED).any() for of_study in p]))


def table(found: list[Row]) -> str:
    """Return the table as the page has it."""
    lines = [f"| {what} | {name} | {n} | {of} | {100 * share:.1f} % |" for what, name, n, of, share in found]
    return "\n".join([BEGIN, _HEAD, *lines, END])


def main() -> None:
    """Write the table into the page."""
    page = PAGE.read_text()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    PAGE.write_text(page[:begin] + table(list(rows())) + page[end:])


if __name__ == "__main__":
    main()
