"""Find the pairs of a contender and its reference, and the settings in which they differ."""

from __future__ import annotations

import msgspec

from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.values import Scalar, Settings


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two cases to compare.

    `reference` and `contender` are the settings in which they differ. `shared` holds the workload and the
    settings that vary in the study but not between the two.
    """

    reference_case: Case
    contender_case: Case
    reference: Settings
    contender: Settings
    shared: dict[str, Scalar]

    @property
    def workload(self) -> str:
        """Return the workload that both sides run."""
        return self.contender_case.workload


_MOST_LOOKED_AT = 100
"""The number of reference cases that are searched for the nearest."""


class Unpaired(msgspec.Struct, frozen=True, kw_only=True):
    """A case without a reference, the most similar reference case, and the settings in which they differ."""

    case: Case
    nearest: Case
    differing: tuple[str, ...]


def without_reference(plan: Plan) -> list[Unpaired]:
    """Return the cases without a reference whose workload has a reference case.

    Only cases that agree in every setting except those of the reference are compared. A run on 72 ranks, for
    example, is not compared with one on 48 ranks, even on the same number of nodes.
    """
    references: dict[str, list[tuple[Case, Settings]]] = {}
    for case in plan.cases:
        if plan.reference and plan.is_reference(case):
            near = references.setdefault(case.workload, [])
            if len(near) < _MOST_LOOKED_AT:
                near.append((case, case.settings))
    found = []
    for case in plan.cases:
        near = references.get(case.workload, [])
        if not near or plan.is_reference(case) or plan.reference_of(case) is not None:
            continue
        settings = case.settings
        differing = [_differing(known, settings, plan.reference) for _, known in near]
        at = min(range(len(near)), key=lambda one: len(differing[one]))
        found.append(Unpaired(case=case, nearest=near[at][0], differing=differing[at]))
    return found


def _differing(mine: Settings, theirs: Settings, reference: Settings) -> tuple[str, ...]:
    names = dict.fromkeys((*mine, *theirs))
    return tuple(name for name in names if name not in reference and mine.get(name) != theirs.get(name))


def pairs(campaign: Campaign, reference: Settings | None = None) -> list[Pair]:
    """Return every contender case of the plan with its reference, in the plan's order.

    `reference` replaces that of the study. Raises UsageError when no case has its settings.
    """
    plan = campaign.plan
    if reference is not None:
        plan = msgspec.structs.replace(plan, reference=reference)
        _require_reference(plan)
    return [_pair(plan, one, case) for case, one in plan.contenders() if one is not None]


def differing_settings(case: Case, other: Case) -> dict[str, Scalar]:
    """Return the settings of `case` whose value differs in `other`."""
    rest = other.settings
    return {name: value for name, value in case.settings.items() if rest.get(name) != value}


def recorded_blocks(campaign: Campaign) -> frozenset[str]:
    """Return the cases whose blocks are true passes over all cases, and not only numbers.

    Blocks of Tare's own runs are. Blocks of imported runs are if the files record them. Other imported runs
    are numbered by time or name, which does not show which runs were made together. The result is
    cached, since a campaign does not change.
    """
    return campaign.memo.get(recorded_blocks, lambda: _recorded_blocks(campaign))


def _recorded_blocks(campaign: Campaign) -> frozenset[str]:
    unrecorded = {
        one.case for one in campaign.measured() if one.source is not None and not one.source.gives_block
    }
    return frozenset(case.id for case in campaign.plan.cases) - unrecorded


def _pair(plan: Plan, one: Case, other: Case) -> Pair:
    reference, contender = one.settings, other.settings
    names = [*reference, *(name for name in contender if name not in reference)]
    differing = [name for name in names if reference.get(name) != contender.get(name)]
    return Pair(
        reference_case=one,
        contender_case=other,
        reference={name: reference[name] for name in differing if name in reference},
        contender={name: contender[name] for name in differing if name in contender},
        shared={
            name: contender[name]
            for name in dict.fromkeys(("workload", *plan.varied))
            if name in contender and name not in differing
        },
    )


def _require_reference(plan: Plan) -> None:
    """Raise UsageError with the available levels, unless some case is the reference."""
    if any(plan.is_reference(case) for case in plan.cases):
        return
    for name, value in plan.reference.items():
        levels = dict.fromkeys(
            plan.written(name, case.settings[name]) for case in plan.cases if name in case.settings
        )
        if not levels:
            varied = ", ".join(plan.varied) or "nothing"
            raise UsageError(f"reference {name}={value}: no case sets {name}; what varies is {varied}")
        if plan.written(name, value) not in levels:
            raise UsageError(f"reference {name}={value}: {name} is one of {', '.join(levels)}")
    wanted = ", ".join(f"{name}={value}" for name, value in plan.reference.items())
    raise UsageError(f"reference {wanted}: no case has all of these settings at once; see 'tare plan'")
