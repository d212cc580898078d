"""Studies that are extended for as long as Tare says how many more blocks would decide them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.judged_family import Terms
from tare.core.comparison import Correction, Finding
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.stats.intervals import Floats
from truth.noise import Noise, sides

STEP = 5
"""The advice, rounded up to so many blocks: fewer courses to compute."""

MOST_BLOCKS = 60
MOST_LOOKS = 5


@dataclasses.dataclass(frozen=True)
class Followed:
    """Of studies whose advice was followed, the share that ended with each claim, and their mean blocks."""

    difference: float
    equivalence: float
    blocks: float


def followed(
    noise: Noise, *, ratio: float = 1.0, margin: float, first: int = 5, n_studies: int = 2000, seed: int = 1
) -> Followed:
    """Return what becomes of studies that go on until they are decided, or at the limits above."""
    reference, contender = sides(noise, MOST_BLOCKS, n_studies, seed=seed)
    contender = contender * ratio
    looks: list[tuple[int, ...]] = [(first,)] * n_studies
    ended: dict[int, Verdict] = {}
    for _ in range(MOST_LOOKS):
        going = [study for study in range(n_studies) if study not in ended]
        for study, found in _judged(reference, contender, looks, going, margin):
            n_next = looks[study][-1] + -(-(found.more_blocks or MOST_BLOCKS) // STEP) * STEP
            if found.verdict is not Verdict.UNDECIDED or n_next > MOST_BLOCKS:
                ended[study] = found.verdict
            else:
                looks[study] = (*looks[study], n_next)
    verdicts = list(ended.values())
    return Followed(
        difference=sum(one in (Verdict.WORSE, Verdict.BETTER) for one in verdicts) / n_studies,
        equivalence=verdicts.count(Verdict.EQUIVALENT) / n_studies,
        blocks=float(np.mean([one[-1] for one in looks])),
    )


def _judged(
    reference: Floats, contender: Floats, looks: list[tuple[int, ...]], going: list[int], margin: float
) -> Iterator[tuple[int, Finding]]:
    """Yield what each study says, those with the same looks together; none is a family with another."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for study in going:
        alike.setdefault(looks[study], []).append(study)
    terms = Terms(margin=margin, correction=Correction.NONE)
    for own, studies in alike.items():
        sessions = np.repeat(np.arange(len(own)), np.diff([0, *own]))
        ends = SessionEnds(sessions, tuple(range(len(own))))
        part = reference[: own[-1], studies], contender[: own[-1], studies]
        found = judge(*part, [Better.LOWER] * len(studies), terms, ends=ends).findings()
        yield from zip(studies, found, strict=True)
