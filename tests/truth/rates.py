"""How often claims are false, by the shape of the noise and the number of blocks: the table of docs/trust.md.

``PYTHONPATH=tests python -m truth.rates`` writes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tare.core.comparison import Correction
from tare.stats.autocorrelation import allow_for
from tare.stats.family import PValues, p_values
from tare.stats.intervals import Floats
from tare.stats.ratios import Ratios, ratios, select_columns
from truth.looking import followed
from truth.noise import NOISES, Noise, sides

N_STUDIES = 2000
FAMILY = 10
MARGIN = 0.1
PROMISED = 0.05
TWO_ERRORS = 0.01
BEGIN, END = "<!-- rates: made by tests/truth/rates.py -->", "<!-- end of rates -->"
PAGE = Path(__file__).parents[2] / "docs" / "trust.md"

_HEAD = (
    "| noise | blocks | interval misses | false difference | false equivalence | any false difference of 10 "
    "| advice followed |\n| --- | --- | --- | --- | --- | --- | --- |\n"
    "| *promised, at most* | | 5 % (3–7) | 5 % | 5 % | 5 % | 5 % |"
)


@dataclasses.dataclass(frozen=True)
class Rates:
    """Shares of studies: of nothing, and for equivalence of a difference just as large as the margin."""

    noise: str
    blocks: int
    misses: float
    difference: float
    equivalence: float
    of_family: float
    followed: float | None

    @property
    def claims(self) -> list[float]:
        """Return the rates of false claims."""
        found = [self.difference, self.equivalence, self.of_family]
        return found if self.followed is None else [*found, self.followed]

    def __str__(self) -> str:
        shares = [self.misses, *self.claims]
        cells = [self.noise, str(self.blocks), *(f"{100 * share:.1f} %" for share in shares)]
        return f"| {' | '.join(cells)} |" if self.followed is not None else f"| {' | '.join(cells)} | |"


def rates() -> Iterator[Rates]:
    """Yield what is measured of each noise with 5, 10 and 20 blocks."""
    for name, noise in NOISES.items():
        for blocks in (5, 10, 20):
            follows = blocks == 5 and name in ("normal", "log-normal", "t3")
            yield _rates(name, noise, blocks, follows=follows)


def _rates(name: str, noise: Noise, blocks: int, *, follows: bool) -> Rates:
    nothing = _judged(noise, blocks, 1.0, N_STUDIES)
    at_margin = _judged(noise, blocks, 1 + MARGIN, N_STUDIES)
    alone = _claims(nothing, blocks, Correction.NONE)
    families = _judged(noise, blocks, 1.0, N_STUDIES * FAMILY)
    together = [
        _claims(select_columns(families, range(at, at + FAMILY)), blocks, Correction.HOLM).difference_adjusted
        for at in range(0, N_STUDIES * FAMILY, FAMILY)
    ]
    equivalence = _claims(at_margin, blocks, Correction.NONE).equivalence_adjusted
    return Rates(
        noise=name,
        blocks=blocks,
        misses=float(((nothing.low > 1) | (nothing.high < 1)).mean()),
        difference=float((alone.difference_adjusted <= PROMISED).mean()),
        equivalence=float((equivalence <= PROMISED).mean()),
        of_family=float((np.array(together) <= PROMISED).any(axis=1).mean()),
        followed=followed(noise, margin=0.02, n_studies=1000).difference if follows else None,
    )


def _judged(noise: Noise, blocks: int, ratio: float, n_studies: int) -> Ratios:
    reference, contender = sides(noise, blocks, n_studies, seed=blocks)
    above: Floats = contender * ratio
    return allow_for(ratios(reference, above), reference, above, 0.95)[0]


def _claims(found: Ratios, blocks: int, correction: Correction) -> PValues:
    return p_values(found, MARGIN, 0.95, correction, [(blocks,)] * len(found.ratio))


def table(rows: list[Rates]) -> str:
    """Return the table as the page has it."""
    return "\n".join([BEGIN, _HEAD, *map(str, rows), END])


def main() -> None:
    """Write the table into the page."""
    page = PAGE.read_text()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    PAGE.write_text(page[:begin] + table(list(rates())) + page[end:])


if __name__ == "__main__":
    main()
