"""Describe the figures that were measured but are not shown, and which of them changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tare.core.comparison import Comparison
from tare.core.counting import count
from tare.core.verdict import differences
from tare.report.words.changes import labelled
from tare.report.words.numbers import listed, visible

_MOST_NAMED = 3


def further_words(
    figures: Sequence[Comparison], shown: Collection[object], aside: tuple[str, str] = ("", "")
) -> str:
    """Return how many of `figures` are not in `shown`, and which of them got worse or better; may be empty.

    `shown` holds results of `figure_key`. `aside` is a remark on these figures, in singular and in plural.
    """
    rest = further_figures(figures, shown)
    if not rest:
        return ""
    has_others = len({one.at.get("workload") for one in figures}) > 1
    by_outcome: dict[str, list[Comparison]] = {}
    for rows in rest.values():
        found = {one.verdict for one in rows}
        changes = [one.value for one in differences() if one in found]
        by_outcome.setdefault(_outcome(changes, is_in_all=len(found) == 1), []).append(rows[0])
    parts = [
        f"{len(changed)} {outcome} ({_named(changed, has_workloads=has_others)})"
        for outcome, changed in sorted(by_outcome.items(), key=lambda one: len(one[0]))
        if outcome
    ]
    outcomes = listed(parts) if parts else "none is known to be worse or better"
    more = " ".join(filter(None, (count(len(rest), "more figure"), aside[len(rest) > 1])))
    return f"{more} {'was' if len(rest) == 1 else 'were'} measured: {outcomes}."


def _outcome(changes: Sequence[str], *, is_in_all: bool) -> str:
    """Return what became of figures in their rows: ``worse``, ``worse in some rows and better in others``."""
    if not changes or is_in_all:
        return "".join(changes)
    first, *others = changes
    return " and ".join([f"{first} in some rows", *(f"{one} in others" for one in others)])


def further_figures(
    figures: Sequence[Comparison], shown: Collection[object]
) -> dict[object, list[Comparison]]:
    """Return the rows of each of `figures` that was measured and is not in `shown`, by `figure_key`."""
    rest: dict[object, list[Comparison]] = {}
    for one in figures:
        key = figure_key(one)
        is_measured = one.ratio is not None or (one.n_blocks > 0 and not one.is_uncrossed)
        if is_measured and one.better is not None and key not in shown:
            rest.setdefault(key, []).append(one)
    return rest


def _named(changed: Sequence[Comparison], *, has_workloads: bool) -> str:
    """Return the names of the first figures, by workload if there are several of these."""
    by_workload: dict[str, list[str]] = {}
    for one in changed[:_MOST_NAMED]:
        workload = one.at.get("workload")
        owner = f"{visible(str(workload))}’s " if has_workloads and workload is not None else ""
        by_workload.setdefault(owner, []).append(labelled(one.fom, one.labels))
    more = [f"{len(changed) - _MOST_NAMED} more"] if len(changed) > _MOST_NAMED else []
    if len(by_workload) == 1:
        ((owner, names),) = by_workload.items()
        return f"{owner}{listed([*names, *more])}"
    return listed([*(f"{owner}{listed(names)}" for owner, names in by_workload.items()), *more])


def figure_key(one: Comparison) -> tuple[object, ...]:
    """Return a key that all rows of one figure of one workload share."""
    return one.at.get("workload"), one.fom, *one.labels.items()
