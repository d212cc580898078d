"""Count what is claimed of many studies, and how much of it is false: shares with their intervals."""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Sequence

from scipy.stats import beta, binom

from truth.claimed import ASSUMED, Asked

PROMISED = 0.05
SURELY = 0.01
"""How rarely chance alone may end the count with a family that is said to be false too often."""

INTERVALS = 0.07
"""Of intervals that miss: those of one study share its runs, so that their share scatters more."""


class Rate(enum.StrEnum):
    """What is kept at 5 %."""

    STUDIES = "studies with a false one"
    """Of those in which any could be false."""
    SHARE = "mean share that is false"
    """Of the claims that a study makes, none being 0."""
    EACH = "curves with a false one"
    INTERVALS = "intervals that miss"


def rate_of(family: str) -> Rate:
    """Return what is promised of a family."""
    if family.startswith("interval"):
        return Rate.INTERVALS
    if family.startswith("scaling"):
        return Rate.EACH
    return Rate.SHARE if family.startswith("points") else Rate.STUDIES


@dataclasses.dataclass
class Count:
    """Of one family: claims that could be made, that were, and that are false; and the studies of each."""

    possible: int = 0
    made: int = 0
    false: int = 0
    studies: int = 0
    with_false: int = 0
    shares: float = 0.0
    example: tuple[int, str] | None = None

    def add(self, seed: int, found: Sequence[Asked]) -> None:
        """Count what one study says of this family."""
        made, false = sum(one.is_claimed for one in found), sum(one.is_false for one in found)
        self.made += made
        self.false += false
        self.possible += sum(one.could_be_false for one in found)
        if any(one.could_be_false for one in found) or false:
            self.studies += 1
            self.with_false += bool(false)
            self.shares += false / made if made else 0.0
        if false and self.example is None:
            self.example = seed, next(one.text for one in found if one.is_false)

    def rate(self, kind: Rate) -> float:
        """Return the share that is promised to be at most 5 %."""
        if kind is Rate.INTERVALS:
            return self.false / max(self.made, 1)
        if kind is Rate.EACH:
            return self.false / max(self.possible, 1)
        return (self.shares if kind is Rate.SHARE else self.with_false) / max(self.studies, 1)

    def bounds(self, kind: Rate) -> tuple[float, float]:
        """Return the 95 % interval of the rate (Clopper and Pearson 1934); of a mean share an outer one."""
        n, k = self.of(kind)
        low = float(beta.ppf(0.025, k, n - k + 1)) if k else 0.0
        return low, float(beta.ppf(0.975, k + 1, n - k)) if k < n else 1.0

    def is_too_much(self, kind: Rate) -> bool:
        """Return whether more is false than promised, surely."""
        if kind is Rate.INTERVALS:
            return self.rate(kind) > INTERVALS and self.bounds(kind)[0] > PROMISED
        n, k = self.of(kind)
        return bool(binom.sf(k - 1, n, PROMISED) < SURELY)

    def of(self, kind: Rate) -> tuple[int, int]:
        """Return of how many it is the rate, and how many of them are false."""
        n = {Rate.INTERVALS: self.made, Rate.EACH: self.possible}.get(kind, self.studies)
        return n, round(self.rate(kind) * n)


@dataclasses.dataclass
class Table:
    """The counts by family; those of special studies, of which nothing is promised, apart."""

    n_studies: int = 0
    n_agreeing: int = 0
    n_sentences: int = 0
    wrong: dict[str, str] = dataclasses.field(default_factory=dict)
    disagreeing: dict[int, str] = dataclasses.field(default_factory=dict)
    unknown: dict[str, str] = dataclasses.field(default_factory=dict)
    counts: dict[tuple[str, str], Count] = dataclasses.field(default_factory=dict)
    by_group: dict[tuple[str, str, str], Count] = dataclasses.field(default_factory=dict)

    def add(self, seed: int, special: str, groups: Sequence[str], found: Sequence[Asked]) -> None:
        """Count what was asked of a study, in all and by the `groups` that it belongs to."""
        self.n_studies += 1
        families = collections.defaultdict[str, list[Asked]](list)
        for one in found:
            families[one.family].append(one)
        for family, alike in families.items():
            of = "" if family.startswith(ASSUMED) else special
            self.counts.setdefault((of, family), Count()).add(seed, alike)
            for group in groups:
                self.by_group.setdefault((of, group, family), Count()).add(seed, alike)

    @property
    def too_much(self) -> list[str]:
        """Return the families of which more is false than promised, surely."""
        return [
            family
            for (special, family), count in self.counts.items()
            if not special and count.is_too_much(rate_of(family))
        ]

    def rows(self, special: str = "") -> list[list[str]]:
        """Return a row a family: the numbers, the rate and its interval."""
        found = []
        for (own, family), count in sorted(self.counts.items()):
            if own == special:
                kind = rate_of(family)
                low, high = (100 * end for end in count.bounds(kind))
                found.append(
                    [
                        family,
                        *(f"{n}" for n in (count.possible, count.made, count.false, count.studies)),
                        f"{100 * count.rate(kind):.1f} % [{low:.1f}, {high:.1f}]",
                        str(kind),
                    ]
                )
        return found

    def groups(self, families: Sequence[str]) -> list[list[str]]:
        """Return a row a group: the rate of each of some families."""
        names = list(dict.fromkeys(group for special, group, _ in sorted(self.by_group) if not special))
        return [[name, *(self._rate_in(name, family) for family in families)] for name in names]

    def _rate_in(self, group: str, family: str) -> str:
        count = self.by_group.get(("", group, family))
        if count is None or not count.studies:
            return "–"
        kind = rate_of(family)
        return f"{100 * count.rate(kind):.1f} % of {count.of(kind)[0]}"

    def __str__(self) -> str:
        head = ["family", "could be false", "claimed", "false", "studies", "rate [95 %]", "which is of"]
        parts = [_aligned([head, *self.rows()])]
        parts += [
            f"Nothing is promised where {special}:\n{_aligned([head, *self.rows(special)])}"
            for special in sorted({own for own, _ in self.counts if own})
        ]
        families = [one for one in SPLIT if ("", one) in self.counts]
        parts.append(_aligned([["", *families], *self.groups(families)]))
        parts.append(
            f"{self.n_studies} studies; {self.n_sentences} sentences, of which {len(self.unknown)} kinds are "
            f"not known; all outputs of {self.n_agreeing} hold the same"
        )
        return "\n\n".join(parts)


SPLIT = (
    "main figures: difference",
    "main figures: equivalence",
    "interval of a ratio",
    "points: difference",
    "check: failed",
    "doubt: drift",
)
"""Families whose rates are told by noise and by number of blocks."""


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
