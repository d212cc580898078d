"""Write predictions, and how much network a program needs, as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from tare.analysis.predictions.prediction import LEAST_UNCOVERED
from tare.analysis.predictions.tolerance import EAGER_BYTES, latencies_each
from tare.core.counting import count
from tare.core.interval import Bounded
from tare.core.prediction import Limit, Network, Prediction, Tolerance
from tare.core.profile import function_name
from tare.core.units import format_bytes
from tare.report.words.numbers import (
    NARROW,
    bracket,
    bracket_values,
    listed,
    number,
    percent,
    quantity,
    scaled,
    visible,
)
from tare.stats.intervals import MIN_BLOCKS

_EAGER = format_bytes(EAGER_BYTES).replace(" ", NARROW)

_QUOTED = 0.05
"""The slowdown for which a sentence gives the latency."""


_LEAST_SEVERAL = 0.01
"""As a share of the messages: fewer that take several latencies hardly change what the program stands."""

_MEASURED = "measured to be slower"
"""The verdict on a network whose latency and bandwidth are good enough, or undecided, and which is not."""

_FACTOR = 2.0
"""A value whose interval goes further than this factor from it is not quoted."""


def prediction_sentence(one: Prediction) -> str:
    """Return what the curves predict, beside what was measured, without a full stop."""
    reference, contender = side_words(one)
    nodes = f"at {count(one.nodes, 'node')} " if one.nodes else ""
    subject = f"{nodes}{visible(one.workload)} on {contender}"
    if one.refusal or one.ratio is None:
        return f"{subject}: nothing is predicted, because {visible(one.refusal)}"
    text = (
        f"{subject} is predicted to take {_change_said(one.ratio)} than on {reference}, by the networks’ "
        "curves"
    )
    if one.ratio.low is None:
        text += f", without an interval, as fewer than {MIN_BLOCKS} runs or passes of the curves are known"
    if one.measured_ratio is not None:
        meets = {True: ", which does not contradict it", False: ", which contradicts it", None: ""}[
            one.is_inside
        ]
        text += f"; measured: {_change_said(one.measured_ratio)}{meets}"
    if one.remarks:
        text += f"; extrapolated: {listed([visible(remark) for remark in one.remarks])}"
    if one.shaped:
        names = listed([visible(name) for name in one.shaped])
        text += f"; {names} may let bursts pass faster than the curves say"
    if one.uncovered_s:
        priced = {row.function for row in one.rows}
        calls = [name for name in one.uncovered_s if name not in priced]
        calls += [f"other sizes of {name}" for name in one.uncovered_s if name in priced]
        text += f"; no curve covers {listed([visible(function_name(name)) for name in calls])}"
        if one.uncovered_share > LEAST_UNCOVERED:
            share = percent(one.uncovered_share, is_signed=False, decimals=0)
            text += (
                f", in which it spent {share} of its time on {reference}: what that costs is not predicted"
            )
    return text


def side_words(one: Prediction) -> tuple[str, str]:
    """Return the names of the reference and of the contender: networks, with platforms that differ."""
    sides = ((one.reference, one.reference_platform), (one.contender, one.contender_platform))
    if one.reference_platform == one.contender_platform:
        return _side(*sides[0]), _side(*sides[1])
    first, second = (
        f"{visible(network)} ({visible(platform)})" if network else visible(platform)
        for network, platform in sides
    )
    return first, second


def change_words(ratio: Bounded, shorter: str = "shorter") -> str:
    """Return a ratio of times as words: ``12 % [8, 17] longer``; `shorter` is the word for less time."""
    share = ratio.value - 1
    ends = None if ratio.low is None or ratio.high is None else (ratio.low - 1, ratio.high - 1)
    word = "longer"
    if share < 0:
        share, ends, word = -share, ends and (-ends[1], -ends[0]), shorter
    decimals = 0 if share >= 0.0995 else 1
    return f"{percent(share, is_signed=False, decimals=decimals)} {bracket(ends, decimals)} {word}".replace(
        "  ", " "
    )


def _change_said(ratio: Bounded) -> str:
    """Return a ratio for a sentence: the ends of its interval alone, if that is wider than the change.

    Something takes longer, or it takes less time.
    """
    low, high = ratio.low, ratio.high
    ends = [ratio]
    if low is not None and high is not None and high - low > abs(ratio.value - 1):
        ends = [Bounded(low), Bounded(high)]
    words = [change_words(one, shorter="less time") for one in ends]
    return words[0] if len(words) == 1 else f"between {words[0]} and {words[1]}"


def tolerance_sentence(one: Tolerance) -> str:
    """Return how much more latency a program stands, and which networks that leaves, without a full stop."""
    subject = f"at {count(one.nodes, 'node')} {visible(one.workload)}"
    if one.refusal or not one.limits:
        return f"{subject}: {visible(one.refusal)}"
    subject = f"by the messages of its busiest rank, {subject}"
    limit = next(limit for limit in one.limits if limit.share == _QUOTED)
    share = percent(_QUOTED, is_signed=False, decimals=0)
    if not _is_known(_of_one_latency(limit, one), may_hide=one.hidden > 0):
        why = "its runs differ too much"
        if one.n_runs < MIN_BLOCKS:
            why = f"it has fewer than {MIN_BLOCKS} profiled runs"
        return f"{subject}: how much latency it stands is not known, because {why}"
    text = f"{subject} stands {latency_words(limit)} more latency for {share}"
    if reasons := "; ".join(_several_latencies(one)):
        text += f" ({reasons})"
    if limit.bandwidth is not None and _is_sure_above(limit.bandwidth):
        text += f", or by its bytes a bandwidth down to {bandwidth_words(limit)} a node"
    if one.uncounted:
        names = listed([visible(function_name(name)) for name in one.uncounted])
        text += f", without messages of {names}, which are not counted"
    judged, slower = _judged(one)
    text += f": by latency and bandwidth together, {judged}" if judged else ""
    return f"{text}; as measured, {slower}" if slower else text


def _several_latencies(one: Tolerance) -> Iterator[str]:
    """Yield why messages may take more than one latency each, if so."""
    if one.announced > _LEAST_SEVERAL * one.messages:
        yield f"messages of more than {_EAGER} may take three latencies"
    if one.chained > _LEAST_SEVERAL * one.messages:
        yield "receives may wait for several messages, one after the other"


def _is_sure_above(one: Bounded) -> bool:
    """Return whether a bandwidth is known from above; bytes that pass while ranks compute need less."""
    return one.high is not None and one.high <= _FACTOR * one.value


def _of_one_latency(limit: Limit, one: Tolerance) -> Bounded | None:
    """Return the latency of a limit as if each message took one."""
    found = limit.latency_s
    if found is None or found.low is None:
        return found
    return Bounded(found.value, found.low * latencies_each(one), found.high)


def _is_known(one: Bounded | None, *, may_hide: bool = False) -> bool:
    """Return whether a value is known within a factor; a high end that hiding gives says nothing of that.

    A value of fewer than three runs has no interval, and is not known.
    """
    if one is None or one.low is None:
        return False
    ends = [one.low] if may_hide or one.high is None else [one.low, one.high]
    return all(end > 0 and max(one.value / end, end / one.value) <= _FACTOR for end in ends)


def latency_words(limit: Limit) -> str:
    """Return the added latency that costs a share, with its interval: ``4.0 µs [3.8, 4.2]``."""
    one = limit.latency_s
    if one is None:
        return "–"
    factor, unit = (1e6, "us") if one.value < 1e-3 else (1e3, "ms")
    low, high = (None if end is None else end * factor for end in (one.low, one.high))
    is_open = low is not None and high is None
    interval = f"[{number(low or 0)}, …]" if is_open else bracket_values(low, high)
    return f"{quantity(one.value * factor, unit)} {interval}".rstrip()


def bandwidth_words(limit: Limit) -> str:
    """Return the bandwidth that costs a share, with its interval: ``95.1 MB/s [94.0 MB/s, 96.2 MB/s]``."""
    one = limit.bandwidth
    if one is None:
        return "–"
    if one.low is None or one.high is None:
        return scaled(one.value, "B/s")
    return f"{scaled(one.value, 'B/s')} [{scaled(one.low, 'B/s')}, {scaled(one.high, 'B/s')}]"


def _judged(one: Tolerance) -> tuple[str, str]:
    """Return which networks are good enough, and those that only a measurement says are not."""
    groups: dict[str, list[str]] = {"good enough": [], "not": [], "undecided": [], _MEASURED: []}
    for network in one.networks:
        verdict = _verdict(network)
        # What is not counted costs more on a slower network.
        groups["undecided" if one.uncounted and verdict == "good enough" else verdict].append(
            _network_said(network, one.platform)
        )
    slower = groups.pop(_MEASURED)
    words = {"not": "not" if groups["good enough"] else "not good enough"}
    parts = [_are(names, words.get(word, word)) for word, names in groups.items() if names]
    return listed(parts), _are(slower, "not good enough") if slower else ""


def _are(names: list[str], what: str) -> str:
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} {what}"


def _verdict(network: Network) -> str:
    """Return a verdict by the whole interval; what may be hidden or is not known makes no verdict.

    No network is good enough on which the program was measured to be slower, or may be: packets cost cores,
    too, which the messages do not tell. Nor is one bad on which it was measured not to be slower.
    """
    measured = network.measured
    is_measured = measured is not None and measured.low is not None and measured.high is not None
    high, low = network.slowdown.high, network.sure.low
    is_slow = low is not None and low > _QUOTED
    if measured is not None and measured.low is not None and measured.low > 1 + _QUOTED:
        return "not" if is_slow else _MEASURED
    if measured is not None and measured.high is not None and measured.high > 1 + _QUOTED:
        return "undecided"
    if network.is_whole and high is not None and high <= _QUOTED:
        return "good enough"
    return "not" if is_slow and not is_measured else "undecided"


def _network_said(network: Network, own_platform: str) -> str:
    rate = scaled(network.bytes_per_s, "B/s") if network.bytes_per_s else "bandwidth not known"
    other = [visible(network.platform)] if network.network and network.platform != own_platform else []
    facts = [*other, _added(network.added_latency_s), rate]
    if network.measured is not None:
        facts.append(f"measured {_change_said(network.measured)}")
    return f"{_side(network.network, network.platform)} ({', '.join(facts)})"


def _added(one: Bounded) -> str:
    sign = "+" if one.value >= 0 else "−"
    return f"{sign}{quantity(abs(one.value) * 1e6, 'us')}"


def _side(network: str | None, platform: str) -> str:
    return visible(network or platform)
