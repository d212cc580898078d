"""Write node names as ranges, such as n[1-4,7], which a site file expands again."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})([^0-9\[\]]*)")


def as_ranges(names: Iterable[str]) -> tuple[str, ...]:
    """Return `names` in as few texts as possible, in the order in which each begins.

    Of gpu001 … gpu128, the last ones have no leading zero, and as many digits as those that have.
    """
    groups: dict[tuple[str, str, int], list[int]] = {}
    known = tuple(dict.fromkeys(names))
    padded = {(found[1], found[3], len(found[2])) for name in known if (found := _padded(name))}
    for name in known:
        found = _NUMBERED.fullmatch(name)
        if found is None or "[" in found[1]:
            groups[name, "", 0] = []
            continue
        is_padded = (found[1], found[3], len(found[2])) in padded
        width = len(found[2]) if is_padded else 0
        groups.setdefault((found[1], found[3], width), []).append(int(found[2]))
    return tuple(_text(*key, sorted(numbers)) for key, numbers in groups.items())


def _padded(name: str) -> re.Match[str] | None:
    """Return the parts of a name whose number has leading zeros."""
    found = _NUMBERED.fullmatch(name)
    return found if found and len(found[2]) > 1 and found[2].startswith("0") else None


def _text(before: str, after: str, width: int, numbers: list[int]) -> str:
    if not numbers:
        return before
    runs = []
    for _, group in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [f"{number:0{width}}" for _, number in group]
        runs.append(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}")
    if len(numbers) == 1:
        return f"{before}{runs[0]}{after}"
    return f"{before}[{','.join(runs)}]{after}"
