"""Check a plan as a whole: its reference, the networks that it varies, and what its site offers. Pure.

A check returns faults, for which there is no plan, and notes, which a user should know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import Fault
from tare.core.plan import Plan
from tare.core.program import PROGRAM_SETTINGS
from tare.core.site import Site
from tare.core.software import SOFTWARE_SETTINGS
from tare.core.study import Study
from tare.core.templates import TOKEN
from tare.core.workload import InlineDefinition
from tare.plan.combinations import all_factors
from tare.plan.layouts import fits

_MOST_NAMED, _MOST_LEVELS = 3, 12
_ANY_MPI = "srun"
"""The launcher that starts the ranks of any MPI, and so does not read the options of a certain MPI."""


def check_reference(plan: Plan, study: Study) -> tuple[list[Fault], list[Fault]]:
    """Return the faults and the notes about the reference.

    It is a fault that no case is the reference, or that no case has one. Cases without a reference, where
    others have one, are a note, and so is a plan of nothing but its reference.
    """
    if not plan.reference:
        return [], []
    origin = study.origins.get("reference")
    wanted = " ".join(f"{name}={plan.written(name, value)}" for name, value in plan.reference.items())
    contenders = plan.contenders()
    if len(contenders) == len(plan.cases):
        found = "; ".join(_levels(plan, name) for name in plan.reference)
        return [study.fault(origin, f"no case is the reference {wanted}; {found}{_unnamed(study)}")], []
    if not contenders:
        return [], [study.fault(origin, _nothing_else(plan, wanted))]
    strange = [name for name, common, _ in plan.across_workloads() if not common]
    if strange:
        workload = plan.reference["workload"]
        message = (
            f"{strange[0]} has no figure of the same name and unit as {workload}, so that nothing of the two "
            "could be compared; give both such a figure, or leave one out"
        )
        return [study.fault(origin, message)], []
    across = [study.fault(origin, text) for text in across_workloads(plan)]
    alone = [case for case, reference in contenders if reference is None]
    if not alone:
        return [], across
    shown = "; ".join(plan.describe(case) for case in alone[:_MOST_NAMED])
    more = f"; and {len(alone) - _MOST_NAMED} more" if len(alone) > _MOST_NAMED else ""
    if len(alone) == len(contenders):
        message = (
            f"nothing could be compared: no other case is like one of the reference {wanted} in all else "
            f"({shown}{more}); name a 'reference' from which other cases differ in nothing but its settings"
        )
        return [study.fault(origin, message)], []
    what, they = ("1 case has", "it is") if len(alone) == 1 else (f"{len(alone)} cases have", "they are")
    message = f"{what} no reference, so {they} measured and not compared: {shown}{more}"
    return [], [*across, study.fault(origin, message)]


def _nothing_else(plan: Plan, wanted: str) -> str:
    """Return the note where every case is the reference."""
    what = f"all {len(plan.cases)} cases are" if len(plan.cases) > 1 else "the only case is"
    they = "they are" if len(plan.cases) > 1 else "it is"
    return (
        f"{what} the reference {wanted}, so {they} measured and nothing is compared; "
        f"vary {' or '.join(plan.reference)} in 'factors', or name a reference of what varies"
    )


def _unnamed(study: Study) -> str:
    """Return the cure where a reference names levels, but not those of all factors that load software."""
    loading = [
        factor.name
        for factor in study.factors
        if any(not level.settings.keys().isdisjoint(SOFTWARE_SETTINGS) for level in factor.levels)
    ]
    others = [name for name in loading if name not in study.named_levels]
    if not others or not study.named_levels.keys() & set(loading):
        return ""
    return f"; software adds up: name a level of {' and of '.join(others)} in the reference, too"


def across_workloads(plan: Plan) -> Iterator[str]:
    """Yield what is compared between different workloads: figures of the same name and unit."""
    for name, common, others in plan.across_workloads():
        rest = f"; {', '.join(others)} of one alone cannot be compared" if others else ""
        yield (
            f"{name} is held against {plan.reference['workload']} in figures of the same name and unit: "
            f"{', '.join(common)}{rest}"
        )


def _levels(plan: Plan, name: str) -> str:
    rows = [case.settings for case in plan.cases]
    levels = dict.fromkeys(plan.written(name, row[name]) for row in rows if name in row)
    named = [*levels][:_MOST_LEVELS]
    if len(levels) > len(named):
        named.append(f"one of {len(levels) - len(named)} more")
    return f"{name} is {' or '.join(named)}" if levels else f"no case has {name}"


def check_crossing(plan: Plan, study: Study) -> tuple[list[Fault], list[Fault]]:
    """Return a fault where no case sends data over the varied networks, or a note where only some do.

    Ranks on one node send each other nothing over a network. Only workloads whose data are what ranks send
    each other are checked; storage workloads, for example, are not.
    """
    if "network" not in plan.varied:
        return [], []
    sending = [case for case in plan.cases if case.workload in (plan.sending or ())]
    alone = [case for case in sending if case.layout.nodes == 1]
    if not alone:
        return [], []
    levels = (one for factor in all_factors(study) for one in factor.levels if "network" in one.settings)
    origin = next((one.origin for one in levels if one.origin), None)
    if len(alone) == len(plan.cases):
        message = (
            "network varies, and every case has one node: nothing crosses a network; add 'nodes: 2' or more, "
            "or name one network"
        )
        return [study.fault(origin, message)], []
    if len({case.network for case in alone}) == 1:
        return [], []
    message = (
        f"{count(len(alone), 'case has', 'cases have')} one node: nothing that their ranks send each other "
        "crosses the networks in "
        "which they differ"
    )
    return [], [study.fault(origin, message)]


def check_use(plan: Plan, study: Study) -> tuple[list[Fault], list[Fault]]:
    """Return a note for each varied parameter of a declared workload that nothing of its runs names."""
    notes = []
    levels = [level for factor in all_factors(study) for level in factor.levels]
    for own in study.workloads:
        cases = [case for case in plan.cases if case.workload == own.name]
        parameters = {one.name for one in own.parameters}.intersection(plan.varied)
        varied = [name for name in plan.varied if name in parameters and _n_values(cases, name) > 1]
        named = _named(own, study, cases) if varied else frozenset()
        for name in varied:
            if name not in named:
                origin = next((one.origin for one in levels if name in one.settings), None)
                message = f"{own.name} runs the same for each {name}: its command does not name {{{name}}}"
                notes.append(study.fault(origin, message))
    return [], notes


def _n_values(cases: Sequence[Case], name: str) -> int:
    return len({case.parameters.get(name) for case in cases})


def _named(own: InlineDefinition, study: Study, cases: Sequence[Case]) -> frozenset[str]:
    """Return the names of all placeholders in what the runs of `cases` are made of."""
    commands = (own.command, *own.prologue, *own.epilogue, *study.prologue, *study.epilogue)
    texts = [word for words in commands for word in words]
    texts += [*own.env.values(), *own.files.values(), *(one.path for one in (*own.inputs, *study.inputs))]
    for name in PROGRAM_SETTINGS:
        texts += map(str, {case.parameters.get(name) for case in cases})
    return frozenset(token.strip("{}") for text in texts for token in TOKEN.findall(text))


def site_notes(cases: Sequence[Case], site: Site) -> Iterator[str]:
    """Yield a note on cases with more threads than cores, and one for each network with unused options."""
    if site.slots_per_node > 1 and site.shared_cores is None:
        yield from _crowded(cases, site)
    for platform, network in sorted({(one.platform, one.network or "") for one in cases}):
        launcher = site.platforms[platform].launcher if platform in site.platforms else ""
        options = site.networks[network].options if network in site.networks else {}
        if launcher == _ANY_MPI and options and launcher not in options:
            yield (
                f"site {site.name}: the options of network {network} for {', '.join(options)} do not reach "
                f"ranks of platform {platform}, which srun starts; give them as 'options: {{srun: …}}' too"
            )


def _crowded(cases: Sequence[Case], site: Site) -> Iterator[str]:
    layouts = {layout for layout in {one.layout for one in cases} if not fits(layout, site)}
    crowded = [one.layout for one in cases if one.layout in layouts] if layouts else []
    if crowded:
        layout = max(crowded, key=lambda one: one.ranks_per_node * one.threads)
        what = count(len(crowded), "case shares", "cases share")
        threads = count(layout.threads, "thread")
        yield (
            f"site {site.name}: {what} cores: up to {count(layout.ranks_per_node, 'rank')} with {threads} "
            f"each on a node of {count(site.slots_per_node, 'slot')}; ask for fewer, or mend slots_per_node"
        )
