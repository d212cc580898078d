"""The texts on changes between sessions; every output shares them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tare.analysis.trust.session_changes import SessionChange
from tare.core.counting import count
from tare.report.words.changes import factor, labelled, shares
from tare.report.words.numbers import is_manifold

MOST_CHANGES = 3
"""The most changes that are described; the others are only counted."""


def change_words(one: SessionChange, label: Callable[[str], str]) -> str:
    """Return a change with its 95 % interval as a sentence without its full stop."""
    changed = (
        factor(one.ratio, one.low, one.high)
        if is_manifold(one.ratio)
        else shares(one.ratio - 1, (one.low - 1, one.high - 1))
    )
    who = f"the reference itself ({label(one.case)})" if one.is_reference else label(one.case)
    what = labelled(one.fom, one.labels)
    return f"{who} measured {what} {changed} in session {one.after} next to session {one.before}"


def changes_words(found: Sequence[SessionChange], label: Callable[[str], str]) -> list[str]:
    """Return the changes between sessions that exceed chance and the margin, one line each."""
    serious = [one for one in found if one.is_serious]
    lines = [change_words(one, label) for one in serious[:MOST_CHANGES]]
    if len(serious) > MOST_CHANGES:
        lines.append(f"{count(len(serious) - MOST_CHANGES, 'more figure')} changed between sessions")
    return lines


CURE = (
    "Ratios are paired within a session, so they hold; the case's own value mixes its sessions. Look for "
    "what changed in between, such as the kernel, the firmware, the clock frequency or other jobs."
)
