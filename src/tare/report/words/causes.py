"""Write where a difference comes from as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.causes.correlates import Reason
from tare.core.attribution import Attribution, Cause, CauseKind, ScatterCause
from tare.core.counting import count
from tare.core.interval import Bounded
from tare.core.profile import function_name
from tare.core.units import format_bytes
from tare.report.variants import Variants
from tare.report.words.mechanisms import mechanism
from tare.report.words.numbers import (
    NARROW,
    bracket,
    bracket_values,
    number,
    percent,
    quantity,
    share_decimals,
    visible,
)

MOST_CAUSES = 3
"""The most causes that a sentence names."""

_LEAST_SHARE = 0.05
"""Smaller parts of a difference are not named."""

_LARGE_REST = 0.2
"""A larger part that is unexplained is named, certain or not."""

_SEVERAL = 3.0
"""From this ratio on, times are several times as long, and no percentage longer."""

_WIDE_SHARE = 0.5
"""A share whose interval is wider is given by the ends of that alone."""

_WITHOUT_SIZE = (
    *("MPI_Wait", "MPI_Test", "MPI_Start", "MPI_Request_", "MPI_Probe", "MPI_Iprobe", "MPI_Mprobe"),
    *("MPI_Improbe", "MPI_Win_", "MPI_Comm_", "MPI_Intercomm_", "MPI_Cart_", "MPI_Graph_", "MPI_Dist_graph_"),
    *("MPI_Buffer_", "MPI_Barrier", "MPI_Ibarrier"),
)
"""How the names of functions begin whose calls have no size, though other calls' data may pass in them."""

_COVERED = (0.8, 1.25)
"""The profile covers the difference of the runs without it, if its own is between these shares of it."""


def cause_sentence(one: Attribution, variants: Variants, reasons: Sequence[Reason] = ()) -> str:
    """Return where a difference comes from, without a full stop; empty if the difference is not decided.

    It is decided if profiled runs certainly differ, and runs without the profile do not contradict that.
    """
    if not is_told(one) or one.ratio is None:
        return ""
    contender = variants.variant_of[one.contender_case].name
    configuration = variants.configuration_of[one.contender_case]
    nodes = f" on {count(configuration.nodes, 'node')}" if configuration.nodes else ""
    lead = f"{contender} makes {configuration.title}{nodes} take {change_said(one.ratio)}"
    return f"{lead} from MPI_Init to MPI_Finalize in profiled runs: {_causes(one, reasons)}{_coverage(one)}"


def is_told(one: Attribution) -> bool:
    """Return whether a difference is certain, with the profile and, where it is known, without it."""
    if not one.is_decided or one.difference_s is None:
        return False
    plain = one.elapsed_s
    if plain is None or plain.low is None or plain.high is None:
        return True
    return plain.high < 0 if one.difference_s.value < 0 else plain.low > 0


def change_said(ratio: Bounded) -> str:
    """Return a change of times: ``62 % [58, 66] longer``; of times several times as long, the ratio.

    A change that is less than the width of its interval is given by the ends of that alone.
    """
    if ratio.value >= _SEVERAL:
        return _several(ratio)
    share = ratio.value - 1
    ends = None if ratio.low is None or ratio.high is None else (ratio.low - 1, ratio.high - 1)
    if share < 0:
        share, ends = -share, ends and (-ends[1], -ends[0])
    word = "longer" if ratio.value > 1 else "less time"
    decimals = share_decimals(share, ends)
    if ends is not None and ends[1] - ends[0] > share:
        low, high = (percent(end, is_signed=False, decimals=decimals) for end in ends)
        return f"between {low} and {high} {word}"
    text = f"{percent(share, is_signed=False, decimals=decimals)} {bracket(ends, decimals)}".rstrip()
    return f"{text} {word}"


def _several(ratio: Bounded) -> str:
    low, high = ratio.low, ratio.high
    if low is not None and high is not None and high - low > ratio.value - 1:
        return f"between {number(low)} and {number(high)} times as long"
    return f"{number(ratio.value)} {bracket_values(low, high)}".rstrip() + " times as long"


def share_words(one: Bounded) -> str:
    """Return a share of a difference with its interval: ``81 % [74, 88]``; a dash where it has none.

    Where a difference may be 0, shares of it may be anything.
    """
    if one.low is None or one.high is None:
        return "–"
    text = percent(one.value, is_signed=False, decimals=0)
    return f"{text} {bracket((one.low, one.high), 0)}"


def share_said(one: Bounded) -> str:
    """Return a share for a sentence, without a value that its interval does not support."""
    if one.low is None or one.high is None:
        return "an unknown part"
    if one.high - one.low > _WIDE_SHARE:
        low, high = (percent(end, is_signed=False, decimals=0) for end in (one.low, one.high))
        return f"between {low} and {high}"
    return share_words(one)


