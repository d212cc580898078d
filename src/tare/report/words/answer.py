"""Say the answer in words that a manager can repeat and an engineer can check."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence

from tare.answers.headline import LARGE_MESSAGE_BYTES, SMALL_MESSAGE_BYTES, Aspect, Headline
from tare.model.comparison import Comparison, Verdict
from tare.report.sections.settling import settles
from tare.report.sides import Side, Sides
from tare.report.words.costs import cost, fold, shares
from tare.report.words.numbers import NARROW, cost_interval, count, is_manifold, listed, percent
from tare.units import format_bytes

_DECIDED = (Verdict.WORSE, Verdict.BETTER)


@dataclasses.dataclass(frozen=True)
class Answer:
    """One contender's answer: what is said of it, what would settle the rest, and the cases behind it.

    `beside` holds what would settle the undecided, and what the numbers leave out.
    """

    side: Side
    text: str
    beside: str
    cases: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return the answer with its subject: ``overlay adds 68 % [61, 75] to small-message latency …``."""
        return f"{self.side.name} {self.text}"


def answer_all(
    headlines: Sequence[Headline], overview: Sequence[Comparison], sides: Sides, margin: float
) -> list[Answer]:
    """Return an answer for each contender that the `overview` speaks of, in the plan's order."""
    side_of = {_differences(one): sides.side_of[one.contender_case] for one in overview}
    found = []
    for side in sides.contenders:
        rows = [one for one in overview if sides.side_of[one.contender_case] == side]
        if rows:
            mine = [one for one in headlines if side_of.get(_differences(one)) == side]
            found.append(answer(side, sides, mine, rows, margin))
    return found


def answer(
    side: Side, sides: Sides, headlines: Sequence[Headline], overview: Sequence[Comparison], margin: float
) -> Answer:
    """Return what is known of one contender, from its `headlines` and its rows of the `overview`.

    Equivalence is said only where the verdict is equivalent; undecided is said as such.
    """
    reference = sides.reference.name if sides.reference else "the reference"
    if all(one.ratio is None for one in headlines):
        return Answer(side, f"has not been measured beside {reference} yet.", "", ())
    parts = (_effects(headlines), _equivalents(headlines, reference, margin), _undecided(headlines))
    text = f"{'; '.join(filter(None, parts))}. {_balance(overview, sides)}".rstrip()
    beside = " ".join(filter(None, (settles(overview), *_notes(headlines))))
    cases = dict.fromkeys(case for one in overview for case in (one.reference_case, one.contender_case))
    return Answer(side, text, beside, tuple(cases))


def _notes(headlines: Sequence[Headline]) -> list[str]:
    """Return what the numbers leave out, once for all aspects of which it is the same."""
    aspects: dict[str, list[str]] = {}
    for one in headlines:
        if one.note and one.low is not None:
            aspects.setdefault(one.note, []).append(one.aspect)
    return [f"On {listed(names)}: {note}." for note, names in aspects.items()]


def reading(headlines: Sequence[Headline], margin: float) -> str:
    """Return how to read the numbers of the sentences: what they average, over what, how surely."""
    blocks = sorted({one.n_blocks for one in headlines if one.ratio is not None})
    if not blocks:
        return ""
    n = f"{blocks[0]}" if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"
    confidence = percent(headlines[0].confidence, is_signed=False, decimals=0)
    aspects = {one.aspect for one in headlines}
    parts = [f"In brackets: {confidence} intervals from n = {n} paired {'block' if n == '1' else 'blocks'}."]
    if Aspect.LATENCY in aspects:
        parts.append(f"Small messages are those up to {_size(SMALL_MESSAGE_BYTES)}.")
    if Aspect.BANDWIDTH in aspects:
        parts.append(f"Bandwidth is taken from {_size(LARGE_MESSAGE_BYTES)} up.")
    parts.append("Each is the geometric mean over its workloads, scales and sizes.")
    parts.append(f"Equivalent: the whole interval lies within {_within(margin)}.")
    family = max(one.family for one in headlines)
    if family > 1:
        parts.append(f"What is claimed allows for all {family} being asked at once.")
    return " ".join(parts)


