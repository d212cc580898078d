"""Tell what becomes of the columns of a table that a parser does not know.

A head that lost some characters hides a figure. So a head that resembles a known one is a problem, and any
other one is told: a new version of a program may have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

_LONGEST = 80
_NOISE = 12
"""The least characters of a message that another program printed in the middle of a head."""


class Unknown(NamedTuple):
    """A head that is not known, and the known one of which it may be what is left; None if of none."""

    name: str
    meant: str | None


def unknown_heads(
    names: Iterable[str], wanted: Collection[str], others: Collection[str]
) -> Iterator[Unknown]:
    """Yield the heads that are neither `wanted`, whose columns have figures, nor `others` that are known."""
    for name in names:
        if name not in wanted and name not in others:
            meant = next((one for one in wanted if _is_left_of(name, one)), None)
            yield Unknown(name[:_LONGEST], meant)


def _is_left_of(name: str, known: str) -> bool:
    """Return whether `name` is `known` with a hole or with a message in it."""
    n_begin = next(
        (at for at, (one, other) in enumerate(zip(name, known, strict=False)) if one != other),
        min(len(name), len(known)),
    )
    rest, whole = name[n_begin:], known[n_begin:]
    if len(name) < len(known):
        return 2 * len(name) > len(known) and known.endswith(rest)
    return len(name) - len(known) >= _NOISE and n_begin > 0 and name.endswith(whole)
