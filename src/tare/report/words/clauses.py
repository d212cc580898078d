"""The clauses of an answer: which figures have which verdict, and where, as values and as text.

Each clause is made of headlines with one verdict. It names their figures, workloads and configurations, and
claims nothing more. A clause on several headlines gives the range over them. It never averages figures of
different kinds or workloads.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from tare.analysis.aspects import LARGE_MESSAGE_BYTES, SMALL_MESSAGE_BYTES, Sizes
from tare.analysis.verdicts.headline import Headline
from tare.analysis.verdicts.row_notes import NOT_MEASURED, WITHHELD_BY_MEAN_COST, is_without_ratio
from tare.core.counting import count
from tare.core.units import format_bytes, seconds_in
from tare.core.verdict import Claim, Verdict
from tare.core.workload import Better
from tare.report.variants import Variants
from tare.report.words.changes import bounds_of, change, factor, multiple, shares
from tare.report.words.mean_cost import cost_distance, cost_words, mean_words
from tare.report.words.numbers import NARROW, coordinate, is_manifold, listed, percent, visible, words

_MOST_NAMED = 4
"""The most figures of a verdict that have a clause each; if there are more, those of one kind share one."""

_MOST_CONFIGURATIONS = 4
_MOST_BESIDE = 3
"""The most elapsed times that are named although they do not answer the question, because they got worse."""


@dataclasses.dataclass(frozen=True)
class Clause:
    """The text on headlines of one verdict: figures with their changes, and where they were measured.

    The verdict of all figures within the margin is *equivalent* here, even if that word must not be used for
    them. `is_range` is true if the text gives a range over several headlines.
    """

    verdict: Verdict
    headlines: tuple[Headline, ...]
    text: str
    where: str
    is_range: bool = False


def effects(headlines: Sequence[Headline], variants: Variants) -> list[Clause]:
    """Return clauses on what got worse or better.

    The figures that answer the question come first, then the elapsed times with the largest increases.
    """
    decided = [one for one in headlines if one.verdict.claim is Claim.DIFFERENCE]
    answering = [one for one in decided if one.is_answer]
    beside = sorted((one for one in decided if not one.is_answer), key=lambda one: -_ratio(one))
    rates: dict[str, list[Headline]] = {}
    for one in answering:
        rates.setdefault(one.workload, []).append(one)
    beside = [one for one in beside if not _is_shown_as_rate(one, rates.get(one.workload, ()))]
    found = _fewer(_clauses(answering, variants), variants)
    found += [_clause((one,), variants) for one in beside[:_MOST_BESIDE]]
    if rest := tuple(beside[_MOST_BESIDE:]):
        text = f"{count(len(rest), 'more elapsed time')} ({_ends(rest)})"
        found.append(Clause(Verdict.WORSE, rest, text, where_words(rest, variants), is_range=True))
    return found


def equivalents(headlines: Sequence[Headline], variants: Variants) -> list[Clause]:
    """Return clauses on the figures that do not differ by more than the margin, with their changes."""
    same = [one for one in headlines if one.is_within]
    return _fewer(_clauses(same, variants), variants)


def undecided(headlines: Sequence[Headline], variants: Variants) -> list[Clause]:
    """Return clauses on the undecided figures, with their changes."""
    open_ones = [one for one in headlines if one.verdict is Verdict.UNDECIDED and not one.is_within]
    return _fewer(_clauses(open_ones, variants), variants)


def figure_words(one: Headline) -> str:
    """Return the name of a headline's figure: ``imb.pingpong’s latency up to 1 KiB``."""
    return f"{visible(one.workload)}’s {_kind_words(one)}"


@functools.cache
def size_words(sizes: Sizes) -> str:
    """Return the range of message sizes, such as ``up to 1 KiB``; empty for all sizes."""
    small, large = (
        format_bytes(size).replace(" ", NARROW) for size in (SMALL_MESSAGE_BYTES, LARGE_MESSAGE_BYTES)
    )
    return {Sizes.ALL: "", Sizes.SMALL: f"up to {small}", Sizes.LARGE: f"from {large}"}[sizes]


def _kind_words(one: Headline) -> str:
    at = _label_words(one)
    return " ".join(filter(None, (words(one.fom), f"({at})" if at else "", size_words(one.sizes))))


def _label_words(one: Headline) -> str:
    """Return the labels of a figure, such as ``operation write``; most figures have none."""
    return ", ".join(coordinate(name, value) for name, value in one.at.items())


