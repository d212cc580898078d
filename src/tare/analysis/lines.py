"""Lines of cases: those that differ in one growing setting, and in what has to grow with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from tare.core.case import Case
from tare.core.scaling import ScalingKind
from tare.core.values import Scalar

LAYOUT = ("nodes", "ranks", "ranks_per_node", "threads")
"""The settings that a scale can be counted in."""

_FREED: dict[str, tuple[frozenset[str], ...]] = {
    "nodes": (frozenset({"ranks"}), frozenset({"ranks_per_node"})),
    "ranks": (frozenset({"nodes"}), frozenset({"ranks_per_node"})),
    "ranks_per_node": (frozenset({"ranks"}), frozenset({"nodes"})),
}
"""Two of nodes, ranks and ranks per node make the third: what follows each, the likelier first."""

_POWERS = (1, 2, 3)
"""How the work goes with a size: that of a line, of a square, of a cube."""

_Key = frozenset[tuple[str, object]]


class Line(NamedTuple):
    """Cases along `along`, by rising scale; `held` says what a weak scaling keeps, such as ``nex²/ranks``."""

    along: str
    cases: tuple[tuple[float, Case], ...]
    held: str = ""


def is_number(value: Scalar | None) -> TypeGuard[int | float]:
    """Return whether `value` is a number that things can be drawn along; a flag is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def lines(cases: Iterable[Case], kind: ScalingKind, names: Sequence[str]) -> list[Line]:
    """Return the lines of two cases or more in which `names` grow together, all else being fixed.

    The scale is the first of `names` that lays out ranks, or else the first. In weak scaling the other
    names are sizes of the problem: size^d / scale is the same along a line, with the power d, of 1, 2 and
    3, that makes the longest lines. In strong scaling the other names may be anything.
    """
    along = next((name for name in names if name in LAYOUT), names[0])
    rows = [(case, case.settings) for case in cases]
    numeric = [(case, row) for case, row in rows if is_number(row.get(along))]
    sizes = [name for name in names if name not in LAYOUT and name != along]
    if kind is ScalingKind.STRONG or not sizes:
        return _grouped(numeric, along, names, ())
    held = [_grouped(numeric, along, names, [(size, power) for size in sizes]) for power in _POWERS]
    return max(held, key=lambda found: (max((len(line.cases) for line in found), default=0), len(found)))


def _grouped(
    rows: Sequence[tuple[Case, dict[str, Scalar]]],
    along: str,
    names: Sequence[str],
    sizes: Sequence[tuple[str, int]],
) -> list[Line]:
    left = list(rows)
    found: list[Line] = []
    held = " and ".join(
        f"{size}{'' if power == 1 else '²' if power == 2 else '³'}/{along}" for size, power in sizes
    )
    for freed in _FREED.get(along, (frozenset(),)):
        groups: dict[_Key, dict[float, Case]] = {}
        for case, row in left:
            key = {name: value for name, value in row.items() if name not in names and name not in freed}
            fixed = {size: _per_scale(row[size], power, row[along]) for size, power in sizes if size in row}
            groups.setdefault(frozenset((key | fixed).items()), {})[float(row[along])] = case
        grown = [group for group in groups.values() if len(group) > 1]
        found += [Line(along, tuple(sorted(group.items(), key=lambda one: one[0])), held) for group in grown]
        placed = {case.id for group in grown for case in group.values()}
        left = [(case, row) for case, row in left if case.id not in placed]
    order = {case.id: index for index, (case, _) in enumerate(rows)}
    return sorted(found, key=lambda line: min(order[case.id] for _, case in line.cases))


def _per_scale(size: Scalar, power: int, scale: Scalar) -> object:
    if not is_number(size):
        return size
    return f"{float(size) ** power / float(scale):.9g}"
