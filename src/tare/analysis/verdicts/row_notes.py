"""The notes of rows in tables of comparisons: why there is no ratio, no interval or no verdict."""

from __future__ import annotations

from tare.core.comparison import Finding, Mean
from tare.stats.autocorrelation import is_sure
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS
from tare.stats.sign_test import least_of_median

WITHHELD_BY_MEAN_COST = "within the margin, but the mean of what adds up is not"
"""The note for a row that would be equivalent by its ratio."""

NOT_AT_EACH = "within the margin over all of them, but "
"""The beginning of the note for a row of a mean over points that differ for certain."""

NOT_EVERYWHERE = "so in the mean over all of them, but "
"""The beginning of the note for a row some of whose points surely differ the other way."""

WIDER = "the interval is wider for it"

NOT_MEASURED = "not measured on both sides"

NO_RUN_HAS_IT = "no run has it"
"""Why a side has no value of a figure, although it has runs that count."""

NO_COMMON_POINT = f"{NOT_MEASURED}: they have no point in common"
"""The note for sides that were both measured, each at points that the other lacks."""

ROUNDED_AWAY = "no interval: rounding of what was printed may have made or hidden all of a scatter"
"""The note on a ratio of scatters where what was printed has too few digits."""

TOO_FEW_OR_ZERO = "left out: too few blocks, or zero or less"
"""The end of the note on what a mean leaves out, although both sides have it."""

ONE_SIDED = "only one side has them"
"""The end of the note on points that count for neither side."""

NOT_TOGETHER = "not measured together"
"""The note for sides that were both measured, but never in one block of one session."""

OF_ZEROS = "some values are zero or less: ratio of arithmetic means"
"""The note on a ratio that is not of the mean that was asked for."""

NO_RATIO_TO_REFERENCE = "no ratio: the mean of the reference is zero or less"

NO_RATIO_OF_CONTENDER = "no ratio: the mean of the contender is below zero"
"""The notes for sides that were measured together, but whose values have no ratio."""

NO_SPEEDUP = "no speedup: a mean is zero or less"
"""The same for a scale and the one that speedups refer to."""

UNPAIRED_BEGINS = "unpaired: "

UNPAIRED = f"{UNPAIRED_BEGINS}the sides did not run together, and the machine may have changed between"
"""The note for sides that are nevertheless compared."""


def is_without_ratio(one: Finding) -> bool:
    """Return whether both sides were measured together, but their values have no ratio."""
    return one.ratio is None and one.note.startswith((NO_RATIO_TO_REFERENCE, NO_RATIO_OF_CONTENDER))


def least_blocks(mean: Mean) -> int:
    """Return how many blocks the interval of a ratio needs."""
    return least_of_median(CONFIDENCE) if mean is Mean.MEDIAN else MIN_BLOCKS


def median_lack(n_blocks: int, *, is_paired: bool) -> str:
    """Return why a median has no interval; empty if it has enough blocks."""
    if not is_paired:
        return "no interval: that of a median takes blocks that both sides share"
    least = least_of_median(CONFIDENCE)
    if n_blocks >= least:
        return ""
    blocks = f"{n_blocks} block{'s'[: n_blocks > 1]}"
    return f"{blocks}: an interval of the median at {100 * CONFIDENCE:.4g} % takes {least}"


def nth_look(look: int) -> str:
    """Return which look at a result this is: ``a second look``."""
    return f"a {_ORDINALS.get(look, f'{look}th')} look"


_ORDINALS = {1: "first", 2: "second", 3: "third"}


def look_words(look: int) -> str:
    """Return that results could be read before blocks were added, and what follows; empty at a first look."""
    return f"{nth_look(look)} at the results, so judged more strictly" if look > 1 else ""


def resembling_words(r: float, n_blocks: int, effect: str = WIDER) -> str:
    """Return that blocks are correlated, and what follows for their interval."""
    verb = "resemble" if is_sure(r, n_blocks) else "may resemble"
    return f"blocks {verb} the one before (r = {r:.2f}): {effect}"


def unresolved_words(r: str, n_blocks: int) -> str:
    """Return why no verdict is drawn from blocks that are correlated."""
    return (
        f"blocks resemble the one before (r = {r}), and {n_blocks} are too few to tell how many of them count"
    )
