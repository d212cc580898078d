"""Join neighbouring size classes of an MPI function, so that a sentence names one range of sizes."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.profiles import ComponentKey
from tare.core.attribution import CauseKind

_LEAST = 0.02
"""Classes with a smaller share of the difference do not begin or end a range."""


def size_groups(keys: Sequence[ComponentKey], found: Sequence[float]) -> list[tuple[int, ...]]:
    """Return the positions of `keys` in groups: each class and other component once.

    `found` has the share of each. The classes of a function from the smallest to the largest with a share of
    2 % or more are one group, with those between them; the other classes of the function are another one. If
    shares of both signs would be joined, which might cancel, each class is a group of its own.
    """
    groups: list[tuple[int, ...]] = []
    by_function: dict[str, list[int]] = {}
    for at, (kind, name, _) in enumerate(keys):
        if kind == CauseKind.FUNCTION:
            by_function.setdefault(name, []).append(at)
        else:
            groups.append((at,))
    for own in by_function.values():
        own.sort(key=lambda at: keys[at][2])
        groups.extend(_of_function(own, found))
    return groups


def _of_function(own: list[int], found: Sequence[float]) -> list[tuple[int, ...]]:
    large = [place for place, at in enumerate(own) if abs(found[at]) >= _LEAST]
    if not large:
        return [tuple(own)]
    if len({found[own[place]] > 0 for place in large}) > 1:
        return [(at,) for at in own]
    first, last = large[0], large[-1]
    rest = (*own[:first], *own[last + 1 :])
    return [tuple(own[first : last + 1]), *([rest] if rest else [])]
