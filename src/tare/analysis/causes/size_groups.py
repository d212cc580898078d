"""Join neighbouring size classes of an MPI function, so that a sentence names one range of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tare.analysis.causes.profiles import ComponentKey
from tare.core.attribution import CauseKind

_POINT_TO_POINT = frozenset(
    f"MPI_{name}"
    for name in (
        *("Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend"),
        *("Recv", "Irecv", "Mrecv", "Imrecv", "Sendrecv", "Sendrecv_replace"),
        *("Isendrecv", "Isendrecv_replace"),
    )
)

_LEAST = 0.02
"""Classes with a smaller share of the difference do not begin or end a range."""


_MOST_NAMED = 2


class GroupName(NamedTuple):
    """What a group of components is: its kind, name, and sizes, which are None if they are no one range."""

    kind: CauseKind
    name: str
    least_bytes: int | None = None
    most_bytes: int | None = None


def group_name(keys: Sequence[ComponentKey], group: Sequence[int]) -> GroupName:
    """Return what the components of `keys` at the positions `group` are together."""
    kind, name, _ = keys[group[0]]
    if kind != CauseKind.FUNCTION:
        return GroupName(CauseKind(kind), name)
    sizes = [keys[column][2] for column in group]
    names = [*dict.fromkeys(keys[column][1] for column in group)]
    least, most = min(sizes), max(sizes)
    between = [
        key for key in keys if key[0] == kind and family(key[1]) == family(name) and least <= key[2] <= most
    ]
    joined = " and ".join(names) if len(names) <= _MOST_NAMED else "point-to-point messages"
    if len(between) != len(sizes):
        return GroupName(CauseKind.FUNCTION, joined)
    return GroupName(CauseKind.FUNCTION, joined, least // 2 + 1 if least else 0, most)


def family(function: str) -> str:
    """Return a key for functions that carry the same messages: those of point-to-point are one family.

    A slower network lengthens a send and the receive of the same message, one on each rank. As two causes
    each would have half of the difference.
    """
    return "point-to-point" if function in _POINT_TO_POINT else function


def size_groups(keys: Sequence[ComponentKey], found: Sequence[float]) -> list[tuple[int, ...]]:
    """Return the positions of `keys` in groups: each class and other component once.

    `found` has the share of each. The classes of a family of functions from the smallest to the largest with
    a share of 2 % or more are one group, with those between them; the other classes of the family are another
    one. If shares of both signs would be joined, which might cancel, each class is a group of its own.
    """
    groups: list[tuple[int, ...]] = []
    by_family: dict[str, dict[int, list[int]]] = {}
    for at, (kind, name, size) in enumerate(keys):
        if kind == CauseKind.FUNCTION:
            by_family.setdefault(family(name), {}).setdefault(size, []).append(at)
        else:
            groups.append((at,))
    for by_size in by_family.values():
        groups.extend(_of_family([by_size[size] for size in sorted(by_size)], found))
    return groups


def _of_family(classes: list[list[int]], found: Sequence[float]) -> list[tuple[int, ...]]:
    shares = [sum(found[at] for at in own) for own in classes]
    large = [place for place, share in enumerate(shares) if abs(share) >= _LEAST]
    if not large:
        return [_joined(classes)]
    if len({shares[place] > 0 for place in large}) > 1:
        return [tuple(own) for own in classes]
    first, last = large[0], large[-1]
    rest = _joined([*classes[:first], *classes[last + 1 :]])
    return [_joined(classes[first : last + 1]), *([rest] if rest else [])]


def _joined(classes: list[list[int]]) -> tuple[int, ...]:
    return tuple(at for own in classes for at in own)
