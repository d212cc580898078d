"""Group cases into lines, along which one setting grows together with those that must grow with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeGuard

from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.scaling import ScalingKind
from tare.core.values import Scalar

LAYOUT = ("nodes", "ranks", "ranks_per_node", "threads")
"""The settings that can count a scale."""

_FREED: dict[str, tuple[frozenset[str], ...]] = {
    "nodes": (frozenset({"ranks"}), frozenset({"ranks_per_node"})),
    "ranks": (frozenset({"nodes"}), frozenset({"ranks_per_node"})),
    "ranks_per_node": (frozenset({"ranks"}), frozenset({"nodes"})),
}
"""Two of nodes, ranks and ranks per node determine the third. Each setting maps to the sets of settings that
may follow it, the most likely first."""

_POWERS = (1, 2, 3)
"""Exponents of the work as a function of the size: for a line, a square and a cube."""

_Key = frozenset[tuple[str, object]]


class Line(NamedTuple):
    """Cases by rising scale `along`; `held` is what a weak scaling keeps constant, such as ``nex²/ranks``."""

    along: str
    cases: tuple[tuple[float, Case], ...]
    held: str = ""

    @property
    def members(self) -> list[Case]:
        """Return its cases without their scales."""
        return [case for _, case in self.cases]


def is_number(value: Scalar | None) -> TypeGuard[int | float]:
    """Return whether `value` is a number that a curve can run along; a Boolean is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def cases_by_workload(plan: Plan) -> dict[str, list[Case]]:
    """Return the cases of each workload, in the order of the plan."""
    found: dict[str, list[Case]] = {}
    for case in plan.cases:
        found.setdefault(case.workload, []).append(case)
    return found


def fixed_settings(cases: Sequence[Case], plan: Plan, without: Collection[str] = ()) -> dict[str, Scalar]:
    """Return the settings that vary in the study, but not among `cases` and not in `without`."""
    first, *rest = (case.settings for case in cases)
    return {
        name: first[name]
        for name in plan.varied
        if name in first
        and name not in ("workload", *without)
        and all(row.get(name) == first[name] for row in rest)
    }


def wanted_scalings(plan: Plan) -> Sequence[tuple[ScalingKind, tuple[str, ...]]]:
    """Return the kinds of scaling to compute, each with the settings that grow together."""
    declared = [(ScalingKind.STRONG, plan.scaling.strong), (ScalingKind.WEAK, plan.scaling.weak)]
    wanted = [(kind, names) for kind, names in declared if names]
    if wanted:
        return wanted
    return [(ScalingKind.STRONG, (name,)) for name in ("nodes", "ranks") if name in plan.varied][:1]


def has_lines(plan: Plan) -> bool:
    """Return whether any cases of a plan form a line."""
    return any(
        lines(cases, kind, names)
        for cases in cases_by_workload(plan).values()
        for kind, names in wanted_scalings(plan)
    )


def scale_name(names: Sequence[str]) -> str:
    """Return which of the settings that grow together is the scale: one that lays out ranks, or the first."""
    return next((name for name in names if name in LAYOUT), names[0])


def lines(cases: Iterable[Case], kind: ScalingKind, names: Sequence[str]) -> list[Line]:
    """Return the lines of two or more cases in which `names` grow together and all else is fixed.

    The scale is that of `scale_name`. In weak scaling the other names are sizes of the problem: size^d /
    scale is constant along a line. The exponent d (1, 2 or 3) is the one that gives the longest lines. In
    strong scaling the other names may be anything.
    """
    along = scale_name(names)
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
