"""What a contender costs overall, in the few numbers that a sentence can hold."""

from __future__ import annotations

import enum
import re

import msgspec
import numpy as np

from tare.answers.aggregate import Levels, block_levels
from tare.answers.compare import common_cells, primary_foms, sides, terms_of
from tare.answers.finding import findings
from tare.answers.pairs import Pair, pairs, told_blocks
from tare.answers.table import Cell, Table, tabulate
from tare.model.campaign import Campaign
from tare.model.comparison import Correction, Finding
from tare.model.plan import Plan
from tare.model.values import Settings
from tare.model.workload import Better
from tare.stats.intervals import Floats

SMALL_MESSAGE_BYTES = 1024
"""Up to this size a message's time is latency: it travels eagerly, in a packet or so."""

LARGE_MESSAGE_BYTES = 64 * 1024
"""From this size on a message's rate is bandwidth: what the link carries outweighs the start-up."""

_LATENCY_UNITS = frozenset({"ns", "us", "µs", "usec"})
_DATA_RATE = re.compile(r"(?:[KMGT]i?)?(?:b|B|bits?|[Bb]ytes?)(?:/s|/sec|ps)", re.IGNORECASE)


class Aspect(enum.StrEnum):
    """What kind of cost a number is."""

    LATENCY = "small-message latency"
    BANDWIDTH = "bandwidth"
    TIME = "time"
    RATE = "performance"

    @property
    def better(self) -> Better:
        """Return the direction in which it improves."""
        return Better.LOWER if self in (Aspect.LATENCY, Aspect.TIME) else Better.HIGHER


class Headline(Finding, frozen=True, kw_only=True):
    """The overall ratio of one contender to its reference in one aspect, with its interval.

    It is the geometric mean over `workloads` and their scales, each workload at each scale counting
    once, whatever its number of coordinates.
    """

    aspect: Aspect
    workloads: tuple[str, ...]
    reference: Settings
    contender: Settings

    @property
    def better(self) -> Better:
        """Return the direction in which the aspect improves."""
        return self.aspect.better


class _Topic(msgspec.Struct, frozen=True):
    """One contender in one aspect: what goes into a headline, item by item, each blocks long."""

    aspect: Aspect
    reference: Settings
    contender: Settings
    workloads: list[str] = []
    cases: set[str] = set()
    below: list[Floats] = []
    above: list[Floats] = []


def headlines(
    campaign: Campaign,
    *,
    reference: Settings | None = None,
    margin: float | None = None,
    confidence: float = 0.95,
    correction: Correction = Correction.HOLM,
) -> list[Headline]:
    """Return what each contender costs in each aspect that its workloads' primary FOMs measure.

    Blocks remain the unit of evidence: each block gives one ratio, the geometric mean over
    everything that the headline speaks of, and the interval is that of the blocks; where runs are
    missing, the others of their block and of their case stand in. All headlines are one family: by default
    the chance that any of them claims something false is at most 5 %.
    """
    topics = _topics(tabulate(campaign), campaign.plan, pairs(campaign, reference))
    if not topics:
        return []
    told = told_blocks(campaign)
    is_paired = [one.cases <= told for one in topics]
    levels = [
        block_levels(np.column_stack(one.below), np.column_stack(one.above), is_paired=paired)
        for one, paired in zip(topics, is_paired, strict=True)
    ]
    found = findings(
        np.column_stack([one.reference for one in levels]),
        np.column_stack([one.contender for one in levels]),
        [one.aspect.better for one in topics],
        terms_of(campaign.plan, margin, confidence, correction),
        np.array(is_paired),
    )
    return [_headline(*row) for row in zip(topics, found, levels, strict=True)]


def _headline(topic: _Topic, found: Finding, levels: Levels) -> Headline:
    notes = [found.note]
    if levels.left_out:
        notes.append(
            f"{levels.left_out} of {len(topic.below)} cases left out: too few blocks, or zero or less"
        )
    if levels.n_missing:
        missing = f"{levels.n_missing} of {levels.n_pairs} pairs of runs are missing"
        notes.append(f"{missing}; the others of their blocks count")
    return Headline(
        aspect=topic.aspect,
        workloads=tuple(dict.fromkeys(topic.workloads)),
        reference=topic.reference,
        contender=topic.contender,
        **msgspec.structs.asdict(found) | {"note": "; ".join(filter(None, notes))},
    )


def _topics(table: Table, plan: Plan, found: list[Pair]) -> list[_Topic]:
    topics: dict[object, _Topic] = {}
    for pair in found:
        primary = primary_foms(plan, pair.workload)
        for cells in common_cells(table, pair):
            if primary and cells[0].fom not in primary:
                continue
            for aspect, chosen in _by_aspect(cells).items():
                key = (tuple(pair.contender.items()), tuple(pair.reference.items()), aspect)
                topic = topics.setdefault(key, _Topic(aspect, pair.reference, pair.contender))
                below, above, _ = sides(table, pair, chosen)
                topic.workloads.append(pair.workload)
                topic.cases.update((pair.reference_case.id, pair.contender_case.id))
                topic.below.append(below)
                topic.above.append(above)
    return list(topics.values())


def _by_aspect(cells: list[Cell]) -> dict[Aspect, list[Cell]]:
    grouped: dict[Aspect, list[Cell]] = {}
    for cell in cells:
        aspect = aspect_of(cell)
        if aspect is not None:
            grouped.setdefault(aspect, []).append(cell)
    return grouped


def aspect_of(cell: Cell) -> Aspect | None:
    """Return what a cell says of a platform, None where it says two things at once.

    The time of a 32 KiB message is part latency and part bandwidth, so it is neither.
    """
    if cell.better is None:
        return None
    size = dict(cell.at).get("bytes")
    if cell.better is Better.LOWER:
        if isinstance(size, (int, float)):
            return Aspect.LATENCY if size <= SMALL_MESSAGE_BYTES else None
        return Aspect.LATENCY if cell.unit in _LATENCY_UNITS else Aspect.TIME
    if not _DATA_RATE.fullmatch(cell.unit):
        return Aspect.RATE
    if isinstance(size, (int, float)) and size < LARGE_MESSAGE_BYTES:
        return None
    return Aspect.BANDWIDTH
