"""Select the figures of a workload that answer the question of a comparison.

The settings that differ between the two sides determine the question. For another network, it is how the
network carries messages. For another storage path, it is how long the whole run takes, including input and
output. Each figure of merit declares the kinds of question that it answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from tare.analysis.pairs import Pair
from tare.core.campaign import Campaign
from tare.core.plan import Plan
from tare.core.workload import Better, Fom, QuestionKind

_STORAGE = frozenset({"storage", "io"})
_KINDS = {
    "network": QuestionKind.NETWORK,
    "provider": QuestionKind.NETWORK,
    "transport": QuestionKind.NETWORK,
    "platform": QuestionKind.PLATFORM,
    "runtime": QuestionKind.PLATFORM,
    "image": QuestionKind.PLATFORM,
    "scheduler": QuestionKind.SCHEDULER,
    "partition": QuestionKind.SCHEDULER,
    "bind": QuestionKind.SCHEDULER,
}


def kinds_asked(differing: Collection[str], varied: Collection[str]) -> frozenset[QuestionKind]:
    """Return the kinds of question, for sides that differ in `differing` in a study that varies `varied`.

    A study that varies storage or I/O asks only for elapsed time, including input and output. Settings of no
    known kind, such as the parameters of a workload, ask for computing performance.
    """
    if _STORAGE & {*differing, *varied}:
        return frozenset({QuestionKind.STORAGE})
    found = frozenset(_KINDS[name] for name in differing if name in _KINDS)
    return found or frozenset({QuestionKind.COMPUTE})


def answering_foms(plan: Plan, pair: Pair) -> frozenset[str]:
    """Return the FOMs that answer the question of a pair; the primary ones for a kind without any.

    Sides that differ in several settings ask several kinds of question. The result is empty where the
    workload has no primary FOM either; then all of its figures answer.
    """
    differing = frozenset({*pair.reference, *pair.contender})

    def find() -> frozenset[str]:
        foms = plan.foms.get(pair.workload, ())
        primary = primary_foms(plan, pair.workload)
        asked = kinds_asked(differing, plan.varied)
        return frozenset[str]().union(*(_answering(foms, kind) or primary for kind in asked))

    return plan.memo.get((answering_foms, pair.workload, differing), find)


def _answering(foms: Iterable[Fom], kind: QuestionKind) -> frozenset[str]:
    """Return the FOMs that declare to answer a kind of question."""
    return frozenset(fom.name for fom in foms if kind in fom.answers)


def quoted_foms(plan: Plan, pair: Pair) -> frozenset[str]:
    """Return the FOMs of a pair that people quote: the primary ones, and those that answer its question."""
    return primary_foms(plan, pair.workload) | answering_foms(plan, pair)


def shown_foms(plan: Plan, workload: str) -> frozenset[str]:
    """Return the FOMs of a workload that charts show: the primary ones, and those that answer the study."""

    def find() -> frozenset[str]:
        asked = kinds_asked(plan.reference, plan.varied) if plan.reference else _storage_asked(plan)
        foms = plan.foms.get(workload, ())
        return frozenset(fom.name for fom in foms if fom.is_primary or asked & set(fom.answers))

    return plan.memo.get((shown_foms, workload), find)


def with_shown(campaign: Campaign, foms: Collection[str]) -> Campaign:
    """Return `campaign` with `foms` as the only figures that charts show; no value and no verdict changes."""
    plan = campaign.plan
    shown = {case.workload: tuple(_shown(plan, case.workload, name) for name in foms) for case in plan.cases}
    return msgspec.structs.replace(campaign, plan=msgspec.structs.replace(plan, foms=shown))


def _shown(plan: Plan, workload: str, name: str) -> Fom:
    """Return a FOM as a primary one; one that is not declared, such as a figure of telemetry, has no unit."""
    declared = (one for one in plan.foms.get(workload, ()) if one.name == name)
    found = next(declared, Fom(name=name, unit="", better=Better.HIGHER))
    return msgspec.structs.replace(found, is_primary=True, answers=())


def scaling_foms(plan: Plan, workload: str) -> frozenset[str]:
    """Return the FOMs of a workload whose scaling is analysed.

    They are the primary ones. If the study varies storage or I/O, they are those that include input and
    output.
    """
    foms = plan.foms.get(workload, ())
    answering = (_answering(foms, kind) for kind in _storage_asked(plan))
    return frozenset[str]().union(*answering) or primary_foms(plan, workload)


def _storage_asked(plan: Plan) -> frozenset[QuestionKind]:
    """Return the question of storage if the study varies storage or I/O, whatever its reference is."""
    return frozenset({QuestionKind.STORAGE} if _STORAGE & {*plan.reference, *plan.varied} else ())


def primary_foms(plan: Plan, workload: str) -> frozenset[str]:
    """Return the names of the FOMs that a summary of `workload` shows."""

    def find() -> frozenset[str]:
        return frozenset(fom.name for fom in plan.foms.get(workload, ()) if fom.is_primary)

    return plan.memo.get((primary_foms, workload), find)
