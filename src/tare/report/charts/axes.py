"""The axes of charts: their domains, and their ticks at round numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import msgspec

from tare.report.charts.grammar import Spec, quantity
from tare.report.charts.panels import IN_TIME, ZERO_AT, Panel
from tare.report.words.numbers import NARROW, counts_bytes, listed, words

_X_TITLES = {
    "bytes": "message size, bytes",
    "packet_bytes": "bytes a packet, at most",
    IN_TIME: "blocks, in their order",
}

_BYTES_LABEL = (
    "datum.value < 1 ? '0' : datum.value < 1024 ? format(datum.value, 'd') : datum.value < 1048576"
    " ? format(datum.value / 1024, 'd') + ' Ki' : format(datum.value / 1048576, 'd') + ' Mi'"
)
_RATIO_LABEL = "'× ' + format(datum.value, '~g')"
_VALUE_LABEL = (
    "datum.value < 10000 ? format(datum.value, '~r') : "
    f"replace(format(datum.value, ',.0f'), regexp(',', 'g'), '{NARROW}')"
)
_ABOVE = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000)
_BELOW = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4)
_DOUBLINGS = (1, 2, 3, 4)
_MOST_SIZES = 5
_ROUND = (1, 2, 5)
_LEAST_TICKS = 3
"""The fewest ticks of an axis of values: with fewer, a reader cannot tell how far points are apart."""


@dataclasses.dataclass(frozen=True)
class Domain:
    """The ends of an axis; `is_log` is true for a logarithmic axis."""

    low: float
    high: float
    is_log: bool

    def share(self, value: float) -> float:
        """Return the position of `value` between the ends, from 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def at(self, share: float) -> float:
        """Return the value at position `share`, from 0 to 1; the inverse of the method `share`."""
        if self.is_log:
            return self.low * math.pow(self.high / self.low, share)
        return self.low + share * (self.high - self.low)


def axis_words(panels: Sequence[Panel]) -> str:
    """Return the names of the x axes of panels: ``message size and the number of nodes``."""
    names = {"bytes": "message size", "nodes": "the number of nodes"}
    return listed([*dict.fromkeys(names.get(panel.x, words(panel.x)) for panel in panels)])


def tick_domain(ticks: Sequence[str]) -> Domain:
    """Return the domain of an axis of names, which are at 1, 2, 3 etc."""
    return Domain(0.5, len(ticks) + 0.5, is_log=False)


def x_domain(xs: Sequence[float], axis: str) -> Domain:
    """Return a domain a little wider than `xs`, logarithmic unless `axis` is time or a value is not positive.

    A logarithmic axis fits sizes and numbers of nodes, which double from step to step.
    """
    low, high = min(xs), max(xs)
    if axis == IN_TIME:
        return Domain(low - 0.6, high + 0.6, is_log=False)
    if low > 0:
        step = (high / low) ** 0.03
        return Domain(low / step, high * step, is_log=True)
    return Domain(low - 0.03 * (high - low), high, is_log=False)


def y_domain(ys: Sequence[float], *, is_log: bool, least_reach: float | None) -> Domain:
    """Return a domain for `ys`; with `least_reach`, it includes that factor above and below 1.

    A linear domain starts at 0, so that lengths can be compared.
    """
    low, high = min(ys), max(ys)
    if least_reach is not None:
        low, high = min(low, 1 / least_reach), max(high, least_reach)
    if is_log and low > 0:
        pad = (high / low) ** 0.06 if high > low else 1.1
        return Domain(low / pad, high * pad, is_log=True)
    return Domain(min(0.0, low), high * 1.06 if high > 0 else 1.0, is_log=False)


def x_title(panel: Panel) -> str:
    """Return the title of a panel's x axis."""
    return _X_TITLES.get(panel.x, words(panel.x))