def where_words(headlines: Sequence[Headline], variants: Variants) -> str:
    """Return where headlines were measured: ``at 2 and 4 nodes``, ``at 4 nodes (io heavy)``."""
    cases = dict.fromkeys(contender for one in headlines for _, contender in one.cases)
    nodes: dict[str, list[int | None]] = {}
    for case in cases:
        configuration = variants.configuration_of[case]
        parameters = configuration.title.removeprefix(configuration.workload).strip(" ·").replace(" · ", ", ")
        known = nodes.setdefault(parameters, [])
        known += [] if configuration.nodes in known else [configuration.nodes]
    alike: dict[tuple[int | None, ...], list[str]] = {}
    for parameters, known in nodes.items():
        alike.setdefault(tuple(known), []).append(parameters)
    if sum(max(len(known), len(names)) for known, names in alike.items()) > _MOST_CONFIGURATIONS:
        return f"in {count(len(cases), 'case')}"
    return f"at {listed([_at(names, known) for known, names in alike.items()])}"


def _at(parameters: Sequence[str], nodes: Sequence[int | None]) -> str:
    numbers = [str(n) if n else "an unknown number of" for n in nodes]
    text = f"{listed(numbers)} {'node' if list(nodes) == [1] else 'nodes'}"
    named = "; ".join(filter(None, parameters))
    return f"{text} ({named})" if named else text


def listed_by_place(clauses: Sequence[Clause]) -> str:
    """Return clauses as prose, grouped by configuration: ``a (…) and b (…) at 2 nodes, and in c …``."""
    by_where: dict[str, list[str]] = {}
    for one in clauses:
        by_where.setdefault(one.where, []).append(one.text)
    parts = [f"{listed(texts)} {where}".rstrip() for where, texts in by_where.items()]
    if len(parts) == 1:
        return parts[0]
    return f"{', in '.join(parts[:-1])}, and in {parts[-1]}"


def _clauses(headlines: Sequence[Headline], variants: Variants) -> list[Clause]:
    """Return one clause per headline; if there are many, one per kind of figure and direction of change."""
    if len(headlines) <= _MOST_NAMED:
        return [_clause((one,), variants) for one in headlines]
    kinds: dict[object, list[Headline]] = {}
    for one in headlines:
        is_up = one.verdict.claim is Claim.DIFFERENCE and _ratio(one) > 1
        has = (one.ratio is not None, one.low is not None)
        kinds.setdefault((_kind_words(one), one.unit, one.verdict, one.is_within, is_up, has), []).append(one)
    return [_clause(group, variants) for group in kinds.values()]


def _clause(group: Sequence[Headline], variants: Variants) -> Clause:
    """Return the clause on one headline, or on several of one kind and verdict."""
    text = _range(group) if len(group) > 1 else _figure_and_change(group[0])
    verdict = Verdict.EQUIVALENT if group[0].is_within else group[0].verdict
    return Clause(verdict, tuple(group), text, where_words(group, variants), is_range=len(group) > 1)


def _fewer(clauses: Sequence[Clause], variants: Variants) -> list[Clause]:
    """Return the clauses of each verdict with the largest changes, and one clause that counts the others."""
    found = list(clauses)
    for verdict in dict.fromkeys(one.verdict for one in clauses):
        mine = sorted((one for one in clauses if one.verdict is verdict), key=_farness, reverse=True)
        if len(mine) > _MOST_NAMED + 1:
            rest = mine[_MOST_NAMED:]
            heads = tuple(head for one in rest for head in one.headlines)
            found = [one for one in found if one not in rest]
            found.append(Clause(verdict, heads, _more(heads), where_words(heads, variants), is_range=True))
    return found


def _ratio(one: Headline) -> float:
    return 1.0 if one.ratio is None else one.ratio


def _farness(clause: Clause) -> float:
    return max((one.distance for one in clause.headlines), default=0.0)


def _more(heads: Sequence[Headline]) -> str:
    text = count(len({(one.workload, _kind_words(one)) for one in heads}), "more figure")
    reach = "" if any(map(is_without_ratio, heads)) else _ends(heads)
    return f"{text} ({reach})" if reach else text


def _is_shown_as_rate(one: Headline, answering: Sequence[Headline]) -> bool:
    """Return whether a rate of its workload shows an elapsed time, too: ``HPL_Tflops`` and ``HPL_time``.

    It does if both are of the same cases and have changed by the same factor.
    """
    stem, _, last = one.fom.rpartition("_")
    return (
        bool(stem)
        and last == "time"
        and any(
            other.verdict is one.verdict
            and other.better is not one.better
            and other.fom.rpartition("_")[0] == stem
            and other.cases == one.cases
            and _is_inverse(one, other)
            for other in answering
        )
    )


def _is_inverse(time: Headline, rate: Headline) -> bool:
    """Return whether a time grew as much as its rate fell, within their intervals."""
    if time.low is None or time.high is None or not rate.low or not rate.high:
        return False
    return time.low * _SLACK >= 1 / rate.high and time.high <= _SLACK / rate.low


_SLACK = 1.01
"""The factor by which the changes of a time and its rate may differ beyond their intervals."""


