"""The twelve rules of Hoefler and Belli, and how far a campaign keeps each of them.

Hoefler and Belli 2015, Scientific Benchmarking of Parallel Computing Systems, SC'15,
doi:10.1145/2807591.2807644.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from tare.analysis.verdicts.distribution import Diagnosis
from tare.analysis.verdicts.row_notes import OF_ZEROS
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison, Mean
from tare.core.counting import count, every
from tare.core.plan import Plan
from tare.core.scaling import ScalingCurve
from tare.core.values import Scalar
from tare.report.variants import Variants
from tare.report.words.bounds import BoundRow
from tare.report.words.numbers import listed, percent, quantity, visible, words
from tare.report.words.scaling import scale_words, settings_words


class Keeping(enum.StrEnum):
    """The degree to which a campaign kept a rule."""

    KEPT = "kept"
    PARTLY = "in part"
    NOT_APPLICABLE = "does not apply"


@dataclasses.dataclass(frozen=True)
class ReportingRule:
    """A rule in a few words, the degree to which it was kept, and what the campaign did for it."""

    number: int
    title: str
    keeping: Keeping
    what: str


@dataclasses.dataclass(frozen=True)
class RuleFacts:
    """The data by which the rules are judged."""

    campaign: Campaign
    variants: Variants
    quoted: Sequence[Comparison]
    scalings: Sequence[ScalingCurve]
    diagnosis: Diagnosis
    bounds: Sequence[BoundRow]


def rules(facts: RuleFacts) -> tuple[ReportingRule, ...]:
    """Return the twelve rules in their order."""
    parts = (
        ("name the base of each speedup", _base(facts)),
        ("give a reason for every subset", _subsets(facts)),
        ("average costs arithmetically, and rates harmonically", _means(facts)),
        ("do not average ratios", _ratios(facts)),
        ("report whether values are deterministic, and give intervals", _intervals(facts)),
        ("do not assume normality unseen", _normality(facts)),
        ("compare in a statistically sound way", _soundness(facts)),
        ("ask whether a mean is what matters", _centre(facts)),
        ("document factors, levels and the setup", _setup(facts)),
        ("report how times were taken", _timing(facts)),
        ("show upper bounds", _bounds(facts)),
        ("draw what is needed, and lines only where they mean something", _drawing(facts)),
    )
    return tuple(
        ReportingRule(number, title, keeping, what)
        for number, (title, (keeping, what)) in enumerate(parts, 1)
    )


_Kept = tuple[Keeping, str]


def _base(facts: RuleFacts) -> _Kept:
    known = ((one, one.p_ref) for one in facts.scalings if one.p_ref is not None)
    bases = list(dict.fromkeys(_base_of(one, p_ref, facts.campaign.plan) for one, p_ref in known))
    if not bases:
        reference = facts.variants.reference
        beside = ""
        if reference and _compared(facts):
            beside = f" Changes are relative to {reference.name}, with absolute values."
        return Keeping.NOT_APPLICABLE, f"No speedup is reported.{beside}"
    rest = f" and {len(bases) - _MOST_BASES} more" if len(bases) > _MOST_BASES else ""
    return (
        Keeping.PARTLY,
        f"{'The base is' if len(bases) == 1 else 'The bases are'} {'; '.join(bases[:_MOST_BASES])}{rest}. "
        "Whether that is the best serial program was not asked.",
    )


_MOST_BASES = 6


def _base_of(curve: ScalingCurve, p_ref: float, plan: Plan) -> str:
    """Return the base of a curve with its value: ``md · host at 1 node: 12.3 ns/day``."""
    settings = {"workload": curve.workload, **curve.settings, **curve.at}
    where = settings_words(settings, plan.kinds_of(curve.workload))
    value = next((one.value for one in curve.measured if one.scale == p_ref), None)
    shown = quantity(value.value, curve.unit) if value else "not measured"
    return f"{where} at {scale_words(curve.along, p_ref)}: {shown}"


def _subsets(facts: RuleFacts) -> _Kept:
    plan = facts.campaign.plan
    used = sorted({case.layout.ranks_per_node * case.layout.threads for case in plan.cases})
    cores = sorted({int(one) for one in _fact(facts, "cpu.cores") if one.isdigit()})
    if not cores:
        share = "How many cores the nodes have was not recorded."
    else:
        share = (
            f"Cases ask for {_some(used)} {'core' if used == [1] else 'cores'} of a node (ranks × threads); "
            f"nodes have {_some(cores)}."
        )
    left_out = [
        f"{count(one.n_cases, 'case')} where {visible(one.condition)} "
        f"({visible(one.because) or 'no reason is given'})"
        for one in plan.left_out
    ]
    is_reasoned = all(one.because for one in plan.left_out) and bool(cores)
    omitted = f"Left out: {'; '.join(left_out)}." if left_out else "No exclusion is recorded."
    return Keeping.KEPT if is_reasoned else Keeping.PARTLY, f"{omitted} {share}"


def _some(numbers: Sequence[int]) -> str:
    """Return the numbers as a list, or only the first and the last if there are many."""
    shown = [str(one) for one in numbers]
    return listed(shown) if len(shown) <= _MOST_LEVELS else f"{shown[0]} to {shown[-1]}"


def _compared(facts: RuleFacts) -> list[Comparison]:
    """Return the quoted comparisons that have a ratio."""
    return [one for one in facts.quoted if one.ratio is not None]


_NOTHING: _Kept = (Keeping.NOT_APPLICABLE, "Nothing was compared.")


def _means(facts: RuleFacts) -> _Kept:
    mean = facts.campaign.mean
    over = "geometric, since noise multiplies" if mean is Mean.GEOMETRIC else f"{mean}, as was asked for"
    centre = "Over blocks the median is taken" if mean is Mean.MEDIAN else f"Over blocks the mean is {over}"
    within = f"Within a run what its program printed counts. {centre}."
    costs = [one.mean_cost for one in _compared(facts) if one.mean_cost is not None]
    if not costs:
        return Keeping.PARTLY, within
    n_notable = sum(one.is_notable for one in costs)
    shown = (
        f"It differs for {count(n_notable, 'quoted ratio')}, next to which it is shown."
        if n_notable
        else "It differs for none of these."
    )
    return (
        Keeping.PARTLY,
        f"{within} For {count(len(costs), 'quoted ratio')} that of what adds up is computed as well: for "
        f"costs the arithmetic mean, for rates the harmonic one. {shown}",
    )


def _ratios(facts: RuleFacts) -> _Kept:
    measured = _compared(facts)
    if not measured:
        return _NOTHING
    n_unpaired = sum(not one.is_paired for one in measured)
    formed = {
        0: "Ratios are formed within blocks, where what slowed all runs cancels, and averaged geometrically",
        len(measured): "Ratios are those of the geometric means of all runs of each side",
    }.get(
        n_unpaired,
        "Ratios are geometric means over blocks, except for the "
        f"{'one that is' if n_unpaired == 1 else f'{n_unpaired} that are'} unpaired",
    )
    if facts.campaign.mean is Mean.MEDIAN:
        kinds = [
            *(["medians of those within blocks"] if n_unpaired < len(measured) else []),
            *(["those of the medians of all runs of each side"] if n_unpaired else []),
        ]
        formed = f"Ratios are {', or where nothing is paired '.join(kinds)}"
    elif facts.campaign.mean is not Mean.GEOMETRIC:
        formed = f"Ratios are those of {facts.campaign.mean} means: no ratio is averaged"
    if any(OF_ZEROS in one.note for one in measured):
        formed += "; where values are zero or less they are those of arithmetic means"
    return Keeping.PARTLY, f"{formed}; the costs and rates that they are made of stand beside them."


def _intervals(facts: RuleFacts) -> _Kept:
    compared, constant = _compared(facts), facts.diagnosis.n_constant
    if not compared:
        return _NOTHING
    missing = sum(one.low is None for one in compared)
    n = len(compared) - missing
    over = "blocks" if all(one.is_paired for one in compared) else "blocks or runs"
    has = f"{count(n, 'quoted ratio')} {'has an interval' if n == 1 else 'have intervals'} over {over}."
    same = f" {count(constant, 'ratio')} had the same value in every block." if constant else ""
    lack = f" {count(missing, 'ratio')} {'has' if missing == 1 else 'have'} none."
    return Keeping.PARTLY if missing else Keeping.KEPT, f"{has}{same}{lack if missing else ''}"


def _normality(facts: RuleFacts) -> _Kept:
    found = facts.diagnosis
    if not _compared(facts):
        return _NOTHING
    if not found.n_tested:
        takes = "five blocks that differ, and no value of zero or less"
        return Keeping.PARTLY, f"No quoted ratio has what its diagnostic takes: {takes}."
    if not found.departing:
        seen = "none is seen to depart from it; few blocks see only gross departures"
    else:
        foms = dict.fromkeys(f"{words(one.fom)} of {visible(one.pair.workload)}" for one in found.departing)
        seen = (
            f"{len(found.departing)} {'departs' if len(found.departing) == 1 else 'depart'} from it "
            f"({listed(list(foms)[:3])}): read the rank interval beside"
        )
    tested = f"{count(found.n_tested, 'quoted ratio')} {'was' if found.n_tested == 1 else 'were'} tested"
    return Keeping.KEPT, f"{tested} for being log-normal by Shapiro and Francia's W'; {seen}."


def _soundness(facts: RuleFacts) -> _Kept:
    drawn = [one for one in facts.quoted if one.p_value is not None]
    if not drawn:
        return (
            _NOTHING if not _compared(facts) else (Keeping.PARTLY, "No ratio has blocks enough for a test.")
        )
    n = max(one.family for one in drawn)
    among = f" among {every(n)}" if n > 1 else ""
    test = "sign test" if facts.campaign.mean is Mean.MEDIAN else "t test"
    return (
        Keeping.KEPT,
        f"A difference is claimed where its {test} holds{among}, equivalence by two such tests.",
    )


def _centre(facts: RuleFacts) -> _Kept:
    compared = _compared(facts)
    if not compared:
        return _NOTHING
    what = f"{'Medians' if facts.campaign.mean is Mean.MEDIAN else 'Means'} are compared."
    kept = (
        "The bad runs of both sides stand in the details of each cell, and the table of runs holds what each "
        "gave."
    )
    missed = [(one.may_miss, one) for one in compared if one.may_miss is not None]
    if not missed:
        return Keeping.PARTLY, f"{what} {kept}"
    share, most = max(missed, key=lambda one: one[0])
    n = count(most.n_blocks, "block" if most.is_paired else "run")
    rare = percent(share, is_signed=False)
    return (
        Keeping.PARTLY,
        f"{what} With {n} a slow mode of up to {rare} of the runs can go unseen, which stands beside each "
        f"equivalence. {kept}",
    )


def _setup(facts: RuleFacts) -> _Kept:
    plan = facts.campaign.plan
    levels = [f"{visible(name)} ({_levels(facts, name)})" for name in plan.varied]
    varied = f"Varied: {', '.join(levels)}. " if levels else "Nothing was varied. "
    measured = facts.campaign.measured()
    known = [one for one in measured if one.environment in facts.campaign.environments]
    if not known:
        return Keeping.PARTLY, f"{varied}The environment was not recorded."
    names = {one.environment for one in known if one.environment}
    hosts = count(len({host for name in names for host in facts.campaign.environments[name]}), "host")
    if len(known) < len(measured):
        runs = f"{len(known)} of {count(len(measured), 'run')}"
        return Keeping.PARTLY, f"{varied}The environment of {hosts} is recorded with {runs}."
    return Keeping.KEPT, f"{varied}The environment of {hosts} is recorded with every run."


def _levels(facts: RuleFacts, name: str) -> str:
    plan = facts.campaign.plan
    values: dict[Scalar | None, None] = dict.fromkeys(case.settings.get(name) for case in plan.cases)
    shown = [visible(plan.written(name, one)) for one in values if one is not None]
    return listed(shown) if len(shown) <= _MOST_LEVELS else f"{len(shown)} levels"


_MOST_LEVELS = 8


def _timing(facts: RuleFacts) -> _Kept:
    measured = facts.campaign.measured()
    n_imported = sum(one.source is not None for one in measured)
    printed = "Figures are what the programs print of themselves; how they synchronise ranks is theirs."
    if not n_imported:
        return Keeping.PARTLY, printed
    whole = "The run" if n_imported == 1 else "These runs"
    which = whole if n_imported == len(measured) else f"{n_imported} of {len(measured)} runs"
    were = "was" if n_imported == 1 else "were"
    return Keeping.PARTLY, f"{printed} {which} {were} made elsewhere."


def _bounds(facts: RuleFacts) -> _Kept:
    if not facts.bounds:
        return (
            Keeping.PARTLY,
            "No bound is known: neither the site file nor the nodes' adapters have one for these figures.",
        )
    first = facts.bounds[0]
    n = len(facts.bounds)
    stand = "stands" if n == 1 else "stand"
    return Keeping.KEPT, f"{count(n, 'figure')} {stand} beside a bound; {first.sentence}."


def _drawing(facts: RuleFacts) -> _Kept:
    return (
        Keeping.KEPT,
        "Charts show intervals where there are any. Lines join neighbouring points that were measured, and "
        "break where one is missing.",
    )


def _fact(facts: RuleFacts, name: str) -> set[str]:
    hosts = (one for environment in facts.campaign.environments.values() for one in environment.values())
    return {one[name] for one in hosts if name in one}
