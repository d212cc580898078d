"""The verdicts: what an interval may say about a contender, and all that outputs need to present it.

A verdict is declared once. Its rule, word, sign, colours, order and phrases are in this file, and every
table, page, style sheet, key and document is made from them::

    >>> Verdict.WORSE.sign, Verdict.WORSE.css_class
    ('▲', 'worse')

A package adds a verdict by naming a `Verdict` under the entry point group ``tare.verdicts``.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import msgspec

from tare.core.entry_points import load_all
from tare.core.margins import is_within
from tare.core.workload import Better


class Claim(enum.Enum):
    """What a verdict claims; this decides which p value it rests on."""

    DIFFERENCE = enum.auto()
    EQUIVALENCE = enum.auto()
    NONE = enum.auto()


class Judged(msgspec.Struct, frozen=True, gc=False):
    """The interval [low, high] of contender / reference, and which claims may be drawn from it.

    - `margin` is the share within which a difference counts as none.
    - `better` is the direction of the figure, None where it has none.
    - `can_differ` and `can_be_equivalent` say which claims the adjusted p values allow.
    - `is_equivalent` is true if the whole interval lies within [1/(1 + margin), 1 + margin].
    - `is_different` is true if the interval excludes 1, and is not equivalent.
    - `is_worse` is true if a difference is a change for the worse, None for a figure without a direction.
    """

    low: float
    high: float
    margin: float
    better: Better | None
    can_differ: bool
    can_be_equivalent: bool
    is_equivalent: bool
    is_different: bool
    is_worse: bool | None


class Shade(NamedTuple):
    """One colour in the light and in the dark theme, as CSS writes it."""

    light: str
    dark: str


class Look(NamedTuple):
    """How a verdict is shown: by colours and a sign, so that it never depends on colour alone.

    `ink` colours its sign in text. `fills` colour a cell, from the smallest to the largest difference. `fill`
    is the CSS background of a verdict without sizes. `terminal` is one of the terminal's 256 colours, and
    `latex` the sign in LaTeX.
    """

    latex: str
    ink: Shade | None = None
    fills: tuple[Shade, ...] = ()
    fill: str = "none"
    terminal: int | None = None


class Verdict(str):
    """One verdict: a word, and what outputs need to present it. Compare verdicts with ``is``.

    - `order` is its place in sentences, keys and tables. Rules are tried in this order, and the first that
      holds decides.
    - `rule` says whether the verdict is drawn from an interval. The last verdict holds for all other
      intervals.
    - `meaning` explains it in keys and documents.
    - `against` goes before the name of the reference: ``worse than``.
    - `scatter` says the same about how widely runs scatter.
    """

    WORSE: ClassVar[Verdict]
    BETTER: ClassVar[Verdict]
    EQUIVALENT: ClassVar[Verdict]
    UNDECIDED: ClassVar[Verdict]

    order: int
    sign: str
    meaning: str
    against: str
    scatter: str
    claim: Claim
    rule: Callable[[Judged], bool]
    look: Look

    def __new__(
        cls,
        word: str,
        *,
        order: int,
        sign: str,
        meaning: str,
        against: str,
        scatter: str,
        claim: Claim,
        rule: Callable[[Judged], bool],
        look: Look,
    ) -> Verdict:
        """Declare a verdict."""
        self = super().__new__(cls, word)
        self.order, self.sign, self.meaning = order, sign, meaning
        self.against, self.scatter = against, scatter
        self.claim, self.rule, self.look = claim, rule, look
        return self

    @property
    def value(self) -> str:
        """Return its word as a plain string, which JSON and data frames take."""
        return str.__str__(self)

    @property
    def css_class(self) -> str:
        """Return the CSS class for it on a page."""
        return self.value.replace(" ", "-")

    @property
    def is_graded(self) -> bool:
        """Return whether the colour of cells depends on the size of the difference."""
        return bool(self.look.fills)

    def __reduce__(self) -> tuple[Callable[[str], Verdict], tuple[str]]:
        """Keep it a single object in copies and pickles."""
        return verdict_named, (self.value,)


_ORANGE, _BLUE = 208, 33  # of the terminal's 256: every eye can distinguish them

WORSE = Verdict.WORSE = Verdict(
    "worse",
    order=10,
    sign="▲",
    meaning="costs more than the reference: the whole interval lies on the bad side of no change",
    against="worse than",
    scatter="scatters more",
    claim=Claim.DIFFERENCE,
    rule=lambda one: one.is_different and one.is_worse is True,
    look=Look(
        latex=r"\ensuremath{\uparrow}",
        ink=Shade("#a34e00", "#f3a65a"),
        fills=(
            Shade("#fdf0e1", "#33261a"),
            Shade("#fbdcb8", "#4a2f16"),
            Shade("#f6bf85", "#653c12"),
            Shade("#ee9f4f", "#82490c"),
            Shade("#e2811f", "#9c5706"),
        ),
        terminal=_ORANGE,
    ),
)

BETTER = Verdict.BETTER = Verdict(
    "better",
    order=20,
    sign="▼",
    meaning="costs less than the reference: the whole interval lies on the good side of no change",
    against="better than",
    scatter="scatters less",
    claim=Claim.DIFFERENCE,
    rule=lambda one: one.is_different and one.is_worse is False,
    look=Look(
        latex=r"\ensuremath{\downarrow}",
        ink=Shade("#1d5fa8", "#8dbdf2"),
        fills=(
            Shade("#e9f2fb", "#1b2a3a"),
            Shade("#cfe3f6", "#1c3a58"),
            Shade("#a6cdf0", "#1d4a75"),
            Shade("#78b2e7", "#1e5a92"),
            Shade("#4b95dc", "#1f6aae"),
        ),
        terminal=_BLUE,
    ),
)

EQUIVALENT = Verdict.EQUIVALENT = Verdict(
    "equivalent",
    order=30,
    sign="≈",
    meaning="differs by less than the margin: the whole interval lies within it",
    against="equivalent to",
    scatter="scatters alike",
    claim=Claim.EQUIVALENCE,
    rule=lambda one: one.is_equivalent,
    look=Look(latex=r"\ensuremath{\approx}", fill="var(--same)"),
)

UNDECIDED = Verdict.UNDECIDED = Verdict(
    "undecided",
    order=1000,
    sign="?",
    meaning="none of these is certain",
    against="undecided against",
    scatter="undecided",
    claim=Claim.NONE,
    rule=lambda one: True,
    look=Look(
        latex="?",
        fill="repeating-linear-gradient(135deg, var(--same) 0 3px, var(--ground) 3px 8px)",
    ),
)


@functools.cache
def verdicts() -> tuple[Verdict, ...]:
    """Return all verdicts in their order: those of this file, and those that other packages register."""
    own = (WORSE, BETTER, EQUIVALENT, UNDECIDED)
    return tuple(sorted((*own, *load_all("tare.verdicts", Verdict).values()), key=lambda one: one.order))


def verdict_of(
    low: float | None,
    high: float | None,
    *,
    margin: float,
    better: Better | None,
    can_differ: bool = True,
    can_be_equivalent: bool = True,
) -> Verdict:
    """Return the verdict for the interval [low, high] of contender / reference.

    It is equivalent where the interval lies wholly within [1/(1 + margin), 1 + margin], even if it excludes
    1: a difference that is certain and too small to matter. Otherwise it is worse or better where the
    interval excludes 1. Otherwise it is undecided, as it is without an interval or without a direction. The
    bounds are symmetric on the log scale, so that swapping the sides gives the same verdict or its opposite.
    This is the procedure of two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657) with
    the whole interval, which is stricter than the required 1 − 2α interval.

    Among many comparisons, a single interval proves less: `can_differ` and `can_be_equivalent` say which
    claims the adjusted p values allow (see tare.stats.family).
    """
    if low is None or high is None:
        return UNDECIDED
    is_equivalent = can_be_equivalent and is_within(low, high, margin)
    is_different = can_differ and not is_equivalent and not low <= 1 <= high
    is_worse = None if better is None else (low > 1) == (better is Better.LOWER)
    judged = Judged(
        low, high, margin, better, can_differ, can_be_equivalent, is_equivalent, is_different, is_worse
    )
    for one in verdicts():
        if one.rule(judged):
            return one
    return UNDECIDED


def differences() -> tuple[Verdict, ...]:
    """Return the verdicts that claim a difference, in their order."""
    return tuple(one for one in verdicts() if one.claim is Claim.DIFFERENCE)


def verdict_named(word: str) -> Verdict:
    """Return the verdict of this word. Raises KeyError where there is none."""
    return {one.value: one for one in verdicts()}[word]


def json_value(value: object) -> str:
    """Return the JSON form of a value that msgspec does not know: for a verdict its word."""
    if isinstance(value, Verdict):
        return value.value
    raise NotImplementedError(f"no JSON of {type(value).__name__}")
