"""What sentences on scales, curves and doubts say, read from their words and held against the truth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from report.studies import part_of
from tare.core.campaign import Campaign
from tare.report.content import Content
from tare.report.sections.curves import CurveTables
from tare.report.sections.scaling import Scaling
from tare.report.sections.trust import ResultQuality
from truth.campaigns import Truth
from truth.claimed import Asked
from truth.shapes import line_of, speed, together
from truth.templates import plain, sentences
from truth.wild import TOGETHER, Wild

_N = r"(?:1/)?[\d.]+"
_ROUNDING = 1e-9
_UNITS = {"B": 1, "byte": 1, "bytes": 1, "KiB": 1024, "MiB": 1024**2}
_SIZE = re.compile(r"([\d.]+) (B|bytes?|KiB|MiB)")


def of_words(study: Wild, found: Campaign, page: Content) -> Iterator[Asked]:
    """Yield what the sentences of a page claim of scales, crossovers, saturation and doubts."""
    yield from _of_doubts(study, page)
    if study.truth.zeros:
        return
    if "pingpong" in study.truth.workloads:
        if study.truth.decimals is None:
            yield from _of_curves(study.truth, found, page)
        return
    scaling = page.part(Scaling)
    for block in scaling.blocks if scaling else ():
        if "solver" in study.truth.workloads:
            for side, text in block.sentences:
                yield from _of_scaling(study.truth, found, side.name, plain(text))


def _number(text: str) -> float:
    return 1 / float(text[2:]) if text.startswith("1/") else float(text)


def _half_digit(text: str) -> float:
    """Return half of what the last printed digit counts, as a share of the number."""
    digits = text.removeprefix("1/")
    step = 10.0 ** -len(digits.partition(".")[2])
    return step / 2 / max(float(digits), step)


def _is_outside(low: str, high: str, truth: float) -> bool:
    """Return whether a printed interval misses; what was rounded away is allowed for."""
    below, above = _number(low) * (1 - _half_digit(low)), _number(high) * (1 + _half_digit(high))
    return not below - _ROUNDING <= truth <= above + _ROUNDING


def _of_scaling(truth: Truth, found: Campaign, side: str, text: str) -> Iterator[Asked]:
    cases = {case.layout.nodes: case for case in found.plan.cases if case.network == side}
    fom = truth.workloads["solver"][0].name
    speeds = {p: speed(truth, case, fom) for p, case in cases.items()}
    growth = re.search(
        rf"× {_N} \[({_N}), ({_N})\] as fast on (\d+) nodes? as on (\d+), an efficiency of [\d.]+ % "
        r"\[([\d.]+), ([\d.]+)\]",
        text,
    )
    if growth:
        low, high, p, p_ref, least, most = growth.groups()
        gain = speeds[int(p)] / speeds[int(p_ref)]
        yield Asked("interval in words: speedup", True, _is_outside(low, high, gain), text=text)
        share = 100 * gain * int(p_ref) / int(p)
        yield Asked("interval in words: speedup", True, _is_outside(least, most, share), text=text)
    yield together([*of_remarks(speeds, text)], "scaling in words")
    peak = re.search(rf"puts the peak of throughput at [^\[]*\[({_N}), ({_N}|…)\]", text)
    if peak:
        low, high = peak.groups()
        knee = _knee(truth, found, side)
        is_low = knee < _number(low) * (1 - _half_digit(low))
        is_high = high != "…" and knee > _number(high) * (1 + _half_digit(high))
        yield Asked("interval in words: peak", True, is_low or is_high, text=f"{knee} {text}")


def of_remarks(speeds: Mapping[int, float], text: str) -> Iterator[Asked]:
    """Yield what a curve says surely of each scale."""
    first = min(speeds)
    shares = {p: speed / speeds[first] * first / p for p, speed in speeds.items() if p != first}
    for floor, start in re.findall(r"Efficiency is below ([\d.]+) % from (\d+) nodes? on", text):
        is_false = any(shares[p] >= float(floor) / 100 + _ROUNDING for p in shares if p >= int(start))
        yield Asked("", True, is_false, text=text)
    yield from _of_recovery(shares, text)
    lasting = re.search(r"(?:stays at|and at) .+? (?:to the last|up to \d+ nodes?).*?\.(?: |$)", text)
    for floor, reach, surely in re.findall(
        r"at ([\d.]+) % or more (to the last|up to \d+ nodes?)(?: \(surely up to (\d+)\))?",
        lasting[0] if lasting else "",
    ):
        reached = max(speeds) if reach == "to the last" else int(reach.split()[2])
        up_to = int(surely) if surely else reached
        is_false = any(shares[p] < float(floor) / 100 - _ROUNDING for p in shares if p <= up_to)
        yield Asked("", True, is_false, text=text)
    for before, after in re.findall(r"Scaling is negative from (\d+) to (\d+) nodes?", text):
        grows = speeds[int(after)] >= speeds[int(before)] * (1 - _ROUNDING)
        yield Asked("", True, grows, text=text)
    for told in re.findall(r"Super-linear \(efficiency above 100 %\) at (.+?)\.(?: |$)", text):
        for doubt, p in re.findall(r"(seemingly )?(\d+) nodes?, ", told):
            yield Asked("", not doubt, not doubt and shares[int(p)] <= 1 + _ROUNDING, text=text)
    yield Asked("", False, False)


def _of_recovery(shares: Mapping[int, float], text: str) -> Iterator[Asked]:
    """Yield what a curve says of an efficiency that falls below a floor and reaches it again."""
    below = r"Efficiency is below ([\d.]+) % at (\d+) nodes? but not at ([^.;]+?) nodes?"
    for floor, start, rest in re.findall(below, text):
        reached = {int(p) for p in re.findall(r"\d+", rest)}
        least = float(floor) / 100 + _ROUNDING
        is_false = any(share >= least for p, share in shares.items() if p >= int(start) and p not in reached)
        yield Asked("", True, is_false, text=text)


def _knee(truth: Truth, found: Campaign, side: str) -> float:
    """Return the scale at which the law that made the times has its peak; infinite where it has none."""
    case = next(case for case in found.plan.cases if case.network == side)
    fom = truth.workloads["solver"][0].name
    at = {p: truth.slowing({**case.settings, "nodes": p}, fom) * p - 1 for p in (2, 4)}
    kappa = (at[4] - 3 * at[2]) / 6  # 1 + σ(p − 1) + κ p(p − 1) at two scales
    sigma = at[2] - 2 * kappa
    return math.sqrt((1 - sigma) / kappa) if kappa > _ROUNDING else math.inf


def _of_curves(truth: Truth, found: Campaign, page: Content) -> Iterator[Asked]:
    cases = {str(case.network): case for case in found.plan.cases}
    lines = {side: line_of(truth, case, "latency") for side, case in cases.items()}
    starts = lines["b"][0] - lines["a"][0]
    shares = 1 / lines["a"][1] - 1 / lines["b"][1]
    at = starts / shares if shares else math.inf
    crosses = starts * shares > 0
    curves = page.part(CurveTables)
    for row in curves.crossovers if curves else ():
        text = plain(row.text)
        sure = re.match(r"(\w+) is better below ([^,]+), (\w+) above \(measured at", text)
        if sure is None:
            continue
        is_so = crosses and sure[1] == ("a" if starts > 0 else "b")
        yield Asked("crossover in words", True, not is_so, not crosses or not 1 < at < 1048576, text)
        ends = _SIZE.findall(sure[2].partition("[")[2])
        if is_so and len(ends) == 2:
            yield Asked("interval in words: crossover", True, _is_beyond(ends, at), text=f"{at} {text}")
    yield Asked("crossover in words", False, False, not crosses)
    for saturation in curves.saturations if curves else ():
        if saturation.fom == "bandwidth" and saturation.variant is not None:
            yield from of_saturation(lines[saturation.variant.name], plain(saturation.reached))


def _is_beyond(ends: list[tuple[str, str]], truth: float) -> bool:
    sizes = [float(number) * _UNITS[unit] for number, unit in ends]
    rounded = [_half_digit(number) for number, _ in ends]
    return not sizes[0] * (1 - rounded[0]) <= truth <= sizes[1] * (1 + rounded[1])


def of_saturation(line: tuple[float, float], text: str) -> Iterator[Asked]:
    """Yield whether a size that is said to be surely near the best is: m/(t₀ + m/r) over that of 1 MiB."""

    def share(size: float) -> float:
        rate, best = (one / (line[0] + one / line[1]) for one in (size, 1048576.0))
        return rate / best

    sure = re.search(r"surely from ([\d.]+ \w+)", text) or re.search(r"from ([\d.]+ \w+): .*, surely$", text)
    if sure and (size := _SIZE.match(sure[1])):
        reached = share(float(size[1]) * _UNITS[size[2]])
        yield Asked("saturation in words", True, reached < 0.95 - _ROUNDING, text=f"{reached} {text}")
    else:
        yield Asked("saturation in words", False, False)
    alone = re.fullmatch(r"(?:not below|at) ([\d.]+ \w+), the (?:last that was measured|best)", text)
    if alone and (size := _SIZE.match(alone[1])):
        before = float(size[1]) * _UNITS[size[2]] / 4
        is_false = share(before) >= 0.95 + _ROUNDING
        yield Asked("saturation in words: not before", True, is_false, text=f"{share(before)} {text}")


_OF_TIME = re.compile(r"drifts by|a block, or wander|get (?:worse|better) alike by .* a block")
_WARM_UP = re.compile(r"stands? apart from the rest|are (?:worse|better) alike in block")


def _of_doubts(study: Wild, page: Content) -> Iterator[Asked]:
    """Yield what is said of change in time: false where nothing moves, and a drift where it only wanders."""
    truth = study.truth
    told = [
        plain(sentence)
        for row in part_of(page, ResultQuality).warnings.rows
        for sentence in sentences(row.finding)
    ]
    leads = truth.drift or truth.step or truth.late_slower != 1 or truth.late
    if truth.blocks < 5 or leads:
        return
    of_time = [one for one in told if _OF_TIME.search(one)]
    false = [one for one in of_time if truth.together is None or "wander" not in one]
    family = (
        "doubts in words: drift of what wanders" if truth.together is TOGETHER else "doubts in words: drift"
    )
    yield Asked(family, bool(of_time), bool(false), text=" | ".join(false))
    if truth.together is not None:
        return
    warm = [one for one in told if _WARM_UP.search(one)]
    yield Asked("doubts in words: warm-up", bool(warm), bool(warm), text=" | ".join(warm))
    alike = [one for one in told if "resembles the one" in one]
    yield Asked("doubts in words: autocorrelation", bool(alike), bool(alike), text=" | ".join(alike))
