"""A plan: the cases of a study at a site, and the order in which each block passes over them."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import msgspec

from tare.core.bounds import Link, Peaks
from tare.core.case import Case
from tare.core.counting import count
from tare.core.memo import Memo
from tare.core.study import DESIGN_SETTINGS, Design
from tare.core.values import MOST_RUNS, Scalar
from tare.core.workload import Fom, ParameterKind, written

_Values: TypeAlias = tuple[Scalar | None, ...]
_ByValues: TypeAlias = dict[_Values, list[Case]]


class _Lookup(NamedTuple):
    """References by their values of the parameters `names`, all other settings being as they must be."""

    names: tuple[str, ...]
    found: _ByValues


class Edition(enum.IntEnum):
    """The rules by which a plan's cases were made; a campaign keeps those that it began with."""

    ASKED = 1
    """Version 0.1.0: the layout of a case is what the study asks for, unbound unless the study binds it."""
    USED = 2
    """The layout of a case is what its workload starts; ranks are bound by default where they fit."""


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """Cases that a study leaves out: by which condition, why, and how many.

    `because` is empty where no reason is given.
    """

    condition: str
    because: str = ""
    n_cases: int = 0

    def __str__(self) -> str:
        cases = count(self.n_cases, "case")
        return f"{cases} with {self.condition}: {self.because or 'no reason given'}"


