"""Group the cases of a plan for the report, by variant and by configuration.

A variant is a side of the comparisons, such as a network. A configuration is what both sides of a comparison
have in common: the workload with its parameters, and the number of nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from tare.analysis.pairs import Pair
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.comparison import Comparison
from tare.core.counting import count
from tare.core.plan import Plan
from tare.core.study import setting_order
from tare.core.values import Scalar
from tare.core.workload import ParameterKind, written
from tare.report.words.numbers import coordinate, counts_bytes, is_number, visible

DERIVED = ("ranks", "ranks_per_node", "threads", "bind")
"""The settings that a name leaves out where they follow from the number of nodes."""


@dataclasses.dataclass(frozen=True)
class Variant:
    """The reference or a contender; `index` selects its colour and shape and is 0 for the reference."""

    name: str
    is_reference: bool
    index: int


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A workload with its varied parameters and its number of nodes, in which variants are compared.

    The configurations of one `problem` differ in one number only, whose name is `along` and whose value here
    is `at`. It is the number of nodes. If that is the same everywhere, it is a setting such as threads.
    """

    workload: str
    title: str
    nodes: int | None
    problem: str
    along: str
    at: int | float
    kinds: Mapping[str, ParameterKind] = dataclasses.field(default_factory=dict, compare=False)

    @property
    def label(self) -> str:
        """Return the configuration in one line: ``imb.pingpong · 2 nodes``."""
        return f"{self.title} · {count(self.nodes, 'node') if self.nodes else 'nodes unknown'}"

    @property
    def step(self) -> str:
        """Return the value that tells it from others of its problem: ``2 nodes``, ``4 threads``."""
        return coordinate(self.along, self.at, self.kinds)


@dataclasses.dataclass(frozen=True)
class Variants:
    """The variant (`variant_of`) and the configuration (`configuration_of`) of every case.

    `all` are the variants, the reference first; `configurations` are in the order of the plan.

    `keys` are the settings in which the variants differ. `plan` gives the kinds of settings.
    """

    all: tuple[Variant, ...]
    configurations: tuple[Configuration, ...]
    variant_of: dict[str, Variant]
    configuration_of: dict[str, Configuration]
    plan: Plan
    keys: tuple[str, ...] = ()

    @property
    def reference(self) -> Variant | None:
        """Return the variant that the others are compared with, or None if the study names none."""
        return next((variant for variant in self.all if variant.is_reference), None)

    @property
    def contenders(self) -> tuple[Variant, ...]:
        """Return the other variants."""
        return tuple(variant for variant in self.all if not variant.is_reference)

    def kinds_of(self, workload: str) -> Mapping[str, ParameterKind]:
        """Return the kinds of the settings of `workload`, by name."""
        return self.plan.kinds_of(workload)

    def counts_bytes(self, name: str, workload: str) -> bool:
        """Return whether a setting or coordinate counts bytes."""
        return counts_bytes(name) or self.kinds_of(workload).get(name) is ParameterKind.BYTES

    def case_label(self, case: str) -> str:
        """Return the name of a case: its variant and its configuration."""
        return f"{self.variant_of[case].name} · {self.configuration_of[case].label}"


def lay_out(campaign: Campaign, compared: Iterable[Pair | Comparison]) -> Variants:
    """Return the variants and configurations of the cases of `campaign`.

    Variants differ in the settings in which any contender differs from its reference.
    """
    cases = campaign.plan.cases
    keys = _variant_keys(campaign, compared)
    named_by = _naming_factors(cases, keys)
    names = {case.id: _variant_name(case, keys, named_by, campaign.plan) for case in cases}
    has_reference = bool(campaign.plan.reference)
    is_reference = {names[case.id] for case in cases if has_reference and campaign.plan.is_reference(case)}
    ordered = sorted(dict.fromkeys(names.values()), key=lambda name: name not in is_reference)
    offset = 0 if is_reference else 1
    variants = {
        name: Variant(name, name in is_reference, index + offset) for index, name in enumerate(ordered)
    }
    varying = _varying(cases, campaign.plan, keys)
    configurations = {case.id: _configuration(case, campaign.plan, varying[case.workload]) for case in cases}
    problems = list(dict.fromkeys(configuration.problem for configuration in configurations.values()))
    turns = {problem: turn for turn, problem in enumerate(problems)}
    return Variants(
        all=tuple(variants.values()),
        configurations=tuple(
            sorted(
                dict.fromkeys(configurations.values()),
                key=lambda configuration: (turns[configuration.problem], configuration.at),
            )
        ),
        variant_of={case: variants[name] for case, name in names.items()},
        configuration_of=configurations,
        plan=campaign.plan,
        keys=keys,
    )


