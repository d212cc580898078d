"""The charts of the live page: positions and labels, from which the templates draw plain SVG.

There is no chart library, so the charts follow the page's theme and can be replaced at each change.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from tare.analysis.verdicts.equivalence_limits import withheld_words
from tare.core.comparison import Comparison
from tare.core.counting import count
from tare.live.statistics import Dot
from tare.report.charts.palette import sign_of
from tare.report.sections.overview import css_class
from tare.report.variants import Variant, Variants
from tare.report.words.assumed import assumed_brief
from tare.report.words.changes import change, figure
from tare.report.words.mean_cost import beside_words
from tare.report.words.numbers import percent, ratio, ratio_bounds, visible

_MOST_ROWS = 60
_WIDTH, _HEIGHT = 960, 220
_LEFT, _TOP, _BOTTOM = 56, 12, 26
_MARKS = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0",
    "m-3-3h6v6h-6z",
    "m-3 3h6l-3-6z",
    "m-4 0l4-4 4 4-4 4z",
    "m-3-3h6l-3 6z",
)
_SMALL_FROM = 2000
_TICKS = (0.1, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0, 5.0, 10.0)


@dataclasses.dataclass(frozen=True)
class Bar:
    """One figure of one contender in one configuration: its interval, as positions on the axis and as text.

    `low`, `at` and `high` are in percent of the axis' length. They are None if there is nothing to draw.
    `beside` holds the remarks that must stand next to the verdict.
    """

    configuration: str
    variant: Variant
    mark: str
    fom: str
    low: float | None
    at: float | None
    high: float | None
    ratio: str
    change: str
    n: str
    sign: str
    paint: str
    verdict: str
    beside: str


@dataclasses.dataclass(frozen=True)
class Changes:
    """The ratios contender / reference on one logarithmic axis.

    `one` is the position of ratio 1, and `band` the margin around it, both in percent of the axis' length.
    """

    bars: tuple[Bar, ...]
    n_left_out: int
    one: float
    band: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]


@dataclasses.dataclass(frozen=True)
class Cloud:
    """The runs of one variant, as one SVG path."""

    variant: Variant
    path: str


@dataclasses.dataclass(frozen=True)
class Scatter:
    """The ratio of each run to the average of its case, in the order of time."""

    width: int
    height: int
    clouds: tuple[Cloud, ...]
    ticks: tuple[tuple[float, str], ...]
    left: int
    bottom: int
    n_runs: int
    text: str


def changes(figures: Sequence[Comparison], variants: Variants, margin: float) -> Changes:
    """Return the comparisons as bars on one axis, ordered by configuration, figure and variant.

    At most 60 bars are returned; `n_left_out` counts the rest. `margin` is a share, such as 0.05.
    """
    names = list(dict.fromkeys(map(figure, figures)))
    ordered = sorted(
        figures,
        key=lambda one: (
            variants.configurations.index(variants.configuration_of[one.contender_case]),
            names.index(figure(one)),
            variants.variant_of[one.contender_case].index,
        ),
    )
    shown = ordered[:_MOST_ROWS]
    farness = [(_log(one.low), _log(one.ratio), _log(one.high)) for one in shown]
    logs = [log for three in farness for log in three if log is not None]
    edge = max(math.log(1 + margin) * 1.6, 0.01)
    low, high = min([-edge, *logs]), max([edge, *logs])
    padding = (high - low) * 0.04
    low, high = low - padding, high + padding

    def position(log: float) -> float:
        return round(100 * (log - low) / (high - low), 2)

    ticks = [(position(math.log(tick)), tick) for tick in _TICKS]
    inside = _apart([(at, tick) for at, tick in ticks if 0 <= at <= 100])
    return Changes(
        bars=tuple(
            _bar(one, variants, *(None if log is None else position(log) for log in three))
            for one, three in zip(shown, farness, strict=True)
        ),
        n_left_out=len(ordered) - len(shown),
        one=position(0.0),
        band=(position(-math.log1p(margin)), position(math.log1p(margin))),
        ticks=tuple((at, f"×\u202f{tick:g}") for at, tick in inside),
    )


def _log(ratio: float | None) -> float | None:
    """Return the logarithm of a ratio, or None if there is nothing to draw."""
    return None if ratio is None or ratio <= 0 else math.log(ratio)


def _apart(ticks: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the ticks that leave room for their labels; the tick at 1 is always kept."""
    kept = [(at, tick) for at, tick in ticks if tick == 1.0]
    for at, tick in ticks:
        if all(abs(at - other) >= 16 for other, _ in kept):
            kept.append((at, tick))
    return sorted(kept)