class Plan(Design, frozen=True, kw_only=True, dict=True):
    """What a campaign will do.

    - `varied` names the settings that differ between cases, `sizes` those in bytes.
    - `foms` holds the figures of merit by workload, `kinds` the kinds of each workload's parameters.
    - `links`, by network, and `peaks` are the bounds of figures.
    - `derived` names, by workload, the settings that the study leaves to be derived, such as the ranks where
      it gives nodes and ranks per node.
    - `together` names the settings that the levels of one factor set together.
    - `sending` names the workloads whose data are what ranks send each other over their case's network; None
      where that is not known, as in campaigns of version 0.1.0.
    - `notes` are what a user should know about how the cases were made, each with its place in the study.
    - `left_out` is what the study's conditions leave out.
    - `profiled` are the cases that run once more in each block with the profiling library (see Case).
    """

    study: str
    site: str
    cases: tuple[Case, ...]
    varied: tuple[str, ...] = ()
    foms: Mapping[str, tuple[Fom, ...]] = {}
    sizes: tuple[str, ...] = ()
    links: Mapping[str, Link] = {}
    peaks: Peaks = Peaks()
    kinds: Mapping[str, Mapping[str, ParameterKind]] = {}
    derived: Mapping[str, tuple[str, ...]] = {}
    together: tuple[tuple[str, ...], ...] = ()
    sending: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    edition: Edition = Edition.ASKED
    profiled: tuple[Case, ...] = ()

    @property
    def n_runs(self) -> int:
        """Return the smallest number of measured runs; `repeats` may allow more."""
        return len(self.cases) * self.repeats.min

    @property
    def with_profiled_runs(self) -> Plan:
        """Return the plan of everything that runs: its profiled cases are cases like the others."""
        if not self.profiled:
            return self
        return msgspec.structs.replace(self, cases=(*self.cases, *self.profiled), profiled=())

    @property
    def n_runs_at_most(self) -> int:
        """Return the largest number of runs that `repeats` allows."""
        return len(self.cases) * max(self.repeats.min, self.repeats.max, self.warmup)

    @property
    def is_too_large(self) -> bool:
        """Return whether it may have more runs than fit in memory; such a plan is never read."""
        return self.n_runs_at_most > MOST_RUNS

    def order(self, block: int) -> tuple[Case, ...]:
        """Return every case once, in the random order of `block` (a randomised complete block).

        Cases are sorted by a keyed hash rather than shuffled, so that a campaign that gets more cases keeps
        the order of those it has.
        """
        by_id = {case.id: case for case in self.cases}
        return tuple(by_id[case] for case in self.order_of_ids(by_id, block))

    def order_of_ids(self, cases: Iterable[str], block: int) -> list[str]:
        """Return the ids of cases in the random order of `block` (see order)."""
        key = f"{self.seed}:{block}".encode()
        return sorted(cases, key=lambda one: hashlib.blake2b(one.encode(), key=key, digest_size=8).digest())

    def reference_of(self, case: Case) -> Case | None:
        """Return the case that `case` is compared with: the same except for the reference's settings.

        Settings that follow from those may differ, too: settings that the study derives, and settings that
        one factor sets together with them. A case of another workload keeps its own parameters. None for a
        reference case itself, and where the plan has no such case, or several that are equally similar.
        """
        if not self.reference or self.is_reference(case):
            return None
        return self._reference_of_contender(case)

    def contenders(self) -> list[tuple[Case, Case | None]]:
        """Return each case that is no reference case, with the case that it is compared with, if any.

        A plan without a reference has none.
        """
        if not self.reference:
            return []
        contenders = [case for case in self.cases if case.id not in self.reference_ids]
        return [(case, self._reference_of_contender(case)) for case in contenders]

    def _reference_of_contender(self, case: Case) -> Case | None:
        ours = case.parameters
        lookups = self.memo.get((Plan._lookups, case.form, tuple(ours)), lambda: self._lookups(case))
        near = [one for names, found in lookups for one in found.get(tuple(map(ours.get, names)), ())]
        return near[0] if len(near) == 1 else self._nearest(case, near)

    def _nearest(self, case: Case, near: Sequence[Case]) -> Case | None:
        """Return the one of the references `near` that is most similar to `case`; None if several are."""
        ours = case.settings
        wanted = ours | dict(self.reference)
        exact = [one for one in near if one.settings == wanted]
        if exact:
            return exact[-1]
        free = self._free(case.workload)
        by_likeness: dict[int, list[Case]] = {}
        for one in near:
            n_alike = sum([ours.get(name) == one.setting(name) for name in free])
            by_likeness.setdefault(n_alike, []).append(one)
        best = by_likeness[max(by_likeness)] if by_likeness else []
        return best[0] if len(best) == 1 else None

    def _free(self, workload: str) -> set[str]:
        """Return the settings in which a reference may differ from a case of `workload`."""
        given = set(self.reference)
        other = str(self.reference.get("workload", workload))
        coupled = {name for group in self.together if given & set(group) for name in group}
        return given.union(coupled, self.derived.get(workload, ()), self.derived.get(other, ()))

    def _lookups(self, case: Case) -> list[_Lookup]:
        """Return where references of `case` are looked up, and of all that differ in parameters alone."""
        ours, workload = case.settings, case.workload
        other = str(self.reference.get("workload", workload))
        free = self._free(workload)
        found = []
        for theirs in self._forms.get(other, ()):
            fixed = theirs.union(ours)
            if other != workload:
                both = theirs.intersection(ours)
                fixed = frozenset(name for name in both if name in DESIGN_SETTINGS or name in self.varied)
            equal = sorted(fixed - free)
            names = tuple(name for name in equal if name in case.parameters)
            rest = tuple(name for name in equal if name not in case.parameters)
            alike = self._alike(other, theirs, rest, names).get(tuple(map(ours.get, rest)))
            found += [_Lookup(names, alike)] if alike else []
        return found

    def _alike(
        self, workload: str, theirs: frozenset[str], rest: tuple[str, ...], names: tuple[str, ...]
    ) -> Mapping[_Values, _ByValues]:
        """Return the references of `workload` with the settings `theirs`, by their values of two groups."""

        def index() -> Mapping[_Values, _ByValues]:
            found: dict[_Values, _ByValues] = {}
            for group in self._forms[workload][theirs]:
                first = group[0].settings
                for one in group:
                    settings = {**first, **one.parameters}
                    by_values = found.setdefault(tuple(map(settings.get, rest)), {})
                    by_values.setdefault(tuple(map(settings.get, names)), []).append(one)
            return found

        return self.memo.get((Plan._alike, workload, theirs, rest, names), index)

    def across_workloads(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        """Yield each workload that is compared with another: common figures, and figures of only one of them.

        Figures are the same if their name and unit are. Yields nothing where the reference names no workload.
        """
        reference = str(self.reference.get("workload", ""))
        theirs = {(fom.name, fom.unit) for fom in self.foms.get(reference, ())}
        for name, foms in self.foms.items():
            if not reference or name == reference:
                continue
            ours = {(fom.name, fom.unit) for fom in foms}
            yield name, _figures(ours & theirs), _figures(ours ^ theirs)

    def is_reference(self, case: Case) -> bool:
        """Return whether `case` has every setting of the reference."""
        return case.has(self.reference)

    def kind(self, name: str, workload: str | None = None) -> ParameterKind | None:
        """Return the kind of a parameter: of `workload`, or of all workloads that have it if they agree."""
        if workload is not None and workload in self.kinds:
            return self.kinds[workload].get(name)
        return self.memo.get((Plan.kind, name), lambda: self._common_kind(name))

    def _common_kind(self, name: str) -> ParameterKind | None:
        found = {own[name] for own in self.kinds.values() if name in own}
        if found:
            return found.pop() if len(found) == 1 else None
        return ParameterKind.BYTES if name in self.sizes else None

    def kinds_of(self, workload: str) -> Mapping[str, ParameterKind]:
        """Return the kinds of the parameters of `workload`, by name."""
        return self.kinds.get(workload) or dict.fromkeys(self.sizes, ParameterKind.BYTES)

    def describe(self, case: Case) -> str:
        """Return a case in a few words: its workload, and the settings that vary, as a study writes them."""
        settings = case.settings
        names = [name for name in self.varied if name in settings and name != "workload"]
        words = [f"{name}={self.written(name, settings[name], case.workload)}" for name in names]
        words += ["profiled"] if case.profile_of else []
        return " ".join([case.workload, *words])

    def written(self, name: str, value: Scalar, workload: str | None = None) -> str:
        """Return a setting's value with its unit, as a study writes it: ``64KiB`` for a size."""
        return written(value, self.kind(name, workload))

    @cached_property
    def memo(self) -> Memo:
        """Return the cache of what was derived from the plan, which does not change."""
        return Memo()

    @cached_property
    def by_form(self) -> Mapping[tuple[object, ...], Sequence[Case]]:
        """Return the cases by their forms (see Case.form): there are few where only parameters vary."""
        found: dict[tuple[object, ...], list[Case]] = {}
        for case in self.cases:
            found.setdefault(case.form, []).append(case)
        return found

    @cached_property
    def cases_by_id(self) -> Mapping[str, Case]:
        """Return the cases by their ids."""
        return {case.id: case for case in self.cases}

    @cached_property
    def reference_ids(self) -> frozenset[str]:
        """Return the ids of the reference cases; none where the plan names no reference."""
        if not self.reference:
            return frozenset()
        return frozenset(case.id for case in self.cases if self.is_reference(case))

    @cached_property
    def _forms(self) -> dict[str, dict[frozenset[str], list[list[Case]]]]:
        """Return the references by workload and by the names of their settings.

        Each list holds those that differ in nothing but the values of parameters.
        """
        groups: dict[tuple[object, ...], list[Case]] = {}
        for case in (case for case in self.cases if case.id in self.reference_ids):
            groups.setdefault((case.form, *case.parameters), []).append(case)
        found: dict[str, dict[frozenset[str], list[list[Case]]]] = {}
        for group in groups.values():
            names = frozenset(group[0].settings)
            found.setdefault(group[0].workload, {}).setdefault(names, []).append(group)
        return found


def _figures(found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{name} ({unit})" if unit else name for name, unit in sorted(found))