def _figure_and_change(one: Headline) -> str:
    """Return ``wrf’s step time (+0.3 % [−0.2, 0.8])``, ``ior’s rate (operation read: 44 % lower …)``."""
    name = " ".join(filter(None, (f"{visible(one.workload)}’s", words(one.fom), size_words(one.sizes))))
    label = _label_words(one)
    return f"{name} ({label}{': ' if label else ''}{_change_words(one)})"


def _change_words(one: Headline) -> str:
    changed = change(one)
    if changed is None:
        return visible(one.note) or NOT_MEASURED
    if one.low is None:
        return f"{changed.number} in {count(one.n_blocks, 'block')}, no interval"
    is_decided = one.verdict.claim is Claim.DIFFERENCE
    number = _direction_and_number(one) if is_decided else str(changed)
    return ", ".join(filter(None, (f"{number}{_spread(one)}", _cost_text(one))))


def _direction_and_number(one: Headline) -> str:
    """Return ``44 % longer [41, 47]``, ``22 % lower [19, 25]``, ``multiplied by 161 [155, 167]``."""
    ratio = _ratio(one)
    if is_manifold(ratio):
        return multiple(ratio, one.low, one.high)
    bounds = bounds_of(one)
    ends = None if bounds is None else (min(map(abs, bounds)), max(map(abs, bounds)))
    changed = shares(abs(ratio - 1), ends, is_signed=False)
    return " ".join(filter(None, (changed.number, _direction(one), changed.interval)))


def _range(group: Sequence[Headline]) -> str:
    """Return ``latency up to 1 KiB of 5 workloads (+20 % to +68 %)``."""
    notes = {one.note for one in group}
    lacks = visible(notes.pop()) if len(notes) == 1 else ""  # the note that all of them share
    if not lacks and all(map(is_without_ratio, group)):
        lacks = "no ratio"
    ends = _ends(group) or lacks or NOT_MEASURED
    return f"{_whose(group)} ({ends}{_largest_cost_text(group)})"


def _cost_text(one: Headline) -> str:
    """Return the change of the mean cost if it differs from the ratio's, and is more than noise.

    For an undecided figure it is returned only if its own interval excludes no change, or if it is the reason
    for having no verdict.
    """
    cost = one.mean_cost
    if cost is None or (one.verdict is Verdict.UNDECIDED and not _is_sure(one)):
        return ""
    if cost.is_notable and is_manifold(cost.ratio) and one.verdict.claim is Claim.DIFFERENCE:
        text = f"in {mean_words(cost, one.unit)} {multiple(cost.ratio, cost.low, cost.high)}"
    else:
        text = cost_words(one, one.unit)
    is_of_one = len(one.rows) > 1 and any(row.mean_cost is cost for row in one.rows)
    return f"{text} in one case" if text and is_of_one else text


def _is_sure(one: Headline) -> bool:
    cost = one.mean_cost
    if cost is None or cost.low is None or cost.high is None:
        return False
    return cost.low > 1 or cost.high < 1 or WITHHELD_BY_MEAN_COST in one.note


def _largest_cost_text(group: Sequence[Headline]) -> str:
    """Return the change of the mean cost that differs most from its ratio; usually empty."""
    notable = [one for one in group if _cost_text(one)]
    if not notable:
        return ""
    return f", once {_cost_text(max(notable, key=cost_distance))}"


def _whose(group: Sequence[Headline]) -> str:
    workloads = list(dict.fromkeys(one.workload for one in group))
    whose = visible(workloads[0]) if len(workloads) == 1 else f"{len(workloads)} workloads"
    return f"{_kind_words(group[0])} of {whose}"


def _spread(one: Headline) -> str:
    """Return that a number is a mean over cases, with the range over them; empty for a single case."""
    if len(one.cases) < 2 or one.least is None or one.most is None:
        return ""
    ends = [_change_text(end) for end in (one.least, one.most)]
    if ends[0] == ends[1] or one.is_within:  # "within the margin" already says how near all are
        return " on average"
    return f" on average, {ends[0]} to {ends[1]}"


def _ends(group: Sequence[Headline]) -> str:
    ratios = [end for one in group for end in (one.least, one.most) if end is not None]
    ends = dict.fromkeys((_change_text(min(ratios)), _change_text(max(ratios)))) if ratios else ()
    return " to ".join(ends)


def _change_text(ratio: float) -> str:
    return factor(ratio, None, None).number if is_manifold(ratio) else percent(ratio - 1)


def _direction(one: Headline) -> str:
    is_more = _ratio(one) > 1
    is_time = one.better is Better.LOWER and "time" in one.fom and seconds_in(one.unit) is not None
    if one.is_elapsed or is_time:
        return "longer" if is_more else "shorter"
    return "higher" if is_more else "lower"
