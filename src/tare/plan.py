"""From a study and a site to a plan: every case, checked and named by a hash of its content. Pure."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tare.errors import Fault, FileFaults
from tare.model.case import Binding, Case, Layout
from tare.model.plan import Plan
from tare.model.site import Site
from tare.model.study import DESIGN_SETTINGS, Factor, Level, Origin, Study
from tare.model.values import Scalar, Settings
from tare.model.workload import Parameter, ParameterKind, Workload

TWINS = ("a", "b")
"""What tells the two sides of an A/A study apart."""

_MOST_FAULTS = 50
_encode = msgspec.json.Encoder(order="deterministic").encode


def make_plan(study: Study, site: Site, workloads: Mapping[str, Workload]) -> Plan:
    """Return the plan of `study` at `site`: each case once, in the order of the study's factors.

    Raises FileFaults with every distinct reason for which a case cannot be, at the place in the
    study that made it.
    """
    gathering = _Gathering(study, site, workloads)
    for combination in _combinations(study):
        gathering.add(combination)
    if gathering.faults:
        raise FileFaults(list(gathering.faults.values()))
    cases = tuple(gathering.cases.values())
    if not cases:
        raise FileFaults([_fault(study, None, "no case is left; loosen 'where' or 'exclude'")])
    used = {case.workload for case in cases}
    plan = Plan(
        study=study.name,
        question=study.question,
        site=site.name,
        cases=cases,
        varied=gathering.varied,
        reference=study.reference,
        repeats=study.repeats,
        warmup=study.warmup,
        margin=study.margin,
        timeout_s=study.timeout_s,
        retries=study.retries,
        seed=study.seed,
        foms={name: tuple(workloads[name].foms) for name in sorted(used)},
        scaling=study.scaling,
        telemetry=study.telemetry,
        sizes=_sizes(workloads[name] for name in used),
    )
    return twinned(plan, workloads) if study.twins else plan


def _sizes(used: Iterable[Workload]) -> tuple[str, ...]:
    """Return the parameters that count bytes in every workload that has them."""
    counts: dict[str, bool] = {}
    for one in (one for workload in used for one in workload.parameters):
        counts[one.name] = counts.get(one.name, True) and one.kind is ParameterKind.BYTES
    return tuple(sorted(name for name, is_size in counts.items() if is_size))


def twinned(plan: Plan, workloads: Mapping[str, Workload]) -> Plan:
    """Return the A/A plan of `plan`: each of its reference cases twice, alike in all but the name.

    Whatever is found between the two is no difference between platforms.
    """
    references = [case for case in plan.cases if plan.is_reference(case)] or plan.cases
    cases = tuple(
        identified(msgspec.structs.replace(case, twin=twin), workloads[case.workload].digest)
        for twin in TWINS
        for case in references
    )
    return msgspec.structs.replace(
        plan,
        question=f"How often does {plan.site} show a difference where there is none?",
        cases=cases,
        varied=varied_settings(cases),
        reference={"twin": TWINS[0]},
        foms={name: plan.foms[name] for name in sorted({case.workload for case in cases})},
    )


class _Combination(NamedTuple):
    """One level of every factor, merged: the most special place has the last word."""

    settings: dict[str, Scalar]
    levels: tuple[Level, ...]


def _combinations(study: Study) -> Iterator[_Combination]:
    factors = [*study.factors]
    if study.cases:
        factors.append(Factor("cases", study.cases))
    ranking = sorted(range(len(factors)), key=lambda index: _speciality(factors[index]))
    for levels in itertools.product(*(factor.levels for factor in factors)):
        settings = dict(study.common)
        for index in ranking:
            _merge(settings, levels[index].settings)
        yield _Combination(settings, levels)


def _merge(settings: dict[str, Scalar], special: Settings) -> None:
    """Let a more special place have the last word; so few ranks of its own take fewer nodes, too."""
    ranks, nodes = special.get("ranks"), settings.get("nodes")
    settings.update(special)
    if ranks is not None and nodes is not None and "nodes" not in special:
        settings["nodes"] = min(int(nodes), int(ranks))


def _speciality(factor: Factor) -> int:
    if factor.name == "workload":
        return 3
    if factor.name == "cases":
        return 2
    is_plain = all(tuple(level.settings) == (factor.name,) for level in factor.levels)
    return 0 if is_plain else 1


class _Gathering:
    """The cases gathered so far, by id, and the faults, each once."""

    def __init__(self, study: Study, site: Site, workloads: Mapping[str, Workload]) -> None:
        self.study = study
        self.site = site
        self.workloads = workloads
        self.cases: dict[str, Case] = {}
        self.faults: dict[tuple[str, Origin | None], Fault] = {}
        self._varied: set[str] = set()
        self._first: dict[str, dict[str, Scalar]] = {}
        self._layouts: dict[tuple[Scalar | None, ...], Layout | str] = {}
        self._parameters = {
            name: tuple((one, self._default(one)) for one in workload.parameters)
            for name, workload in _used(study, workloads)
        }
        self._digests = {name: workloads[name].digest for name in self._parameters}

    def add(self, combination: _Combination) -> None:
        """Add the case of `combination`, unless the study leaves it out or it cannot be."""
        settings = combination.settings
        name = settings.get("workload")
        if not isinstance(name, str) or name not in self._parameters:
            self._report("no workload; name one in 'factors' or 'cases'", combination)
            return
        layout = self._layout(settings)
        if isinstance(layout, str):
            self._report(layout, combination)
            return
        case = self._case(self.workloads[name], settings, layout, combination)
        if case is None or case.id in self.cases:
            return
        row = case.settings
        if self._is_left_out(self.workloads[name], row):
            return
        for reason in self.workloads[name].faults(case):
            self._report(f"{name}: {reason}", combination)
        self.cases[case.id] = case
        first = self._first.setdefault(name, row)
        self._varied.update(setting for setting, value in row.items() if first.get(setting) != value)

    @property
    def varied(self) -> tuple[str, ...]:
        """Return the settings that vary, design settings first.

        A parameter counts within its workload: that two workloads differ in it tells nothing.
        """
        firsts = self._first.values()
        across = {name for name in DESIGN_SETTINGS if len({row.get(name) for row in firsts}) > 1}
        return tuple(sorted(self._varied | across, key=_place))

    def _case(
        self, workload: Workload, settings: Settings, layout: Layout, combination: _Combination
    ) -> Case | None:
        parameters: dict[str, Scalar] = {}
        for parameter, default in self._parameters[workload.name]:
            name = parameter.name
            is_needless = parameter.unless is not None and bool(settings.get(parameter.unless))
            value = settings.get(name, parameter.default if is_needless else default)
            if value is None:
                self._report(f"{workload.name} needs a value for {name!r}", combination)
                return None
            parameters[name] = value
        platform = str(settings.get("platform") or next(iter(self.site.platforms)))
        network = _text(settings.get("network") or next(iter(self.site.networks), None))
        storage = _text(settings.get("storage") or next(iter(self.site.storage), None))
        io = _text(settings.get("io"))
        case = Case(
            id="",
            workload=workload.name,
            platform=platform,
            network=network,
            storage=storage,
            io=io,
            layout=layout,
            parameters=parameters,
            names={
                factor.name: level.name
                for factor, level in zip(self.study.factors, combination.levels, strict=False)
                if level.name
            },
        )
        return identified(case, self._digests[workload.name])

    def _default(self, parameter: Parameter) -> Scalar | None:
        told = self.site.fact(parameter.fact) if parameter.fact else None
        return parameter.default if told is None else told

    def _is_left_out(self, workload: Workload, row: dict[str, Scalar]) -> bool:
        if not self.study.where and not self.study.exclude:
            return False
        known = {**row, **workload.derive(row)}
        return any(condition.holds(known) is True for condition in self.study.exclude) or any(
            condition.holds(known) is False for condition in self.study.where
        )

    def _layout(self, settings: Settings) -> Layout | str:
        key = tuple(settings.get(name) for name in ("nodes", "ranks", "ranks_per_node", "threads"))
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = _make_layout(self.study, self.site, *key)
        return layout

    def _report(self, message: str, combination: _Combination) -> None:
        origin = next((level.origin for level in reversed(combination.levels) if level.origin), None)
        if len(self.faults) < _MOST_FAULTS:
            self.faults.setdefault((message, origin), _fault(self.study, origin, message))


def identified(case: Case, digest: str | None) -> Case:
    """Return `case` with the id that follows from its content; `digest` is that of its workload."""
    content: tuple[object, ...] = (
        case.workload,
        digest,
        case.platform,
        case.network,
        case.storage,
        case.io,
        case.layout,
        case.parameters,
    )
    if case.twin is not None:  # a case that has none keeps the id that it has in every older campaign
        content += (case.twin,)
    return msgspec.structs.replace(case, id=hashlib.blake2b(_encode(content), digest_size=8).hexdigest())


def _make_layout(
    study: Study,
    site: Site,
    nodes: Scalar | None,
    ranks: Scalar | None,
    ranks_per_node: Scalar | None,
    threads: Scalar | None,
) -> Layout | str:
    """Return the layout that the settings make at `site`, or why they make none."""
    layout = lay_out(nodes, ranks, ranks_per_node, threads, study.bind)
    n_nodes = 0 if isinstance(layout, str) else layout.nodes
    if n_nodes > len(site.nodes):
        return f"{n_nodes} nodes, but site {site.name} has {len(site.nodes)}; use {len(site.nodes)} or fewer"
    return layout


def lay_out(
    nodes: Scalar | None,
    ranks: Scalar | None,
    ranks_per_node: Scalar | None,
    threads: Scalar | None,
    bind: Binding = Binding.NONE,
) -> Layout | str:
    """Return the layout that two of nodes, ranks and ranks per node make, or why they make none."""
    n_nodes, n_ranks, per_node = (
        None if value is None else int(value) for value in (nodes, ranks, ranks_per_node)
    )
    if n_ranks is None:
        n_nodes, per_node = n_nodes or 1, per_node or 1
        n_ranks = n_nodes * per_node
    elif n_nodes is None:
        per_node = per_node or n_ranks
        n_nodes = math.ceil(n_ranks / per_node)
    else:
        per_node = per_node if per_node is not None else math.ceil(n_ranks / n_nodes)
    if not n_nodes <= n_ranks <= n_nodes * per_node:
        return (
            f"{n_ranks} ranks do not fill {n_nodes} nodes with {per_node} ranks each; "
            "give two of nodes, ranks and ranks_per_node, or three that agree"
        )
    return Layout(n_nodes, n_ranks, per_node, int(threads or 1), bind)


def varied_settings(cases: Iterable[Case]) -> tuple[str, ...]:
    """Return the settings that vary between `cases`; parameters count within their workload."""
    rows: dict[str, list[dict[str, Scalar]]] = {}
    for case in cases:
        rows.setdefault(case.workload, []).append(case.settings)
    alone = [row for alike in rows.values() for row in alike]
    names = dict.fromkeys(name for row in alone for name in row)
    varied = {
        name
        for name in names
        for alike in ([alone] if name in DESIGN_SETTINGS else rows.values())
        if len({row.get(name) for row in alike}) > 1
    }
    return tuple(sorted(varied, key=_place))


def _used(study: Study, workloads: Mapping[str, Workload]) -> Iterator[tuple[str, Workload]]:
    """Yield only the workloads that the study names: the others need not even be imported."""
    levels: Iterable[Level] = itertools.chain(study.cases, *(factor.levels for factor in study.factors))
    names = {level.settings.get("workload") for level in levels} | {study.common.get("workload")}
    for name in names:
        if isinstance(name, str) and name in workloads:
            yield name, workloads[name]


def _place(setting: str) -> tuple[int, str]:
    """Return where a setting stands among a case's: design settings in their order, then parameters."""
    if setting in DESIGN_SETTINGS:
        return DESIGN_SETTINGS.index(setting), ""
    return len(DESIGN_SETTINGS), setting


def _text(value: Scalar | None) -> str | None:
    return None if value is None else str(value)


def _fault(study: Study, origin: Origin | None, message: str) -> Fault:
    if origin is None:
        return Fault(f"{study.name}", 1, 1, "", message)
    return Fault(origin.file, origin.line, origin.column, origin.path, message)