def _differences(one: Headline | Comparison) -> tuple[frozenset[object], frozenset[object]]:
    """Return what tells the two sides of `one` apart, as a key."""
    return frozenset(one.contender.items()), frozenset(one.reference.items())


def _effects(headlines: Sequence[Headline]) -> str:
    return listed([_effect(one) for one in headlines if one.verdict in _DECIDED])


def _effect(one: Headline) -> str:
    """Return the change of the figure itself: ``takes 22 % [19, 25] off bandwidth``."""
    if one.ratio is None or one.low is None or one.high is None:
        return ""
    if is_manifold(one.ratio):
        return f"{'multiplies' if one.ratio > 1 else 'divides'} {one.aspect} by {fold(one)}"
    if one.ratio >= 1:
        change = shares(one.ratio - 1, (one.low - 1, one.high - 1), is_signed=False)
        return f"adds {change} to {one.aspect}"
    change = shares(1 - one.ratio, (1 - one.high, 1 - one.low), is_signed=False)
    return f"takes {change} off {one.aspect}"


def _equivalents(headlines: Sequence[Headline], reference: str, margin: float) -> str:
    same = [one for one in headlines if one.verdict is Verdict.EQUIVALENT]
    if not same:
        return ""
    aspects = listed([f"{one.aspect} ({_cost(one)})" for one in same])
    return f"is equivalent to {reference}, within {_within(margin)}, in {aspects}"


def _undecided(headlines: Sequence[Headline]) -> str:
    parts = []
    for one in headlines:
        if one.verdict is not Verdict.UNDECIDED:
            continue
        if one.ratio is None:
            parts.append(f"{one.aspect} (not measured on both sides)")
        elif one.low is None:
            parts.append(f"{one.aspect} ({_cost(one)} in {count(one.n_blocks, 'block')}, no interval)")
        else:
            parts.append(f"{one.aspect} ({_cost(one)})")
    return f"is undecided in {listed(parts)}" if parts else ""


def _balance(overview: Sequence[Comparison], sides: Sides) -> str:
    """Return the balance over workloads and scales, with the farthest of them."""
    if len(overview) < 2:
        return ""
    results = Counter(one.verdict.value if one.ratio is not None else "not measured" for one in overview)
    words = [word for word in (*Verdict, "not measured") if results[word]]
    if len(words) == 1:
        text = f"Of {len(overview)} workloads and scales, all are {words[0]}"
    else:
        text = f"Of {len(overview)} workloads and scales it is "
        text += ", ".join(f"{word} in {results[word]}" for word in words)
    decided = [one for one in overview if one.verdict in _DECIDED and one.cost is not None]
    if not decided:
        return f"{text}."
    far = max(decided, key=lambda one: abs(math.log(one.ratio or 1)))
    return f"{text}; farthest is {sides.place_of[far.contender_case].label}, {_by(far)}."


def _by(one: Comparison) -> str:
    """Return a decided comparison in words: ``worse by 61 % [60, 63]``."""
    bounds = cost_interval(one.low, one.high, one.better)
    if one.ratio is None or one.cost is None or bounds is None:
        return one.verdict.value
    if is_manifold(one.ratio):
        return f"{one.verdict} by a factor of {fold(one)}"
    low, high = sorted(abs(end) for end in bounds)
    return f"{one.verdict} by {shares(abs(one.cost), (low, high), is_signed=False)}"


def _cost(one: Headline | Comparison) -> str:
    told = cost(one, one.better)
    return "no direction" if told is None else str(told)


def _within(margin: float) -> str:
    decimals = 0 if (margin * 100).is_integer() else 1
    return f"±{NARROW}{percent(margin, is_signed=False, decimals=decimals)}"


def _size(n_bytes: int) -> str:
    return format_bytes(n_bytes).replace(" ", NARROW)
