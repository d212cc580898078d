"""The texts of quality warnings: what was found, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.trust.precision import Imprecision
from tare.analysis.trust.quality import Quality, QualityWarning
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.core.counting import count
from tare.report.words.numbers import exact_percent, is_manifold, listed, number, percent, quantity, times
from tare.stats.autocorrelation import LEAST_BLOCKS
from tare.stats.modes import MIN_FOR_MODES
from tare.stats.series import MIN_SERIES
from tare.stats.warmup import MIN_FOR_WARM_UP

_LOOKED_FOR = {
    RepeatabilityWarning.DRIFT: "drift",
    RepeatabilityWarning.WARM_UP: "warm-up",
    RepeatabilityWarning.MODES: "two modes",
    RepeatabilityWarning.AUTOCORRELATION: "runs that resemble the one before",
    RepeatabilityWarning.OUTLIERS: "outliers",
}


_TAKES = f"that takes {MIN_SERIES} blocks, and no value of zero or less"


def finding(warning: QualityWarning) -> str:
    """Return what was found, as a clause about its case: ``drifts by +0.8 % a block``.

    With few blocks, a drift looks the same as a state that lasts for some blocks. The clause then says so.
    """
    if warning.case is None:
        return _shared_finding(warning)
    beside = "next to what the others do alike, " if warning.is_beside_others else ""
    return f"{beside}{_own_finding(warning)}"


def subject(warning: QualityWarning) -> str:
    """Return which cases a warning about several cases concerns: ``all cases``, ``5 of 6 cases``."""
    return "all cases" if warning.is_of_all else f"{warning.n_alike} of {count(warning.n_cases, 'case')}"


def _own_finding(warning: QualityWarning) -> str:
    if warning.may_wander:
        way, share = "rises" if warning.size > 0 else "falls", percent(abs(warning.size), is_signed=False)
        return f"{way} by {share} a block, or wanders: {count(warning.n_blocks, 'block')} cannot tell which"
    if warning.kind is RepeatabilityWarning.DRIFT:
        return f"drifts by {percent(warning.size)} a block, over {count(warning.n_blocks, 'block')}"
    if warning.kind is RepeatabilityWarning.WARM_UP:
        return (
            f"{_blocks(warning.blocks)} {_stand(warning.blocks)} apart from the rest: {percent(warning.size)}"
        )
    if warning.kind is RepeatabilityWarning.MODES:
        low, high = (quantity(level, warning.unit) for level in warning.levels)
        return f"has two modes, at {low} and {high}: {_blocks(warning.blocks)} of {warning.n_blocks} in one"
    if warning.kind is RepeatabilityWarning.AUTOCORRELATION:
        what = "its ratio to the reference" if warning.is_of_ratio else "each run"
        when = "in the block before" if warning.is_of_ratio else "before"
        return (
            f"{what} resembles the one {when}: autocorrelation {warning.size:.2f}, where noise "
            f"stays below {warning.levels[0]:.2f}"
        )
    distance = f"{'' if len(warning.blocks) == 1 else 'up to '}{percent(warning.size)}"
    return f"{_blocks(warning.blocks)} {_lie(warning.blocks)} far off: {distance} of the median"


def brief(warning: QualityWarning) -> str:
    """Return the name of a quality warning."""
    return "drift, or wandering" if warning.may_wander else str(warning.kind)


def imprecision_words(found: Imprecision) -> str:
    """Return that noise or load leaves most ratios undecided, with the numbers that show it."""
    asked = exact_percent(found.margin)
    known = _share(found.half_width, "±")
    scatter = _share(found.scatter)
    alike = " and resemble the one before" if found.has_resembling_blocks else ""
    text = (
        f"{found.n_wide} of {count(found.n_ratios, 'ratio')} undecided, known to {known} in the "
        f"median, where {asked} was asked about: ratios scatter by {scatter} from block to block{alike}, so "
        f"that ±{asked} takes about {number(found.n_needed, 2)} blocks: they were too noisy for that question"
    )
    if found.load is None or not found.is_overloaded:
        return text
    low, high = (number(one, 2) for one in found.load)
    load = low if low == high else f"{low} to {high}"
    cpus = "" if found.n_cpus is None else f", on nodes of {count(found.n_cpus, 'CPU')}"
    return f"{text}; the load average was {load} when runs started{cpus}"


def _share(value: float, sign: str = "") -> str:
    """Return a share in percent, or beyond tenfold the factor, e.g. 0.5 as ``±50 %``."""
    if is_manifold(1 + value):
        return f"a factor of {times(1 + value)}"
    return f"{sign}{percent(value, is_signed=False)}"


def cure_of_noise(found: Imprecision) -> str:
    """Return what to do if the ratios were too noisy for the study's question."""
    quiet = (
        " End what else runs there, or give ranks fewer CPUs than there are." if found.is_overloaded else ""
    )
    return f"Take more blocks, ask about larger differences (margin), or measure on a quieter machine.{quiet}"


def _shared_finding(warning: QualityWarning) -> str:
    way = "worse" if warning.size > 0 else "better"
    share = percent(abs(warning.size), is_signed=False)
    if warning.may_wander:
        blocks = count(warning.n_blocks, "block")
        return f"get {way} alike by {share} a block, or wander alike: {blocks} cannot tell which"
    if warning.kind is RepeatabilityWarning.DRIFT:
        return f"get {way} alike by {share} a block, over {count(warning.n_blocks, 'block')}"
    return f"are {way} alike in {_blocks(warning.blocks)}: by {share} next to the rest"


