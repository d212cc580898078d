"""Make a plan from a study and a site: every case, checked and named by a hash of its content.

`make_plan` takes the study, the site and the workloads by name. It returns a `Plan`, or raises FileFaults
with every fault. It starts and opens nothing::

    plan = make_plan(study, site, workloads)
    plan.order(1)  # the cases of block 1, in their random order
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tare.core.bounds import Link
from tare.core.case import Case
from tare.core.collection import no_collection
from tare.core.errors import Fault, FileFaults
from tare.core.plan import Edition, LeftOut, Plan
from tare.core.program import all_parameters
from tare.core.site import Site
from tare.core.software import SOFTWARE_SETTINGS
from tare.core.study import Exclusion, Study
from tare.core.values import Settings
from tare.core.workload import ParameterKind, Workload, written
from tare.plan.checks import check_crossing, check_reference, check_use, site_notes
from tare.plan.combinations import all_factors
from tare.plan.content import identified, varied_settings
from tare.plan.gathering import Gathering
from tare.plan.layouts import LAYOUT_SETTINGS, lay_out
from tare.plan.profiling import profiled_plan

__all__ = ["AA_NAMES", "aa_plan", "identified", "lay_out", "make_plan", "profiled_plan", "varied_settings"]

AA_NAMES = ("a", "b")
"""The names of the two sides of an A/A study."""

_DERIVABLE = (*LAYOUT_SETTINGS, "bind")


def make_plan(
    study: Study, site: Site, workloads: Mapping[str, Workload], edition: Edition = Edition.USED
) -> Plan:
    """Return the plan of `study` at `site`: each case once, in the order of the study's factors.

    `edition` selects the rules by which cases are made; a campaign keeps the edition that it began with.
    Raises FileFaults with every distinct reason why a case is impossible, at the place in the study that
    causes it.
    """
    gathering = Gathering(study, site, workloads, edition)
    with no_collection():
        gathering.add_all()
    _raise_any(gathering.faults.values())
    if not gathering.cases:
        raise FileFaults([gathering.nothing_left()])
    plan = _plan(gathering)
    if edition is Edition.USED:
        plan = _judged(plan, gathering)
    plan = aa_plan(plan, workloads) if study.is_aa else plan
    return profiled_plan(plan, workloads) if study.is_profiled else plan


def _plan(gathering: Gathering) -> Plan:
    study, workloads = gathering.study, gathering.workloads
    cases = tuple(gathering.cases.values())
    used = sorted({case.workload for case in cases})
    networks = {case.network for case in cases}
    kinds = {name: {one.name: one.kind for one in workloads[name].parameters} for name in used}
    return Plan(
        **{**study.design(), "reference": _reference(study, cases)},
        study=study.name,
        site=gathering.site.name,
        cases=cases,
        varied=varied_settings(cases),
        foms={name: tuple(workloads[name].foms) for name in used},
        sizes=_sizes(kinds),
        links={
            name: Link(
                interface=one.interface, rate_bits_per_s=one.rate_bits_per_s, burst_bytes=one.burst_bytes
            )
            for name, one in gathering.site.networks.items()
            if name in networks
        },
        peaks=gathering.site.peaks,
        kinds=kinds,
        sending=tuple(name for name in used if workloads[name].needs_transport),
        derived={
            name: tuple(
                one
                for one in _DERIVABLE
                if one not in gathering.asked[name] or one in gathering.determined[name]
            )
            for name in used
        },
        together=_together(study),
        left_out=tuple(
            LeftOut(
                condition=one.text,
                because=one.because if isinstance(one, Exclusion) else "",
                n_cases=len(gathering.left_out[number]),
            )
            for number, one in enumerate(study.exclude)
            if number in gathering.left_out
        ),
        edition=gathering.edition,
    )


def _judged(plan: Plan, gathering: Gathering) -> Plan:
    """Return `plan` with its notes.

    Raises FileFaults where levels make no difference or no case is compared.
    """
    study = gathering.study
    _raise_any(gathering.merging.repeated(plan))
    faults, notes = gathering.merging.judge(plan)
    if not study.is_aa:
        checks = (check_reference, check_crossing, check_use)
        for wrong, remarks in (check(plan, study) for check in checks):
            faults, notes = [*faults, *wrong], [*notes, *remarks]
    _raise_any(faults)
    notes = [*notes, *_idle_exclusions(gathering), *_idle_settings(study)]
    sentences = dict.fromkeys((*map(str, notes), *site_notes(plan.cases, gathering.site)))
    return msgspec.structs.replace(plan, notes=tuple(sentences))


def _idle_exclusions(gathering: Gathering) -> Iterator[Fault]:
    """Yield a note on each exclusion that leaves nothing out, as one with a slip in a value does."""
    study = gathering.study
    for number, one in enumerate(study.exclude):
        if isinstance(one, Exclusion) and number not in gathering.left_out:
            others = " that none before it does" if number else ""
            message = f"{one.text!r} leaves out no case{others}; correct it, or remove it"
            yield study.fault(one.origin, message)


def _idle_settings(study: Study) -> Iterator[Fault]:
    """Yield a note on each setting of all cases that each level of a factor sets anew, so that none has it.

    What loads software adds up instead.
    """
    factors = all_factors(study)
    for name, value in study.common.items():
        setting = [one.name for one in factors if all(name in level.settings for level in one.levels)]
        if setting and name not in SOFTWARE_SETTINGS:
            message = f"no case has it: each level of factor {setting[0]} sets {name} anew; drop one"
            yield study.fault(study.origins.get(name), f"{written(value, None)}: {message}")


def _raise_any(faults: Iterable[Fault]) -> None:
    found = list(faults)
    if found:
        raise FileFaults(found)


def _reference(study: Study, cases: Sequence[Case]) -> Settings:
    """Return the reference with all that its cases load: software adds up over the levels that it names."""
    reference = dict(study.reference)
    if not study.named_levels:
        return reference
    named = [case for case in cases if study.named_levels.items() <= case.names.items()]
    for name in SOFTWARE_SETTINGS:
        loaded = {case.setting(name) for case in named} if name in reference else set()
        if len(loaded) == 1 and (value := loaded.pop()) is not None:
            reference[name] = value
    return reference


def _sizes(kinds: Mapping[str, Mapping[str, ParameterKind]]) -> tuple[str, ...]:
    """Return the parameters that count bytes in every workload that has them."""
    counts: dict[str, bool] = {}
    for own in kinds.values():
        for name, kind in own.items():
            counts[name] = counts.get(name, True) and kind is ParameterKind.BYTES
    return tuple(sorted(name for name, is_size in counts.items() if is_size))


def _together(study: Study) -> tuple[tuple[str, ...], ...]:
    """Return, for each factor whose levels set several settings, those settings; the workload is left out."""
    groups = (
        tuple(dict.fromkeys(name for level in factor.levels for name in level.settings))
        for factor in all_factors(study)
        if factor.name != "workload"
    )
    return tuple(group for group in groups if len(group) > 1)


def aa_plan(plan: Plan, workloads: Mapping[str, Workload]) -> Plan:
    """Return the A/A plan of `plan`: each of its reference cases twice, with nothing but the name different.

    A difference that is found between the two is therefore not a difference between platforms.
    """
    references = [case for case in plan.cases if plan.is_reference(case)] or plan.cases
    cases = tuple(
        identified(msgspec.structs.replace(case, twin=twin), workload.digest, all_parameters(workload))
        for twin in AA_NAMES
        for case in references
        for workload in (workloads[case.workload],)
    )
    return msgspec.structs.replace(
        plan,
        question=f"How often does {plan.site} show a difference where there is none?",
        cases=cases,
        varied=varied_settings(cases),
        reference={"twin": AA_NAMES[0]},
        foms={name: plan.foms[name] for name in sorted({case.workload for case in cases})},
        derived={},
        together=(),
    )
