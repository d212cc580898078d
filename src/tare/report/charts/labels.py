"""Place the labels at the ends of lines so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence


def end_labels(wanted: Sequence[float], least: float) -> list[float]:
    """Return positions for labels, at least `least` apart and as near as possible to those in `wanted`.

    Positions are shares of the panel's height, 0 at the bottom. Neighbours that would overlap are merged into
    a group around their mean, until no two groups touch (pool adjacent violators). All positions are within
    the panel, unless there are more labels than fit; then some are above it.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    groups: list[list[int]] = []
    for index in order:
        groups.append([index])
        while len(groups) > 1 and _top(groups[-2], wanted, least) + least > _bottom(
            groups[-1], wanted, least
        ):
            last = groups.pop()
            groups[-1] += last
    placed = [0.0] * len(wanted)
    for group in groups:
        bottom = _bottom(group, wanted, least)
        for step, index in enumerate(group):
            placed[index] = bottom + step * least
    return _within(placed, order, least)


def shortened(name: str) -> str:
    """Return a name that fits beside a line: the beginning and the end of a long one, where names differ."""
    if len(name) <= _MOST_CHARACTERS:
        return name
    half = (_MOST_CHARACTERS - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


_MOST_CHARACTERS = 17
"""The characters of a bold name in the space right of a line."""


def _within(placed: list[float], order: Sequence[int], least: float) -> list[float]:
    """Move labels above the panel down into it, and then labels below it up."""
    top = 1.0
    for index in reversed(order):
        placed[index] = min(placed[index], top)
        top = placed[index] - least
    bottom = 0.0
    for index in order:
        placed[index] = max(placed[index], bottom)
        bottom = placed[index] + least
    return placed


def _centre(group: Sequence[int], wanted: Sequence[float]) -> float:
    return sum(wanted[index] for index in group) / len(group)


def _bottom(group: Sequence[int], wanted: Sequence[float], least: float) -> float:
    return _centre(group, wanted) - least * (len(group) - 1) / 2


def _top(group: Sequence[int], wanted: Sequence[float], least: float) -> float:
    return _centre(group, wanted) + least * (len(group) - 1) / 2