def _bar(one: Comparison, variants: Variants, low: float | None, at: float | None, high: float | None) -> Bar:
    variant = variants.variant_of[one.contender_case]
    is_measured = one.ratio is not None
    return Bar(
        configuration=variants.configuration_of[one.contender_case].label,
        variant=variant,
        mark=sign_of(variant),
        fom=figure(one),
        low=low,
        at=at,
        high=high,
        ratio=f"{ratio(one.ratio)} {ratio_bounds(one.ratio, one.low, one.high)}".rstrip(),
        change=str(change(one) or ""),
        n=count(one.n_blocks, "block"),
        sign=one.verdict.sign if is_measured else "–",
        paint=css_class(one),
        verdict=one.verdict.value if is_measured else visible(one.note) or "not measured",
        beside=_beside(one) if is_measured else "",
    )


def _beside(one: Comparison) -> str:
    """Return the remarks on a verdict: why it is withheld, what it assumes, and what else to read with it."""
    parts = (withheld_words(one.withheld_by), assumed_brief(one), beside_words(one))
    return "; ".join(filter(None, parts))


def scatter(dots: Sequence[Dot], variants: Variants, n_planned: int) -> Scatter | None:
    """Return all runs in the order of time, or None if there are fewer than two.

    The axis is long enough for `n_planned` runs, so there is room for those that have not run yet.
    """
    if len(dots) < 2:
        return None
    logs = sorted(math.log(dot.ratio) for dot in dots)
    edge = max(abs(logs[0]), abs(logs[-1]), 0.005) * 1.1
    n_positions = max(n_planned, max(dot.order for dot in dots) + 1)
    inner = _HEIGHT - _TOP - _BOTTOM

    def y(log: float) -> int:
        return round(_TOP + inner * (edge - log) / (2 * edge))

    def x(order: int) -> int:
        return round(_LEFT + 8 + (_WIDTH - _LEFT - 16) * order / n_positions)

    clouds = []
    for variant in variants.all:
        mark = "h0" if len(dots) > _SMALL_FROM else _MARKS[variant.index % len(_MARKS)]
        mine = [dot for dot in dots if dot.variant == variant]
        path = "".join(f"M{x(dot.order)} {y(math.log(dot.ratio))}{mark}" for dot in mine)
        if path:
            clouds.append(Cloud(variant, path))
    step = _step(edge)
    ticks = [(y(math.log1p(share)), percent(share) if share else "0") for share in (-step, 0.0, step)]
    spread = percent(math.expm1(max(abs(logs[0]), abs(logs[-1]))), is_signed=False)
    text = (
        f"{count(len(dots), 'run')}, each next to the average of its case; the farthest is off by {spread}."
    )
    return Scatter(_WIDTH, _HEIGHT, tuple(clouds), tuple(ticks), _LEFT, _HEIGHT - _BOTTOM, len(dots), text)


def _step(edge: float) -> float:
    """Return a round share for the axis labels; it lies well within ± `edge`."""
    wanted = math.expm1(edge * 0.75)
    magnitude = 10.0 ** math.floor(math.log10(wanted))
    step = max(
        (factor * magnitude for factor in (1, 2, 5) if factor * magnitude <= wanted), default=magnitude
    )
    return min(step, 0.9)
