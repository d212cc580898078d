"""Whether a rule fails on the side on which a figure is better, and passes what got worse.

``ratio() < 0.95`` is meant of rates. Of an elapsed time it fails where the job takes less time, and passes
where it takes twice as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tare.analysis.quoted_figures import Figure
from tare.analysis.rules import Bound, Function, Group, Node, Op, Rule, bounds_of
from tare.analysis.selection import Match
from tare.core.workload import Better

_BETTER = {
    Function.OVERHEAD: Better.LOWER,
    Function.CV: Better.LOWER,
    Function.CV_RATIO: Better.LOWER,
    Function.EFFICIENCY: Better.HIGHER,
}
"""What is better of a function whichever figure it is of; of the others the figure says it."""


def direction_note(rule: Rule, bound: Bound, matches: Iterable[Match], rules: Sequence[Rule]) -> str:
    """Return that `bound` fails where what it matches is better, in a sentence; empty where it does not.

    Where the `rules` bound the same on both sides they ask for no change at all, and what stands beside an
    `and` is a condition of something else. Raises UsageError, pointing into `rule`, where no figure is named:
    nobody has said then that this one is meant.
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
    return _is_above(bound.op) == (better is Better.HIGHER)


def _is_above(op: Op) -> bool:
    return op in (Op.ABOVE, Op.AT_LEAST)


def _words(bound: Bound, fom: str, better: Better | None) -> tuple[str, str]:
    """Return what is judged with what is better of it, and what the rule does with it."""
    function = bound.call.function
    of_function = _BETTER.get(function)
    less = "less" if (of_function or better) is Better.LOWER else "more"
    what = f"{function}() of {fom}" if of_function else fom
    return f"{what}, of which {less} is better", "fails where that is better, and passes where it is worse"


def _is_two_sided(bound: Bound, rules: Iterable[Rule]) -> bool:
    """Return whether the same call fails, too, where it is beyond a limit on the other side."""
    alone = (
        one
        for rule in rules
        for one in bounds_of(rule.violation)
        if one not in set(_conditions(rule.violation))
    )
    return any(one.call.text == bound.call.text and _is_above(one.op) != _is_above(bound.op) for one in alone)


def _conditions(node: Node) -> Iterator[Bound]:
    """Yield the bounds that fail nothing alone, since something else must hold with them."""
    if not isinstance(node, Group):
        return
    for part in node.parts:
        yield from bounds_of(part) if node.is_all else _conditions(part)


def unasked(longer: Iterable[Figure], judged: Iterable[Match]) -> tuple[str, ...]:
    """Return a sentence on each elapsed time that got longer and that no match of any rule is of."""
    known = {(one.at.get("workload"), one.fom) for one in judged}
    left = sorted({one.fom for one in longer if (one.workload, one.fom) not in known})
    return tuple(
        f"No rule looks at {fom}, an elapsed time that 'tare compare' calls worse; overhead({fom}) > 5 % "
        "would."
        for fom in left
    )
