"""Make the cases of a study from its combinations, and record every fault where the study causes it. Pure."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

import msgspec

from tare.core.case import Binding, Case
from tare.core.counting import count
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
from tare.core.study import DESIGN_SETTINGS, Exclusion, Factor, Level, Origin, Study, setting_order
from tare.core.values import Scalar, Settings
from tare.core.workload import Parameter, Stage, Workload
from tare.plan.alike import Alike, Placed, Running
from tare.plan.combinations import Combination, Combinations, speciality
from tare.plan.content import Outline
from tare.plan.layouts import (
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
        self.combinations = Combinations(study)
        self._alike: dict[tuple[int, ...], Alike | str] = {}
        self._shapes = [_shapes(factor) for factor in self.combinations.factors]
        self._program_settings = _set_names(study) & PROGRAM_SETTINGS.keys()
        own = {name: tuple(self._own_parameters(one)) for name, one in self.workloads.items()}
        self._late = {name: tuple(one for one in ones if one.is_late) for name, ones in own.items()}
        self._defaults = {name: {one.name: self._default(one) for one in ones} for name, ones in own.items()}
        self._columns = {name: self.combinations.columns(ones) for name, ones in self._defaults.items()}
        self._replaceable = {name: tuple(one for one in ones if one.unless) for name, ones in own.items()}
        self._digests = {name: self._digest(workload) for name, workload in self.workloads.items()}
        self._platform = next(iter(site.platforms), "")
        self._network = next(iter(site.networks), None)
        self._storage = next(iter(site.storage), None)
        self._has_conditions = bool(study.where or study.exclude)
        self._has_around = bool(study.prologue or study.epilogue or study.inputs)
        self._dropped: Counter[str] = Counter()

    def add_all(self) -> None:
        """Add the case of each combination of the study's levels."""
        shapes = itertools.product(*self._shapes)
        for combination, shape in zip(self.combinations, shapes, strict=True):
            self._add(combination, shape)

    def _add(self, combination: Combination, shape: tuple[int, ...]) -> None:
        """Add the case of `combination`, unless the study leaves it out or it is impossible."""
        alike = self._alike_of(combination, shape)
        parameters = self._parameters_of(alike.workload, combination) if alike else None
        if alike is None or parameters is None:
            return
        running = alike.running or self._examined(alike, parameters, combination)
        if running is None:
            return
        case = running.outline.with_parameters(parameters)
        if self._has_conditions and self.edition is Edition.USED and self._is_left_out(case):
            return
        case = self.cases.setdefault(case.id, case)
        self.merging.add(combination, case)
        if not running.has_cases:
            running.has_cases = True
            self.asked[alike.workload].update(alike.names)
            self.determined[alike.workload].update(running.differing)
            self.merging.add_differing(combination, case, running.differing)

    def _examined(
        self, alike: Alike, parameters: dict[str, Scalar], combination: Combination
    ) -> Running | None:
        """Return how the case of `combination` runs; None if the study leaves it out or it is impossible."""
        asked = alike.asked.with_parameters(parameters)
        if self._is_left_out(asked, is_bound="bind" in alike.names):
            return None
        reasons = self._reasons(asked, alike)
        for reason in reasons:
            self._report(f"{asked.workload}: {reason}", combination)
        if self._has_around:
            self._report_around(asked, has_stages=not reasons)
        running = None if reasons else self._running(asked, alike, combination)
        depends = self._has_conditions or self._has_around or self._program_settings
        if not depends and alike.reasons is not None and alike.placed is not None:
            alike.running = running
        return running

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
        theirs += [f"{one.name}.{output}" for one in stages for output in ("stdout", "stderr")]
        for given in study.inputs:
            if fault := input_name_fault(given.name, theirs):
                yield _INPUTS, fault

    def nothing_left(self) -> Fault:
        """Return the fault that no case is left, at the condition that leaves out most combinations."""
        if not self._dropped:
            return self.study.fault(None, "no case is left; loosen 'where' or 'exclude'")
        (text, n_dropped), *_ = self._dropped.most_common(1)
        kind, _, condition = text.partition(" ")
        origin = self.study.origins.get(kind)
        for one in self.study.exclude:
            if kind == "exclude" and one.text == condition and isinstance(one, Exclusion):
                origin = one.origin or origin
        total = sum(self._dropped.values())
        share = f"{'all' if n_dropped == total else n_dropped} of {count(total, 'combination')}"
        message = f"no case is left; loosen 'where' or 'exclude': {condition!r} leaves out {share}"
        return self.study.fault(origin, message)

    def _alike_of(self, combination: Combination, shape: tuple[int, ...]) -> Alike | None:
        """Return what `combination` shares with those like it; None, with a fault recorded, for no case."""
        found = self._alike.get(shape)
        if found is None:
            found = self._alike[shape] = self._new_alike(combination)
        if isinstance(found, str):
            self._report(found, combination)
            return None
        return found

    def _new_alike(self, combination: Combination) -> Alike | str:
        """Return what combinations like `combination` have in common, or why they make no case."""
        settings = self.combinations.settings(combination)
        name = settings.get("workload")
        if not isinstance(name, str) or name not in self.workloads:
            return "no workload; name one in 'factors' or 'cases'"
        layout = layout_at(settings, self.site)
        if isinstance(layout, str):
            return layout
        wish = Binding(str(settings["bind"])) if "bind" in settings else None
        case = Case(
            id="",
            workload=name,
            platform=str(settings.get("platform") or self._platform),
            network=_text(settings.get("network") or self._network),
            storage=_text(settings.get("storage") or self._storage),
            io=_text(settings.get("io")),
            layout=msgspec.structs.replace(layout, bind=wish or Binding.NONE),
            software=self._software(self.workloads[name], combination),
            names={
                factor.name: level.name
                for factor, level in self._chosen(combination)
                if level.name and factor.name != "cases"
            },
        )
        return Alike(self._outline(case), asked_names(settings), wish)

    def _outline(self, case: Case) -> Outline:
        return Outline(case, self._digests[case.workload], self._late[case.workload])

    def _chosen(self, combination: Combination) -> Iterator[tuple[Factor, Level]]:
        return zip(self.combinations.factors, self.combinations.levels(combination), strict=True)

    def _parameters_of(self, workload: str, combination: Combination) -> dict[str, Scalar] | None:
        """Return the parameters of a case; None, with a fault recorded, where one has no value."""
        defaults = self._defaults[workload]
        if self._replaceable[workload]:
            settings = self.combinations.settings(combination)
            replaced = (one for one in self._replaceable[workload] if settings.get(one.unless or ""))
            defaults = {**defaults, **{one.name: one.default for one in replaced}}
        found = self._columns[workload].updated(defaults, combination)
        if None in found.values():
            name = next(name for name, value in found.items() if value is None)
            cure = f"write 'workload: {{{workload}: {{{name}: …}}}}', or make it a factor"
            self._report(f"{workload} needs a value for {name!r}; {cure}", combination)
            return None
        return cast("dict[str, Scalar]", found)

    def _reasons(self, asked: Case, alike: Alike) -> tuple[str, ...]:
        """Return why `asked` cannot run; a workload may say that all that are alike have the same faults."""
        workload = self.workloads[asked.workload]
        reasons = alike.reasons
        if reasons is None:
            reasons = tuple(workload.faults(asked))
            alike.reasons = reasons if getattr(workload, "has_faults_by_layout", False) else None
        return (*reasons, *program_faults(asked, workload)) if self._program_settings else reasons

    def _running(self, asked: Case, alike: Alike, combination: Combination) -> Running | None:
        """Return how `asked` runs, with the layout that its workload starts.

        Returns None, with a fault recorded, where it cannot be bound, or cannot use its storage path or its
        network.
        """
        placed = Placed(asked.layout) if self.edition is Edition.ASKED else self._placed(asked, alike)
        if placed.fault:
            self._report(placed.fault, combination, {placed.at})
            return None
        found = alike.used.get(placed.layout)
        if found is None:
            used = msgspec.structs.replace(alike.asked.case, layout=placed.layout)
            outline = alike.asked if placed.layout == asked.layout else self._outline(used)
            found = alike.used[placed.layout] = Running(outline, difference(asked, used, alike.names))
        return found

    def _placed(self, asked: Case, alike: Alike) -> Placed:
        """Return how `asked` runs; its workload may say that all that are alike run in the same way."""
        if alike.placed is not None:
            return alike.placed
        workload = self.workloads[asked.workload]
        placed = self._place(asked, workload.stages(asked), alike.wish)
        alike.placed = placed if getattr(workload, "has_stages_by_layout", False) else None
        return placed

    def _place(self, asked: Case, stages: tuple[Stage, ...], wish: Binding | None) -> Placed:
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
                return Placed(layout, fault, at)
        return Placed(layout)

    def _own_parameters(self, workload: Workload) -> Iterator[Parameter]:
        """Yield the parameters of `workload`, then the program settings that the study sets anywhere."""
        yield from workload.parameters
        yield from (one for one in program_settings(workload) if one.name in self._program_settings)

    def _software(self, workload: Workload, combination: Combination) -> Layers:
        """Return what the study loads: for all cases, then by levels, then for the workload.

        Software adds up, while of other settings the most special one wins.
        """
        own = [one.name for one in workload.parameters]
        places = [self.study.common, *(one.settings for one in self.combinations.ranked(combination))]
        if workload.name == self.study.common.get("workload"):
            places.append(self.study.own_software)
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
        if not self._has_conditions:
            return False
        row = {name: value for name, value in case.settings.items() if is_bound or name != "bind"}
        known = {**self._from_site(case), **row, **self.workloads[case.workload].derive(row)}
        for number, one in enumerate(self.study.exclude):
            if one.holds(known) is True:
                self.left_out.setdefault(number, set()).add(case.id)
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

    def _report(self, message: str, combination: Combination, names: Iterable[str] = ()) -> None:
        origin = self._culprit(message, combination, frozenset(names))
        if len(self.faults) < _MOST_FAULTS:
            self.faults.setdefault((message, origin), self.study.fault(origin, message))

    def _culprit(self, message: str, combination: Combination, names: frozenset[str]) -> Origin | None:
        """Return where the study sets a setting that `message` names: the place that takes effect."""
        ranked = sorted(
            self._chosen(combination),
            key=lambda one: speciality(one[0]),
            reverse=True,
        )
        named = names or _named_settings(message, self.combinations.settings(combination))
        for _, level in ranked:
            if level.origin and named & (level.settings.keys() - {"workload"}):
                return level.origin
        for name in sorted(named, key=setting_order):
            if name in self.study.common and name in self.study.origins:
                return self.study.origins[name]
        is_workload = [level.origin for _, level in ranked if level.origin and "workload" in level.settings]
        others = [level.origin for level in reversed(self.combinations.levels(combination)) if level.origin]
        return next(iter([*is_workload, *others]), self.study.origins.get("workload"))


