"""The notes on the points of a scaling curve: why a value, an interval or a ratio is missing."""

from __future__ import annotations

import numpy as np

from tare.analysis.verdicts.row_notes import NO_SPEEDUP, NOT_TOGETHER, OF_ZEROS, unresolved_words
from tare.core.units import write_number
from tare.stats.intervals import MIN_BLOCKS
from tare.stats.ratios import Design
from tare.stats.scaling import Scaled


def lack_note(n_blocks: int, why: str = "") -> str:
    """Return why a point has no interval or no value; mostly empty. `why` is the reason for no value."""
    if n_blocks >= MIN_BLOCKS:
        return ""
    if not n_blocks:
        return f"not measured: {why}" if why else "not measured"
    runs = "single run" if n_blocks == 1 else f"{n_blocks} runs"
    return f"without interval: {runs}"


def pair_words(grown: Scaled, column: int, scale: float, p_ref: float | None, before: float | None) -> str:
    """Return a note on ratios that are not paired by block, that are missing, or that have no interval.

    `before` is the previous measured scale.
    """
    found = Design(grown.speedup.design[column])
    for base, ratio, unresolved in (
        (p_ref, grown.speedup, grown.unresolved_speedup),
        (before, grown.gain, grown.unresolved_gain),
    ):
        if base is not None and np.isfinite(unresolved[column]):
            why = unresolved_words(f"{unresolved[column]:.2f}", int(ratio.n_blocks[column]))
            return f"next to {write_number(base)}, {why}"
    if found is Design.NONE and p_ref is not None:
        return NOT_TOGETHER
    if found is Design.ARITHMETIC and np.isnan(grown.speedup.ratio[column]):
        return NO_SPEEDUP
    if Design.ARITHMETIC in (found, grown.gain.design[column]):
        return OF_ZEROS
    return "unpaired" if found is Design.UNPAIRED and scale != p_ref else ""


def point_note(of_pair: str, of_lack: str) -> str:
    """Return the note on a point, of what `pair_words` and `lack_note` say of it."""
    return of_pair if of_pair == NO_SPEEDUP else of_lack or of_pair


def curve_note(reference: float | None, p_ref: float | None, along: str) -> str:
    """Return why a curve has no speedups; mostly empty."""
    if reference is None:
        return "nothing is measured yet"
    if p_ref is None:
        noun = along.removesuffix("s") if reference == 1 and along in ("nodes", "ranks", "threads") else along
        return f"not measured at {write_number(reference)} {noun}, to which speedups refer"
    return ""
