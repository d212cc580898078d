"""Make the cases of a study from its combinations, and record every fault where the study causes it. Pure."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from tare.core.case import Binding, Case, Layout
from tare.core.errors import Fault
from tare.core.inputs import input_faults, input_name_fault
from tare.core.plan import Edition
from tare.core.program import (
    EPILOGUE,
    PROGRAM_SETTINGS,
    PROLOGUE,
    command_faults,
    program_faults,
    program_settings,
)
from tare.core.site import Platform, Site
from tare.core.software import SOFTWARE_SETTINGS, Layers, layers_of, software_of
from tare.core.study import Exclusion, Level, Origin, Study
from tare.core.values import Scalar, Settings
from tare.core.workload import Parameter, Stage, Workload
from tare.plan.combinations import Combination, all_factors, speciality
from tare.plan.content import identified, setting_order
from tare.plan.layouts import (
    ASKABLE,
    asked_names,
    bind_fault,
    binding,
    difference,
    host_fault,
    layout_at,
    storage_fault,
    used_layout,
)
from tare.plan.merging import Merging

_INPUTS = "inputs"
_MOST_FAULTS = 50


class _Placed(NamedTuple):
    """The layout in which a case runs, or why it cannot, and the setting to blame."""

    layout: Layout
    fault: str = ""
    at: str = ""


class Gathering:
    """The cases made so far, by id, and the faults, each once.

    `asked` holds, by workload, the layout settings that some combination asks for. `determined` holds those
    of them that the workload itself decides.
    """

    def __init__(
        self, study: Study, site: Site, workloads: Mapping[str, Workload], edition: Edition = Edition.USED
    ) -> None:
        self.study = study
        self.site = site
        self.workloads = dict(_used_workloads(study, workloads))
        self.cases: dict[str, Case] = {}
        self.faults: dict[tuple[str, Origin | None], Fault] = {}
        self.asked: dict[str, set[str]] = defaultdict(set)
        self.determined: dict[str, set[str]] = defaultdict(set)
        self.merging = Merging(study)
        self.left_out: dict[int, set[str]] = {}
        self.edition = edition
        self._layouts: dict[tuple[Scalar | None, ...], Layout | str] = {}
        self._places: dict[tuple[object, ...], _Placed] = {}
        self._factors = all_factors(study)
        self._has_names = any(level.name for factor in self._factors for level in factor.levels)
        self._program_settings = _set_names(study) & PROGRAM_SETTINGS.keys()
        self._parameters = {
            name: tuple((one, self._default(one)) for one in self._own_parameters(workload))
            for name, workload in self.workloads.items()
        }
        self._late = {
            name: tuple(one for one, _ in own if one.is_late) for name, own in self._parameters.items()
        }
        self._digests = {name: self._digest(workload) for name, workload in self.workloads.items()}
        self._platform = next(iter(site.platforms), "")
        self._network = next(iter(site.networks), None)
        self._storage = next(iter(site.storage), None)
        self._has_around = bool(study.prologue or study.epilogue or study.inputs)
        self._dropped: Counter[str] = Counter()
        places = [study.common, *(level.settings for factor in all_factors(study) for level in factor.levels)]
        self._has_software = any(place.keys() & set(SOFTWARE_SETTINGS) for place in places) or any(
            layers_of(one.software for one in study.workloads)
        )

    def add(self, combination: Combination) -> None:
        """Add the case of `combination`, unless the study leaves it out or it is impossible."""
        asked = self._asked(combination)
        if asked is None or self._is_left_out(asked, is_bound="bind" in combination.settings):
            return
        workload = self.workloads[asked.workload]
        reasons = [*workload.faults(asked), *program_faults(asked, workload)]
        for reason in reasons:
            self._report(f"{workload.name}: {reason}", combination)
        if self._has_around:
            self._report_around(asked, has_stages=not reasons)
        case = asked if reasons else self._running(asked, combination)
        if case is None or (case is not asked and self._is_left_out(case)):
            return
        names = asked_names(combination.settings)
        self.asked[workload.name].update(names)
        self.cases.setdefault(case.id, case)
        differing = difference(asked, case, names)
        self.determined[workload.name].update(differing)
        self.merging.add(combination, self.cases[case.id], differing)

    def _report_around(self, case: Case, *, has_stages: bool) -> None:
        """Record the faults of what the study adds to the programs of `case`, at the key that adds it."""
        for key, reason in self._faults_around(case, has_stages=has_stages):
            fault = self.study.fault(self.study.origins.get(key), f"{case.workload}: {reason}")
            self.faults.setdefault((fault.message, None), fault)

    def _faults_around(self, case: Case, *, has_stages: bool) -> Iterator[tuple[str, str]]:
        """Yield the faults of what the study adds to the programs of `case`: the study's key, and why."""
        study, names = self.study, case.settings
        for key, commands in ((PROLOGUE, study.prologue), (EPILOGUE, study.epilogue)):
            yield from ((key, reason) for reason in command_faults(key, commands, names))
        yield from ((_INPUTS, reason) for reason in input_faults(study.inputs, names))
        stages = self.workloads[case.workload].stages(case) if has_stages and study.inputs else ()
        theirs = [name for one in stages for name in (*one.files, *(copy.name for copy in one.copies))]
        for given in study.inputs:
            if fault := input_name_fault(given.name, theirs):
                yield _INPUTS, fault

    def nothing_left(self) -> Fault:
        """Return the fault that no case is left, at the condition that leaves out most combinations."""
        if not self._dropped:
            return self.study.fault(None, "no case is left; loosen 'where' or 'exclude'")
        (text, count), *_ = self._dropped.most_common(1)
        kind, _, condition = text.partition(" ")
        origin = self.study.origins.get(kind)
        for one in self.study.exclude:
            if kind == "exclude" and one.text == condition and isinstance(one, Exclusion):
                origin = one.origin or origin
        total = sum(self._dropped.values())
        share = f"all of {total}" if count == total else f"{count} of {total}"
        message = (
            f"no case is left; loosen 'where' or 'exclude': {condition!r} leaves out {share} combinations"
        )
        return self.study.fault(origin, message)

    def _asked(self, combination: Combination) -> Case | None:
        """Return the case as the study asks for it; None, with a fault recorded, where it is impossible."""
        settings = combination.settings
        name = settings.get("workload")
        if not isinstance(name, str) or name not in self._parameters:
            self._report("no workload; name one in 'factors' or 'cases'", combination)
            return None
        layout = self._layout(settings)
        if isinstance(layout, str):
            self._report(layout, combination)
            return None
        return self._case(self.workloads[name], settings, layout, combination)

    def _running(self, asked: Case, combination: Combination) -> Case | None:
        """Return the case with the layout in which it runs.

        Returns None, with a fault recorded, where it cannot be bound, or cannot use its storage path or its
        network.
        """
        if self.edition is Edition.ASKED:
            return asked
        wish = Binding(str(combination.settings["bind"])) if "bind" in combination.settings else None
        placed = self._placed(asked, wish)
        if placed.fault:
            self._report(placed.fault, combination, {placed.at})
            return None
        used = (
            asked if placed.layout == asked.layout else msgspec.structs.replace(asked, layout=placed.layout)
        )
        return self._identified(used)

    def _placed(self, asked: Case, wish: Binding | None) -> _Placed:
        """Return how `asked` runs; it is derived once for cases that differ in nothing that decides it."""
        workload = self.workloads[asked.workload]
        if not getattr(workload, "has_stages_by_layout", False):
            return self._place(asked, workload.stages(asked), wish)
        key = (asked.workload, asked.platform, asked.network, asked.storage, asked.layout, wish)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self._place(asked, workload.stages(asked), wish)
        return found

    def _place(self, asked: Case, stages: tuple[Stage, ...], wish: Binding | None) -> _Placed:
        site = self.site
        platform = site.platforms.get(asked.platform) or Platform()
        layout, stage = used_layout(stages, asked.layout)
        layout = msgspec.structs.replace(layout, bind=binding(wish, layout, stage, platform, site))
        for at, fault in (
            ("bind", bind_fault(layout.binding, layout, platform, site)),
            ("storage", storage_fault(asked, layout, stages, site)),
            ("network", host_fault(asked, platform, site)),
        ):
            if fault:
                return _Placed(layout, fault, at)
        return _Placed(layout)

    def _identified(self, case: Case) -> Case:
        return identified(case, self._digests[case.workload], self._late[case.workload])

    def _case(
        self, workload: Workload, settings: Settings, layout: Layout, combination: Combination
    ) -> Case | None:
        parameters: dict[str, Scalar] = {}
        for parameter, default in self._parameters[workload.name]:
            name = parameter.name
            value = settings.get(name)
            if value is None:
                is_needless = parameter.unless is not None and bool(settings.get(parameter.unless))
                value = parameter.default if is_needless else default
            if value is None:
                cure = f"write 'workload: {{{workload.name}: {{{name}: …}}}}', or make it a factor"
                self._report(f"{workload.name} needs a value for {name!r}; {cure}", combination)
                return None
            parameters[name] = value
        case = Case(
            id="",
            workload=workload.name,
            platform=str(settings.get("platform") or self._platform),
            network=_text(settings.get("network") or self._network),
            storage=_text(settings.get("storage") or self._storage),
            io=_text(settings.get("io")),
            layout=layout,
            parameters=parameters,
            software=self._software(workload, combination),
            names={
                factor.name: level.name
                for factor, level in zip(self._factors, combination.levels, strict=True)
                if level.name and factor.name != "cases"
            }
            if self._has_names
            else {},
        )
        return self._identified(case) if self.edition is Edition.ASKED else case

    def _own_parameters(self, workload: Workload) -> Iterator[Parameter]:
        """Yield the parameters of `workload`, then the program settings that the study sets anywhere."""
        yield from workload.parameters
        yield from (one for one in program_settings(workload) if one.name in self._program_settings)

    def _software(self, workload: Workload, combination: Combination) -> Layers:
        """Return what the study loads: for all cases, then by levels, then for the workload that it declares.

        Software adds up, while of other settings the most special one wins.
        """
        if not self._has_software:
            return ()
        own = [one.name for one in workload.parameters]
        places = [self.study.common, *(level.settings for level in combination.ranked)]
        declared = [one.software for one in self.study.workloads if one.name == workload.name]
        return layers_of([*(software_of(place, without=own) for place in places), *declared])

    def _digest(self, workload: Workload) -> str | None:
        """Return the digest of `workload`, and of what the study adds to its programs if it does."""
        around = self.study.prologue, self.study.epilogue
        inputs = (self.study.inputs,) if self.study.inputs else ()
        if not any((*around, *inputs)):
            return workload.digest
        text = msgspec.json.encode([workload.digest, *around, *inputs])
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def _default(self, parameter: Parameter) -> Scalar | None:
        fact = self.site.fact(parameter.fact) if parameter.fact else None
        return parameter.default if fact is None else fact

    def _is_left_out(self, case: Case, *, is_bound: bool = True) -> bool:
        """Return whether a condition leaves out `case`; conditions see its binding only if it `is_bound`."""
        if not self.study.where and not self.study.exclude:
            return False
        row = {name: value for name, value in case.settings.items() if is_bound or name != "bind"}
        known = {**self._from_site(case), **row, **self.workloads[case.workload].derive(row)}
        for number, one in enumerate(self.study.exclude):
            if one.holds(known) is True:
                self.left_out.setdefault(number, set()).add(self._identified(case).id)
                self._dropped[f"exclude {one.text}"] += 1
                return True
        for condition in self.study.where:
            if condition.holds(known) is False:
                self._dropped[f"where {condition.text}"] += 1
                return True
        return False

    def _from_site(self, case: Case) -> Settings:
        """Return what conditions know of `case` from its site (see core.study.SITE_SETTINGS)."""
        is_known = self.site.slots_per_node > 1 or self.site.shared_cores is not None
        return {"slots": self.site.slots(case.layout.nodes)} if is_known else {}

    def _layout(self, settings: Settings) -> Layout | str:
        key = tuple([settings.get(name) for name in ASKABLE])
        layout = self._layouts.get(key)
        if layout is None:
            layout = layout_at(settings, self.site)
            if isinstance(layout, Layout):
                bind = Binding(str(settings.get("bind", "none")))
                layout = msgspec.structs.replace(layout, bind=bind)
            self._layouts[key] = layout
        return layout

    def _report(self, message: str, combination: Combination, names: Iterable[str] = ()) -> None:
        origin = self._culprit(message, combination, frozenset(names))
        if len(self.faults) < _MOST_FAULTS:
            self.faults.setdefault((message, origin), self.study.fault(origin, message))

    def _culprit(self, message: str, combination: Combination, names: frozenset[str]) -> Origin | None:
        """Return where the study sets a setting that `message` names: the place that takes effect."""
        ranked = sorted(
            zip(self._factors, combination.levels, strict=True),
            key=lambda one: speciality(one[0]),
            reverse=True,
        )
        named = names or _named_settings(message, combination.settings)
        for _, level in ranked:
            if level.origin and named & (level.settings.keys() - {"workload"}):
                return level.origin
        for name in sorted(named, key=setting_order):
            if name in self.study.common and name in self.study.origins:
                return self.study.origins[name]
        is_workload = [level.origin for _, level in ranked if level.origin and "workload" in level.settings]
        others = [level.origin for level in reversed(combination.levels) if level.origin]
        return next(iter([*is_workload, *others]), self.study.origins.get("workload"))


def _named_settings(message: str, settings: Settings) -> frozenset[str]:
    """Return those of `settings` that `message` names."""
    words = set(re.findall(r"[A-Za-z_]+", message))
    return frozenset(name for name in settings if name in words)


def _set_names(study: Study) -> set[str]:
    """Return the names of all settings that `study` sets."""
    levels = itertools.chain(study.cases, *(factor.levels for factor in study.factors))
    return {*study.common, *study.reference, *(name for level in levels for name in level.settings)}


def _used_workloads(study: Study, workloads: Mapping[str, Workload]) -> Iterator[tuple[str, Workload]]:
    """Yield only the workloads that the study names, so that the others need not be imported."""
    levels: Iterable[Level] = itertools.chain(study.cases, *(factor.levels for factor in study.factors))
    names = {level.settings.get("workload") for level in levels} | {study.common.get("workload")}
    for name in names:
        if isinstance(name, str) and name in workloads:
            yield name, workloads[name]


def _text(value: Scalar | None) -> str | None:
    return None if value is None else str(value)
