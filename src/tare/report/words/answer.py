"""Write the answer to a study's question as sentences, one answer per contender.

The sentences are short enough to repeat, and have the numbers and intervals with which to check them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from tare.analysis.aspects import Sizes
from tare.analysis.verdicts.families import FamilyKind
from tare.analysis.verdicts.headline import Headline
from tare.analysis.verdicts.row_notes import NOT_MEASURED, is_without_ratio, least_blocks
from tare.core.comparison import Comparison, Finding
from tare.core.counting import count, every
from tare.core.verdict import Claim, Verdict, differences
from tare.report.variants import Variant, Variants
from tare.report.words.assumed import assumed_words
from tare.report.words.changes import change, from_to, labelled
from tare.report.words.clauses import (
    Clause,
    effects,
    equivalents,
    figure_words,
    listed_by_place,
    undecided,
    where_words,
)
from tare.report.words.further import figure_key, further_words
from tare.report.words.mean_cost import averaged_words, misasked_words, miss_words, progress_words
from tare.report.words.numbers import NARROW, exact_percent, listed, percent, visible
from tare.report.words.settling import settles


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer for one contender.

    `text` is the answer without its subject. `beside` says what would settle undecided comparisons, and what
    the numbers leave out. `cases` are the ids of the cases that the answer is based on. `clauses` are the
    values of which the text is made. `parts` are the pieces between its semicolons: the words of a verdict,
    which may be empty, and the text after them.
    """

    variant: Variant
    text: str
    beside: str
    cases: tuple[str, ...]
    clauses: tuple[Clause, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def has_difference(self) -> bool:
        """Return whether a figure is worse or better."""
        return any(one.verdict.claim is Claim.DIFFERENCE for one in self.clauses)

    @property
    def sentence(self) -> str:
        """Return the answer with its subject: ``overlay is worse than host in imb’s latency (68 % …``."""
        return f"{self.variant.name} {self.text}"


def answer_all(
    headlines: Sequence[Headline],
    overview: Sequence[Comparison],
    variants: Variants,
    margin: float,
    figures: Sequence[Comparison] = (),
) -> list[Answer]:
    """Return an answer for each contender in the `overview`, in the plan's order.

    `figures` are all comparisons. Those without a headline are counted in `Answer.beside`.
    """
    variant_of = {_differences(one): variants.variant_of[one.contender_case] for one in overview}
    rows, others = (_by_variant(found, variants) for found in (overview, figures))
    mine: dict[Variant | None, list[Headline]] = {}
    for one in headlines:
        mine.setdefault(variant_of.get(_differences(one)), []).append(one)
    return [
        answer(variant, variants, mine.get(variant, ()), rows[variant], margin, others.get(variant, ()))
        for variant in variants.contenders
        if variant in rows
    ]


def _by_variant(found: Iterable[Comparison], variants: Variants) -> dict[Variant, list[Comparison]]:
    """Return comparisons by their contender's variant."""
    rows: dict[Variant, list[Comparison]] = {}
    for one in found:
        rows.setdefault(variants.variant_of[one.contender_case], []).append(one)
    return rows


def answer(
    variant: Variant,
    variants: Variants,
    headlines: Sequence[Headline],
    overview: Sequence[Comparison],
    margin: float,
    figures: Sequence[Comparison] = (),
) -> Answer:
    """Return the answer for one contender, from its `headlines` and its rows of the `overview`.

    Only figures within the margin are called equivalent, and only if no elapsed time of this contender got
    worse. Undecided figures are called undecided.
    """
    reference = variants.reference.name if variants.reference else "the reference"
    if not headlines and any(one.ratio is not None for one in overview):
        text = "has no figure that says which way is better, so nothing is claimed of it."
        return Answer(variant, text, "", tuple(one.contender_case for one in overview))
    if not headlines and any(one.is_uncrossed for one in overview):
        return Answer(variant, f"is not compared with {reference}: {_ONE_NODE}", "", ())
    if all(one.ratio is None and not is_without_ratio(one) for one in headlines):
        if any(one.is_apart for one in headlines):
            return Answer(variant, f"was not measured together with {reference}: {_NEVER}", "", ())
        if any(one.ratio is not None for one in overview):
            why = _only_reason(headlines) or "the tables have each case"
            text = f"has no average beside {reference}: {why}."
            return Answer(variant, text, "", tuple(one.contender_case for one in overview))
        return Answer(
            variant, f"has not been measured beside {reference}{_why_unmeasured(headlines)}.", "", ()
        )
    changed, same, rest = (find(headlines, variants) for find in (effects, equivalents, undecided))
    parts = _parts(changed, same, rest, reference, margin)
    text = "; ".join(" ".join(filter(None, part)) for part in parts)
    remarks = (
        settles(_rows(headlines)),
        *_notes(headlines, variants),
        *_readings(headlines),
        *_over_all_sizes(headlines, figures),
        _one_node(headlines, overview, variants),
        more_figures(headlines, figures),
    )
    beside = " ".join(filter(None, remarks))
    cases = dict.fromkeys(case for one in overview for case in (one.reference_case, one.contender_case))
    return Answer(variant, text, beside, tuple(cases), (*changed, *same, *rest), parts)


def _rows(headlines: Sequence[Headline]) -> list[Finding]:
    """Return the results of the single pairs of which headlines speak."""
    return [row for one in headlines for row in one.rows or (one,)]


def more_figures(headlines: Sequence[Headline], figures: Sequence[Comparison]) -> str:
    """Return how many figures have no headline, and which of them got worse or better."""
    shown = {(one.workload, one.fom, *one.at.items()) for one in headlines}
    return further_words(figures, shown, ("that does not answer this", "that do not answer this"))


def _over_all_sizes(headlines: Sequence[Headline], figures: Sequence[Comparison]) -> list[str]:
    """Return a sentence on each figure that differs over all sizes as no sentence on some of them states."""
    rows: dict[object, list[Comparison]] = {}
    for row in figures:
        if row.verdict.claim is Claim.DIFFERENCE and row.over == ("bytes",):
            rows.setdefault(figure_key(row), []).append(row)
    told: dict[str, dict[Verdict, None]] = {}
    for one in headlines:
        told.setdefault(one.workload, {})[one.verdict] = None
    found = []
    for one in {(one.workload, one.fom, *one.at.items()): one for one in headlines}.values():
        whole = rows.get((one.workload, one.fom, *one.at.items()), [])
        new = [row for row in whole if one.sizes is not Sizes.ALL and row.verdict not in told[one.workload]]
        if new:
            worst = max(new, key=lambda row: row.distance)
            found.append(
                f"Over all sizes {visible(one.workload)}’s {labelled(one.fom, one.at)} is {worst.verdict}: "
                f"{change(worst)}{'' if len(new) == 1 else ', at most'}."
            )
    return found


_ONE_NODE = "all ranks were on one node, and nothing that they send each other crosses a network."

_NEVER = "no block of any session has runs of both, so nothing is said of what tells them apart."


def _why_unmeasured(headlines: Sequence[Headline]) -> str:
    """Return why no figure was measured on both sides; `` yet`` if runs are still to come."""
    if any("has not been run" in one.note for one in headlines):
        return " yet"
    reason = _only_reason(headlines)
    return f": {reason}" if reason else ": no figure was measured on both sides"


def _only_reason(headlines: Sequence[Headline]) -> str:
    """Return the reason that all figures share why they have no number; empty if there is none."""
    reasons = {one.note.removeprefix(NOT_MEASURED).removeprefix(": ") for one in headlines}
    return visible(reasons.pop()) if len(reasons) == 1 else ""


def _notes(headlines: Sequence[Headline], variants: Variants) -> list[str]:
    """Return what the numbers leave out; figures with the same note share a sentence.

    A sentence names configurations only if the note does not apply to all configurations of a figure.
    """
    names = [figure_words(one) for one in headlines]
    notes_of: dict[str, set[str]] = {}
    for name, one in zip(names, headlines, strict=True):
        notes_of.setdefault(name, set()).add(one.note)
    noted: dict[str, dict[str, None]] = {}
    for name, one in zip(names, headlines, strict=True):
        if one.note and (one.low is not None or _is_long_enough(one)):
            where = f" {where_words((one,), variants)}" if len(notes_of[name]) > 1 else ""
            noted.setdefault(one.note, {})[f"{name}{where}"] = None
    return [f"On {listed(list(figures))}: {note}." for note, figures in noted.items()]


def _is_long_enough(one: Headline) -> bool:
    """Return whether a ratio lacks an interval for another reason than too few blocks."""
    return one.ratio is not None and one.n_blocks >= least_blocks(one.mean)


def _readings(headlines: Sequence[Headline]) -> list[str]:
    """Return what results within the margin may have missed, and whether results are preliminary."""
    found = []
    missed = [one for one in headlines if miss_words(one)]
    if missed:
        fewest = min(missed, key=lambda one: one.n_blocks)
        what = "Within the margin" if any(one.withheld_by for one in missed) else "Equivalent"
        n = count(fewest.n_blocks, "block" if fewest.is_paired else "run")
        found.append(f"{what} from {n}: {miss_words(fewest)}.")
    early = [one for one in headlines if one.planned_blocks is not None]
    if early:
        found.append(f"{progress_words(min(early, key=lambda one: one.n_blocks)).capitalize()}.")
    return found


def reading(headlines: Sequence[Headline], margin: float) -> str:
    """Return how to read the numbers of the sentences: what they average, and how certain they are."""
    measured = [one for one in headlines if one.ratio is not None]
    if not measured:
        return ""
    parts = [_bracket_words(measured)]
    parts.append(
        "Each number is of one figure of one workload: of the message sizes that it names, or of all."
    )
    if any(len(one.cases) > 1 for one in headlines):
        parts.append("Scales are averaged only where each has the same verdict.")
    parts.append(f"Equivalent: the whole interval lies within {_within(margin)}{from_to(margin)}.")
    mean = headlines[0].mean
    parts += filter(None, (averaged_words(mean), misasked_words(mean, [one.better for one in headlines])))
    parts += filter(None, [assumed_words(_rows(measured), "All of it")])
    parts += filter(None, [_together_words(headlines)])
    return " ".join(parts)


def _together_words(headlines: Sequence[Headline]) -> str:
    """Return which comparisons are judged together, so that claims of them allow for each other."""
    sizes: dict[FamilyKind, int] = {}
    for one in headlines:
        sizes[one.judged_with] = max(sizes.get(one.judged_with, 1), one.family)
    if max(sizes.values()) < 2:
        return ""
    if len(sizes) == 1:
        return f"What is claimed allows for {every(*sizes.values())} being asked at once."
    groups = [f"{every(n) if n > 1 else 'one'} of {kind.value}" for kind, n in sizes.items()]
    return (
        f"What is claimed allows for {listed(groups)} being asked at once, "
        "but not for these groups being asked together."
    )


def _bracket_words(measured: Sequence[Headline]) -> str:
    """Return what the intervals are and from how many blocks, or that there are no intervals."""
    blocks = sorted({one.n_blocks for one in measured if one.low is not None})
    if not blocks and any(map(_is_long_enough, measured)):
        return "No number has an interval."
    if not blocks:
        return "No number has an interval: too few blocks have values of both sides."
    n = f"{blocks[0]}" if len(blocks) == 1 else f"{blocks[0]} to {blocks[-1]}"
    intervals = f"In brackets: {percent(measured[0].confidence, is_signed=False, decimals=0)} intervals"
    if not any(one.is_paired for one in measured):
        return f"{intervals} from n = {n} runs a side at the least, unpaired."
    what = "paired block" if all(one.is_paired for one in measured) else "block"
    return f"{intervals} from n = {n} {what}s."


def _differences(one: Headline | Comparison) -> tuple[frozenset[object], frozenset[object]]:
    """Return the settings in which the two sides of `one` differ, as a key."""
    return frozenset(one.contender.items()), frozenset(one.reference.items())


def _parts(
    changed: Sequence[Clause], same: Sequence[Clause], rest: Sequence[Clause], reference: str, margin: float
) -> tuple[tuple[str, str], ...]:
    """Return the parts on worse, better, equal and undecided figures; a shared place is named only once."""
    leads = [
        *_difference_clauses(changed, reference),
        (_same(changed, same, reference, margin), same),
        ("is undecided in", rest),
    ]
    leads = [(lead, clauses) for lead, clauses in leads if clauses]
    wheres = {one.where for _, clauses in leads for one in clauses}
    is_shared = len(leads) > 1 and len(wheres) == 1 and not next(iter(wheres)).startswith("in ")
    parts = [
        (lead, listed([one.text for one in clauses]) if is_shared else listed_by_place(clauses))
        for lead, clauses in leads
    ]
    if is_shared:
        parts.append(("", f"all {wheres.pop()}"))
    lead, last = parts[-1]
    return (*parts[:-1], (lead, f"{last}."))


def _difference_clauses(changed: Sequence[Clause], reference: str) -> Iterator[tuple[str, Sequence[Clause]]]:
    """Yield the clauses of each kind of difference with their lead; the first lead names the reference."""
    is_named = False
    for verdict in differences():
        if clauses := [one for one in changed if one.verdict is verdict]:
            yield f"{verdict.value} in" if is_named else f"is {verdict.against} {reference} in", clauses
            is_named = True


def _same(changed: Sequence[Clause], same: Sequence[Clause], reference: str, margin: float) -> str:
    is_withheld = any(one.withheld_by for clause in same for one in clause.headlines) or any(
        one.is_elapsed and one.verdict is Verdict.WORSE for clause in changed for one in clause.headlines
    )
    if is_withheld:
        return f"is within {_within(margin)} of {reference} in"
    return f"is equivalent to {reference}, within {_within(margin)}, in"


def _one_node(headlines: Sequence[Headline], overview: Sequence[Comparison], variants: Variants) -> str:
    """Return a remark on networks at one node; empty if there is no such case.

    If a campaign does not tell which workloads send messages, they are compared nevertheless.
    """
    if any(one.is_uncrossed for one in overview):
        return "At 1 node nothing crosses the network, so the networks are not compared there."
    compared = [one for one in headlines if {*one.reference, *one.contender} == {"network"}]
    if any(variants.configuration_of[case].nodes == 1 for one in compared for _, case in one.cases):
        return "At 1 node nothing crosses the network: what differs there is not what the network carries."
    return ""


def _within(margin: float) -> str:
    return f"±{NARROW}{exact_percent(margin)}"
