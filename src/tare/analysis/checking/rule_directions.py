"""Detect rules that fail where a figure gets better, and pass where it gets worse.

For example, ``ratio() < 0.95`` makes sense for rates. For an elapsed time, it fails where the job takes less
time, and passes where it takes twice as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tare.analysis.checking.rules import Bound, Function, Group, Node, Rule, bounds_of
from tare.analysis.checking.selection import Match
from tare.analysis.quoted_figures import Figure
from tare.core.workload import Better

_BETTER = {
    Function.OVERHEAD: Better.LOWER,
    Function.CV: Better.LOWER,
    Function.CV_RATIO: Better.LOWER,
    Function.EFFICIENCY: Better.HIGHER,
}
"""The better direction of functions for which it does not depend on the figure."""


def direction_note(rule: Rule, bound: Bound, matches: Iterable[Match], rules: Sequence[Rule]) -> str:
    """Return a sentence if `bound` fails where a figure that it matches gets better; otherwise empty.

    If the `rules` bound the same call on both sides, they ask for no change at all, so there is no sentence.
    There is none either for a bound within an `and`, which is only a condition. Raises UsageError, pointing
    into `rule`, where the rule names no figure, since it may not mean this one.
    """
    turned = list(dict.fromkeys((one.fom, one.better) for one in matches if _fails_where_better(bound, one)))
    if not turned or _is_two_sided(bound, rules):
        return ""
    fom, better = turned[0]
    what, way = _words(bound, fom, better)
    if bound.call.fom is None and bound.call.function not in _BETTER:
        cure = "name the figure that is meant"
        if bound.call.function is Function.RATIO:
            cure = f"write for example overhead(…) > 5 %, which is worse of times and rates alike, or {cure}"
        raise rule.fault(bound.call.column, f"this matches {what}: the rule {way}; {cure}")
    if bound in _conditions(rule.violation):
        return ""
    return f"“{rule.words}” {way}: it is of {what}"


def _fails_where_better(bound: Bound, match: Match) -> bool:
    better = _BETTER.get(bound.call.function, match.better)
    if better is None:
        return False
    return bound.op.is_upward == (better is Better.HIGHER)


def _words(bound: Bound, fom: str, better: Better | None) -> tuple[str, str]:
    """Return what is judged, with its better direction, and what the rule does with it."""
    function = bound.call.function
    of_function = _BETTER.get(function)
    less = "less" if (of_function or better) is Better.LOWER else "more"
    what = f"{function}() of {fom}" if of_function else fom
    return f"{what}, of which {less} is better", "fails where that is better, and passes where it is worse"


def _is_two_sided(bound: Bound, rules: Iterable[Rule]) -> bool:
    """Return whether the same call also fails beyond a limit on the other side."""
    single = (
        one
        for rule in rules
        for one in bounds_of(rule.violation)
        if one not in set(_conditions(rule.violation))
    )
    return any(one.call.text == bound.call.text and one.op.is_upward != bound.op.is_upward for one in single)


def _conditions(node: Node) -> Iterator[Bound]:
    """Yield the bounds that cannot fail a rule alone, since something else must hold, too."""
    if not isinstance(node, Group):
        return
    for part in node.parts:
        yield from bounds_of(part) if node.is_all else _conditions(part)


def uncovered_times(longer: Iterable[Figure], judged: Iterable[Match]) -> tuple[str, ...]:
    """Return a sentence on each elapsed time that got longer and that no rule covers."""
    known = {(one.at.get("workload"), one.fom) for one in judged}
    left = sorted({one.fom for one in longer if (one.workload, one.fom) not in known})
    return tuple(
        f"No rule looks at {fom}, an elapsed time that 'tare compare' calls worse; overhead({fom}) > 5 % "
        "would."
        for fom in left
    )