def _causes(one: Attribution, reasons: Sequence[Reason]) -> str:
    sure = [cause for cause in one.causes if cause.is_certain and cause.kind is not CauseKind.UNEXPLAINED]
    named = [cause for cause in sure if cause.share.value >= _LEAST_SHARE][:MOST_CAUSES]
    against = [cause for cause in sure if cause.share.value <= -_LEAST_SHARE][-1:]
    used: set[str] = set()
    texts = []
    for at, cause in enumerate(named):
        support = mechanism(cause, one.contender_case, reasons, used)
        of_that = " of that is" if at == 0 else ""
        texts.append(f"{share_said(cause.share)}{of_that} {cause_words(cause)}{support}")
    rest = one.unexplained
    if rest is not None and rest.share.value >= _LARGE_REST:
        texts.append(f"{share_said(rest.share)} is not explained by the profile")
    is_slower = one.difference_s is not None and one.difference_s.value > 0
    texts += [
        f"{'less' if is_slower else 'more'} time in {cause_words(cause)} makes up for "
        f"{share_said(_positive(cause))}"
        for cause in against
    ]
    if rest is not None and rest.share.value <= -_LARGE_REST:
        texts.append(
            f"{'less' if is_slower else 'more'} time that the profile does not explain makes up for "
            f"{share_said(_positive(rest))}"
        )
    least = percent(_LEAST_SHARE, is_signed=False, decimals=0)
    return ", ".join(texts) if texts else f"no part of {least} or more of that is certain"


def _positive(cause: Cause) -> Bounded:
    one = cause.share
    return Bounded(-one.value, None if one.high is None else -one.high, None if one.low is None else -one.low)


def cause_words(cause: Cause) -> str:
    """Return a cause in words: ``MPI_Alltoall of 1 to 4 KiB (48 → 91 µs each)``, ``computation``."""
    if cause.kind is CauseKind.WAITING and cause.rank is not None:
        others = f" and {cause.more_ranks} more" if cause.more_ranks else ""
        for_them = "them" if cause.more_ranks else "it"
        return f"slower computation of rank {cause.rank}{others}, and waiting for {for_them}"
    return f"{part_words(cause)}{_each(cause)}"


def part_words(one: Cause | ScatterCause) -> str:
    """Return what a part of the wall time is: ``MPI_Alltoall of 1 to 4 KiB``, ``computation``."""
    match one.kind:
        case CauseKind.FUNCTION:
            if function_name(one.name) != one.name:
                return function_name(one.name)
            return f"{visible(one.name)}{'' if one.name.startswith(_WITHOUT_SIZE) else _size_words(one)}"
        case CauseKind.FILES:
            return f"file I/O, {visible(one.name)}"
        case CauseKind.WAITING:
            return "waiting for slower ranks"
        case CauseKind.UNEXPLAINED:
            return "not explained"
        case CauseKind.COMPUTATION:
            return "computation"


def _size_words(cause: Cause | ScatterCause) -> str:
    """Return the sizes of the calls; a class of powers of two is named by its upper bound."""
    if cause.least_bytes is None or cause.most_bytes is None:
        return " of other sizes"
    most = format_bytes(cause.most_bytes)
    if cause.most_bytes == 0:
        return " without data"
    least = 0 if cause.least_bytes == 0 else 1 << (cause.least_bytes - 1).bit_length()
    if least == cause.most_bytes:
        return f" of up to {_spaced(most)}"
    first, last = _spaced(format_bytes(least)), _spaced(most)
    number_of, _, unit = first.partition(NARROW)
    return f" of {number_of if last.endswith(NARROW + unit) else first} to {last}"


def _spaced(text: str) -> str:
    digits = text.rstrip("KMGTiB ")
    return f"{digits}{NARROW}{text[len(digits) :].strip() or 'B'}"


def _each(cause: Cause) -> str:
    before, after = cause.reference_call_s, cause.contender_call_s
    if before is None or after is None:
        return ""
    factor, unit = next(
        (pair for pair in ((1.0, "s"), (1e3, "ms")) if max(before, after) * pair[0] >= 1), (1e6, "us")
    )
    return f" ({number(before * factor)} → {quantity(after * factor, unit)} each)"


def _coverage(one: Attribution) -> str:
    """Return that the profile covers another difference than that of the runs without it, if it does."""
    plain, profiled = one.elapsed_s, one.difference_s
    if plain is None or profiled is None or plain.low is None or plain.high is None or not plain.value:
        return ""
    covered = profiled.value / plain.value
    if plain.low <= profiled.value <= plain.high or _COVERED[0] <= covered <= _COVERED[1]:
        return ""
    return (
        f"; runs without the profile differ by {quantity(plain.value, 's')}, start and end included, and "
        f"those with it by {quantity(profiled.value, 's')} between MPI_Init and MPI_Finalize"
    )