def x_axis(panel: Panel, domain: Domain) -> Spec:
    """Return the x channel of a panel with its axis; a logarithmic scale has base 2."""
    axis: Spec = {"title": x_title(panel), "labelOverlap": True}
    if panel.ticks:
        names = msgspec.json.encode(
            panel.ticks
        ).decode()  # JSON strings are strings of Vega's expressions, too
        axis |= {"values": [*range(1, len(panel.ticks) + 1)], "labelExpr": f"{names}[datum.value - 1]"}
    elif panel.is_size or counts_bytes(panel.x):
        axis |= {"values": _byte_ticks(domain), "labelExpr": _BYTES_LABEL, "labelOverlap": "greedy"}
    elif panel.x == IN_TIME:
        axis |= {"tickCount": 6, "tickMinStep": 1, "format": "d"}
    else:
        xs = sorted({point.x for line in panel.lines for point in line.points})
        axis |= {"values": xs, "labelExpr": "format(datum.value, '~g')"}
    return quantity("x", scale=scale(domain, 2), axis=axis)


def y_axis(domain: Domain, *, is_ratio: bool, is_share: bool = False) -> Spec:
    """Return the y channel of a panel with its axis, without a title: the panel's title names it."""
    axis: Spec = {"title": None}
    if is_ratio:
        axis |= {"values": _ratio_ticks(domain), "labelExpr": _RATIO_LABEL}
    elif is_share:
        axis |= {"tickCount": 5, "format": ".0%"}
    elif domain.is_log:
        axis |= {"values": _value_ticks(domain), "labelExpr": _VALUE_LABEL}
    else:
        axis |= {"tickCount": 5, "labelExpr": _VALUE_LABEL}
    return quantity("y", scale=scale(domain, 10), axis=axis)


def ratio_x_axis(domain: Domain, field: str) -> Spec:
    """Return an x channel for ratios around 1, for charts that have no numbers on the y axis."""
    axis: Spec = {"title": None, "values": _ratio_ticks(domain), "labelExpr": _RATIO_LABEL}
    return quantity(
        field, scale=scale(domain, 10), axis=axis | {"grid": True, "domain": False, "ticks": False}
    )


def scale(domain: Domain, base: int) -> Spec:
    """Return the Vega-Lite scale of `domain`; if it is logarithmic, it has base `base`."""
    ends: Spec = {"domain": [domain.low, domain.high], "nice": False}
    return ends | ({"type": "log", "base": base} if domain.is_log else {"zero": False})


def _byte_ticks(x: Domain) -> list[float]:
    """Return ticks at powers of 2, or of 4, 8, 16 or 64 if those are too close, and at 0 if it is drawn."""
    zero = [ZERO_AT] if x.low < ZERO_AT < x.high else []
    for doublings in _DOUBLINGS:
        ticks = _powers(2**doublings, x)
        if len(ticks) <= _MOST_SIZES:
            return zero + ticks
    return zero + [tick for tick in _powers(64, x) if tick > 1 or not zero]


def _powers(base: int, x: Domain) -> list[float]:
    exponents = range(math.floor(math.log(max(x.high, 1), base)) + 1)
    return [float(base**one) for one in exponents if x.low <= base**one <= x.high]


def _value_ticks(y: Domain) -> list[float]:
    """Return round values for a logarithmic axis: decimal multiples of 1, 2 and 5, or only powers of 10."""
    decades = range(math.floor(math.log10(y.low)), math.ceil(math.log10(y.high)) + 1)
    every = [step * 10.0**decade for decade in decades for step in _ROUND]
    fitting = [tick for tick in every if y.low <= tick <= y.high]
    tens = [tick for tick in fitting if math.log10(tick).is_integer()]
    if len(fitting) < _LEAST_TICKS:
        return _even_ticks(y)
    return tens if len(fitting) > 8 and len(tens) > 2 else fitting


def _even_ticks(y: Domain) -> list[float]:
    """Return about five values at equal distances of 1, 2 or 5 times a power of 10."""
    wanted = (y.high - y.low) / 5
    magnitude = 10.0 ** math.floor(math.log10(wanted))
    step = next(factor * magnitude for factor in (*_ROUND, 10) if factor * magnitude >= wanted)
    first = math.ceil(y.low / step)
    return [float(f"{number * step:.12g}") for number in range(first, math.floor(y.high / step) + 1)]


def _ratio_ticks(y: Domain) -> list[float]:
    """Return round factors, always including 1, with enough distance between them."""
    kept = [1.0]
    for tick in sorted((*_BELOW, *_ABOVE), key=lambda one: -abs(math.log(one))):
        is_apart = all(abs(y.share(tick) - y.share(other)) > 0.1 for other in kept)
        if y.low <= tick <= y.high and is_apart:
            kept.append(tick)
    return sorted(kept)