def _variant_keys(campaign: Campaign, compared: Iterable[Pair | Comparison]) -> tuple[str, ...]:
    differing = {name for one in compared for name in (*one.reference, *one.contender)}
    differing |= set(campaign.plan.reference)
    if not differing:
        differing = {"platform", "network", "storage", "io"}
    known = sorted(differing, key=setting_order)
    rows = [case.settings for case in campaign.plan.cases]
    varying = tuple(name for name in known if name in differing and len({row.get(name) for row in rows}) > 1)
    return varying or tuple(name for name in known if name in campaign.plan.reference)


def _naming_factors(cases: tuple[Case, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the factors whose level names correspond one to one to the values of `keys`."""
    factors = dict.fromkeys(factor for case in cases for factor in case.names)
    found = []
    for factor in factors:
        pairs = {(case.names.get(factor), _values(case, keys)) for case in cases}
        is_one_to_one = len(pairs) == len({name for name, _ in pairs}) == len({row for _, row in pairs})
        if is_one_to_one and len(pairs) > 1:
            found.append(factor)
    return tuple(found)


def _values(case: Case, keys: tuple[str, ...]) -> tuple[Scalar | None, ...]:
    return tuple(map(case.settings.get, keys))


def _variant_name(case: Case, keys: tuple[str, ...], named_by: tuple[str, ...], plan: Plan) -> str:
    for factor in named_by:
        if factor in case.names:
            return visible(case.names[factor])
    values = [_level(plan, case, key) for key in keys if key in case.settings]
    return visible(" · ".join(values)) or "all cases"


def _level(plan: Plan, case: Case, key: str) -> str:
    value = case.settings[key]
    return written(value, None) if isinstance(value, str) else _setting(plan, case, key)


def _setting(plan: Plan, case: Case, name: str) -> str:
    """Return a setting of a case with its name; a number of bytes has a binary prefix."""
    return coordinate(name, case.settings[name], plan.kinds_of(case.workload))


@dataclasses.dataclass(frozen=True)
class _Varying:
    """The settings in which the configurations of one workload differ.

    `n_levels` has the number of levels of each whose levels are all numbers; it is empty if the number of
    nodes varies.
    """

    names: frozenset[str]
    n_levels: Mapping[str, int]


def _varying(cases: Iterable[Case], plan: Plan, keys: tuple[str, ...]) -> dict[str, _Varying]:
    """Return the varying settings by workload."""
    by_workload: dict[str, list[dict[str, Scalar]]] = {}
    for case in cases:
        by_workload.setdefault(case.workload, []).append(case.settings)
    found = {}
    for workload, rows in by_workload.items():
        candidates = [name for name in plan.varied if name not in keys and name not in ("workload", "nodes")]
        levels = {name: frozenset(row.get(name) for row in rows) for name in ("nodes", *candidates)}
        names = frozenset(
            name
            for name in candidates
            if len(levels[name]) > 1 and not (name in DERIVED and follows_nodes(name, rows))
        )
        numeric = [name for name in names if len(levels["nodes"]) == 1 and all(map(is_number, levels[name]))]
        found[workload] = _Varying(names, {name: len(levels[name]) for name in numeric})
    return found


def _configuration(case: Case, plan: Plan, varying: _Varying) -> Configuration:
    row = case.settings
    shown = [name for name in row if name in varying.names]
    along, at = _along(row, shown, varying.n_levels)
    title, problem = (
        visible(" · ".join([case.workload, *(_setting(plan, case, name) for name in names)]))
        for names in (shown, [name for name in shown if name != along])
    )
    nodes = None if "nodes" in case.unknown else case.layout.nodes
    return Configuration(case.workload, title, nodes, problem, along, at, plan.kinds_of(case.workload))


def _along(
    row: Mapping[str, Scalar], shown: Sequence[str], n_levels: Mapping[str, int]
) -> tuple[str, int | float]:
    """Return the name of the number along which a workload is plotted, and its value in `row`.

    It is ``nodes`` if their number varies. Otherwise it is the numeric setting with the most values, if any.
    """
    name = max((name for name in shown if name in n_levels), key=n_levels.__getitem__, default="nodes")
    value = row.get(name)
    return name, value if is_number(value) else 1


def follows_nodes(name: str, rows: Iterable[Mapping[str, Scalar]]) -> bool:
    """Return whether a setting has one value for each number of nodes."""
    by_nodes: dict[Scalar, set[Scalar]] = {}
    for row in rows:
        by_nodes.setdefault(row.get("nodes", ""), set()).add(row.get(name, ""))
    return all(len(values) == 1 for values in by_nodes.values())