def _named_settings(message: str, settings: Settings) -> frozenset[str]:
    """Return those of `settings` that `message` names."""
    words = set(re.findall(r"[A-Za-z_]+", message))
    return frozenset(name for name in settings if name in words)


def _shapes(factor: Factor) -> list[int]:
    """Return the number of the first level that is like each level of `factor` in all but parameters.

    A level with a name, or one that loads software, which adds up over the levels, is like no other.
    """
    first: dict[frozenset[tuple[str, Scalar]], int] = {}
    found = []
    for number, level in enumerate(factor.levels):
        settings = level.settings
        if level.name or not settings.keys().isdisjoint(SOFTWARE_SETTINGS):
            found.append(number)
        else:
            shape = frozenset((name, value) for name, value in settings.items() if name in DESIGN_SETTINGS)
            found.append(first.setdefault(shape, number))
    return found


def _set_names(study: Study) -> set[str]:
    """Return the names of all settings that `study` sets."""
    levels = itertools.chain(study.cases, *(factor.levels for factor in study.factors))
    places = (study.common, study.own_software, study.reference, *(level.settings for level in levels))
    return {name for place in places for name in place}


def _used_workloads(study: Study, workloads: Mapping[str, Workload]) -> Iterator[tuple[str, Workload]]:
    """Yield only the workloads that the study names, so that the others need not be imported."""
    levels: Iterable[Level] = itertools.chain(study.cases, *(factor.levels for factor in study.factors))
    names = {level.settings.get("workload") for level in levels} | {study.common.get("workload")}
    for name in names:
        if isinstance(name, str) and name in workloads:
            yield name, workloads[name]


def _text(value: Scalar | None) -> str | None:
    return None if value is None else str(value)