def cure(warning: QualityWarning, warmup: int) -> str:
    """Return what to do about a warning, in one or two sentences.

    `warmup` is the number of warm-up blocks that the study already has.
    """
    if warning.kind is RepeatabilityWarning.DRIFT and warning.is_beside_others:
        return _DRIFT_BESIDE_OTHERS
    if warning.kind is RepeatabilityWarning.DRIFT:
        if warning.case is None:
            return _DRIFT_OF_ALL if warning.is_of_all else _DRIFT_OF_MOST
        return _DRIFT
    if warning.kind is RepeatabilityWarning.WARM_UP:
        return (
            f"It looks like warm-up: write “warmup: {warmup + len(warning.blocks)}” into the study and run "
            "it again."
        )
    if warning.kind is RepeatabilityWarning.MODES:
        return _step(warning) or _MODES
    if warning.kind is RepeatabilityWarning.AUTOCORRELATION:
        return f"Such runs tell less than as many independent ones{_allowance(warning)}."
    return (
        f"{_OUTLIERS} {_FIRST}"
        if warning.blocks[0] == 1 and warning.n_blocks < MIN_FOR_WARM_UP
        else _OUTLIERS
    )


_DRIFT_OF_ALL = (
    "Ratios are paired by block, so they hold; the values themselves are of their hour. Look for what "
    "changes with time: clock frequency, temperature, other jobs, a file system that fills."
)
_DRIFT_OF_MOST = (
    "Ratios of these cases to each other are paired by block, so they hold; ratios to the other cases mix "
    "early and late. Look for what changes with time in these cases and not in the others."
)
_DRIFT_BESIDE_OTHERS = (
    "It does not change with time as the others do, so its ratios to them mix early and late, although they "
    "are paired by block. Look for what changes with time in them and not here, or here and not in them."
)
_DRIFT = (
    "Its mean mixes early and late. Look for what changes with time in this case and not in the others, "
    "such as a cache or a file system that fills."
)
_MODES = (
    "The mean lies where hardly any run does. Look at what differs between the runs of either mode, such as "
    "the placement of ranks, the route, or the clock frequency."
)
_OUTLIERS = "It counts like any other run; its evidence may say what happened."
_FIRST = f"Whether a slow first block is warm-up or chance can be told from {MIN_FOR_WARM_UP} blocks on."


def _allowance(warning: QualityWarning) -> str:
    """Return what follows from autocorrelation: intervals allow for it, or so few blocks decide nothing."""
    cure = "Take more blocks, or wait between them"
    if warning.n_blocks >= LEAST_BLOCKS:
        return f"; the interval{' of the ratio' if warning.is_of_ratio else ''} is wider for it. {cure}"
    return f", and {count(warning.n_blocks, 'block')} do not show how much less. {cure}"


def _step(warning: QualityWarning) -> str:
    """Return the cure if one mode is at the end of the series, so that something changed then; else empty."""
    first, last = warning.blocks[0], warning.blocks[-1]
    if last - first + 1 != len(warning.blocks):
        return ""
    if len(warning.blocks) < last:
        return f"Something changed with block {first}: compare the environment and evidence before and after."
    return f"Something changed after block {last}: compare the environment and evidence before and after."


def tested(quality: Quality) -> str:
    """Return which effects were tested for and which could not be, in one or more sentences."""
    looked = [kind for kind, n in quality.n_tested.items() if n]
    if not looked:
        return f"Not tested for drift, warm-up or outliers: {_TAKES}."
    n_tested = max(quality.n_tested.values())
    by_number: dict[int, list[str]] = {n_tested: []}
    for kind in looked:
        by_number.setdefault(quality.n_tested[kind], []).append(_LOOKED_FOR[kind])
    names, *fewer = (f"for {listed(kinds)}" for kinds in by_number.values())
    rest_of_kinds = "".join(f", and {n} {words}" for n, words in zip(list(by_number)[1:], fewer, strict=True))
    sentence = f"{n_tested} series of runs tested {names}{rest_of_kinds}, corrected for looking at so many."
    if rest := quality.n_figures - n_tested:
        are = "is" if rest == 1 else "are"
        sentence += f" {rest} more {are} not tested: {_TAKES}."
    return f"{sentence} {_untested(quality)}".rstrip()


def _untested(quality: Quality) -> str:
    parts = []
    if not quality.is_in_order:
        parts.append("In what order these runs were made is not known, so nothing is said of change in time.")
    if (
        quality.is_in_order
        and quality.n_tested[RepeatabilityWarning.DRIFT]
        and not quality.n_tested[RepeatabilityWarning.WARM_UP]
    ):
        parts.append(f"A warm-up cannot be told with fewer than {MIN_FOR_WARM_UP} blocks.")
    if not quality.n_tested[RepeatabilityWarning.MODES]:
        parts.append(f"Two modes cannot be told with fewer than {MIN_FOR_MODES} blocks.")
    return " ".join(parts)


def _blocks(blocks: Sequence[int]) -> str:
    if len(blocks) == 1:
        return f"block {blocks[0]}"
    if len(blocks) > 2 and blocks[-1] - blocks[0] + 1 == len(blocks):
        return f"blocks {blocks[0]} to {blocks[-1]}"
    return f"blocks {listed([str(block) for block in blocks])}"


def _stand(blocks: Sequence[int]) -> str:
    return "stands" if len(blocks) == 1 else "stand"


def _lie(blocks: Sequence[int]) -> str:
    return "lies" if len(blocks) == 1 else "lie"
