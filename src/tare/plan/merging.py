"""Find levels of a factor that make the same case, and say why. Pure.

What a study asks to vary must vary: a factor whose levels all make the same cases is a fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tare.core.case import Case
from tare.core.counting import count
from tare.core.errors import Fault
from tare.core.plan import Plan
from tare.core.study import DESIGN_SETTINGS, Factor, Level, Origin, Study
from tare.core.values import Scalar
from tare.plan.combinations import Combination, all_factors, speciality
from tare.plan.layouts import LAYOUT_SETTINGS

_MOST_NAMED = 8


class _Row(NamedTuple):
    """A combination that is not left out, and the case that it makes."""

    numbers: tuple[int, ...]
    case: Case


class _Merged(NamedTuple):
    """Levels of factor number `factor` that make one case for `workload`.

    A context is one choice of levels of all other factors. The levels make one case in `n_merged` of the
    `n_contexts` in which several of them are present.
    """

    workload: str
    factor: int
    numbers: tuple[int, ...]
    example: _Row
    n_merged: int
    n_contexts: int

    @property
    def is_everywhere(self) -> bool:
        """Return whether the levels make one case for all levels of the other factors."""
        return self.n_merged == self.n_contexts


class Merging:
    """The combinations of a study and their cases; several combinations may make the same case."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._factors = all_factors(study)
        self._rows: dict[str, list[tuple[Combination, Case]]] = defaultdict(list)
        self._differing: dict[str, dict[str, set[Scalar]]] = {}
        self._example: dict[str, _Row] = {}

    def add(self, combination: Combination, case: Case) -> None:
        """Add a combination and its case."""
        self._rows[case.workload].append((combination, case))

    def add_differing(
        self, combination: Combination, case: Case, differing: Mapping[str, tuple[Scalar, Scalar]]
    ) -> None:
        """Add the layout settings of a combination whose used value is not the asked one."""
        for name, (asked, _) in differing.items():
            self._differing.setdefault(case.workload, {}).setdefault(name, set()).add(asked)
            self._example.setdefault(case.workload, _Row(combination, case))

    def repeated(self, plan: Plan) -> Iterator[Fault]:
        """Yield a fault for each level that the study lists twice."""
        for factor in self._factors:
            seen: dict[frozenset[tuple[str, Scalar]], int] = {}
            for number, level in enumerate(factor.levels):
                first = seen.setdefault(frozenset(level.settings.items()), number)
                if first != number:
                    text = _level(plan, level)
                    yield self._study.fault(level.origin, f"{text} is there twice; remove one of the two")

    def judge(self, plan: Plan) -> tuple[list[Fault], list[Fault]]:
        """Return faults for the factors that vary nothing, and notes on other levels that make one case."""
        found = [merged for workload in self._rows for merged in self._merged(workload)]
        idle = {number for number in {one.factor for one in found} if self._is_idle(number, found)}
        faults = []
        for number in sorted(idle):
            one = next(one for one in found if one.factor == number)
            name = self._factors[number].name
            message = f"{name} varies nothing: {self._reason(one, plan)}; drop {name}"
            faults.append(self._study.fault(self._origin(one), message))
        rest = [one for one in found if one.factor not in idle]
        noted = {one.workload for one in rest if self._layout_names(one)}
        notes = [self._note(one, plan) for one in rest]
        notes += [self._layout_note(name) for name in self._differing if name not in noted]
        return faults, notes

    def _is_idle(self, factor: int, found: Iterable[_Merged]) -> bool:
        """Return whether all levels of a factor make one case, for every workload."""
        everywhere = {one.workload: one for one in found if one.factor == factor and one.is_everywhere}
        for workload, rows in self._rows.items():
            present = {numbers[factor] for numbers, _ in rows}
            merged = everywhere.get(workload)
            if merged is None or set(merged.numbers) != present:
                return False
        return True

    def _merged(self, workload: str) -> Iterator[_Merged]:
        found = self._rows[workload]
        if len({case.id for _, case in found}) == len(found):
            return
        rows = [_Row(*one) for one in found]
        for index in range(len(self._factors)):
            contexts: dict[tuple[int, ...], list[_Row]] = {}
            for row in rows:
                contexts.setdefault(row.numbers[:index] + row.numbers[index + 1 :], []).append(row)
            yield from _merged_levels(workload, index, list(contexts.values()))

    def _note(self, one: _Merged, plan: Plan) -> Fault:
        factor = self._factors[one.factor]
        levels = [_value(plan, factor, factor.levels[number]) for number in one.numbers]
        shown = levels if len(levels) <= _MOST_NAMED else [*levels[:_MOST_NAMED], "…"]
        where = "" if one.is_everywhere else f" in {one.n_merged} of {one.n_contexts} combinations"
        message = (
            f"{factor.name} {', '.join(shown[:-1])} and {shown[-1]} are one case for {one.workload}{where}: "
            f"{self._reason(one, plan)}"
        )
        return self._study.fault(self._origin(one), message)

    def _reason(self, one: _Merged, plan: Plan) -> str:
        names = self._names(one)
        for name in names:
            level = self._overriding(one, name)
            if level is not None:
                where = f" ({level.origin.file}:{level.origin.line})" if level.origin else ""
                return (
                    f"the level {_level(plan, level)}{where} sets {name} itself and takes precedence; "
                    "set it in one place"
                )
        missing = [name for name in names if name not in (*DESIGN_SETTINGS, *one.example.case.parameters)]
        if missing:
            return f"{one.workload} has no parameter {missing[0]}"
        if self._layout_names(one):
            return f"{_runs(one.example.case)}, whatever {' and '.join(names)} may be"
        return "they ask for the same"

    def _names(self, one: _Merged) -> list[str]:
        """Return the settings in which the merged levels differ."""
        levels = [self._factors[one.factor].levels[number].settings for number in one.numbers]
        names = dict.fromkeys(name for level in levels for name in level)
        return [name for name in names if len({level.get(name) for level in levels}) > 1]

    def _layout_names(self, one: _Merged) -> bool:
        names = self._names(one)
        return bool(names) and all(name in (*LAYOUT_SETTINGS, "bind") for name in names)

    def _overriding(self, one: _Merged, name: str) -> Level | None:
        """Return the more special level that overrides setting `name` in the merged combinations."""
        own = speciality(self._factors[one.factor])
        for index, number in enumerate(one.example.numbers):
            factor = self._factors[index]
            level = factor.levels[number]
            is_later = (speciality(factor), index) > (own, one.factor)
            if index != one.factor and name in level.settings and is_later:
                return level
        return None

    def _origin(self, one: _Merged) -> Origin | None:
        return self._factors[one.factor].levels[one.numbers[1]].origin

    def _layout_note(self, workload: str) -> Fault:
        differing, row = self._differing[workload], self._example[workload]
        asked = " ".join(
            f"{name}={'|'.join(str(value) for value in sorted(values, key=str))}"
            for name, values in differing.items()
        )
        runs = _runs(row.case, is_bound="bind" in differing)
        message = f"the study asks for {asked}, but of {workload} {runs}"
        return self._study.fault(self._asking(next(iter(differing)), row), message)

    def _asking(self, name: str, row: _Row) -> Origin | None:
        levels = [self._factors[index].levels[number] for index, number in enumerate(row.numbers)]
        found = [level.origin for level in levels if name in level.settings and level.origin]
        return found[-1] if found else self._study.origins.get(name)


def _merged_levels(workload: str, factor: int, contexts: list[list[_Row]]) -> Iterator[_Merged]:
    """Yield the groups of levels of one factor that make the same case in some of `contexts`."""
    parent: dict[int, int] = {}

    def root(number: int) -> int:
        while parent.setdefault(number, number) != number:
            number = parent[number]
        return number

    examples: dict[int, _Row] = {}
    for rows in contexts:
        first: dict[str, _Row] = {}
        for row in rows:
            other = first.setdefault(row.case.id, row)
            if other is not row:
                one, two = sorted((root(other.numbers[factor]), root(row.numbers[factor])))
                parent[two] = one
                examples.setdefault(row.numbers[factor], row)
    groups: dict[int, list[int]] = {}
    for number in sorted(parent):
        groups.setdefault(root(number), []).append(number)
    for numbers in groups.values():
        ids = [[row.case.id for row in rows if row.numbers[factor] in numbers] for rows in contexts]
        shared = [found for found in ids if len(found) > 1]
        yield _Merged(
            workload,
            factor,
            tuple(numbers),
            next(examples[number] for number in numbers if number in examples),
            sum(len(set(found)) == 1 for found in shared),
            len(shared),
        )


def _level(plan: Plan, level: Level) -> str:
    """Return a level's name or, without one, its settings: ``nodes=2``."""
    if level.name:
        return level.name
    return " ".join(f"{name}={plan.written(name, value)}" for name, value in level.settings.items())


def _value(plan: Plan, factor: Factor, level: Level) -> str:
    """Return a level without its setting's name where that is the factor's own name: ``2``."""
    if level.name is None and tuple(level.settings) == (factor.name,):
        return plan.written(factor.name, level.settings[factor.name])
    return _level(plan, level)


def _runs(case: Case, *, is_bound: bool = False) -> str:
    """Return how a case runs: ``2 ranks run on 2 nodes with 1 thread each``."""
    layout = case.layout
    ranks = count(layout.ranks, "rank runs", "ranks run")
    nodes = count(layout.nodes, "node")
    threads = count(layout.threads, "thread")
    each = " each" if layout.ranks > 1 else ""
    bound = f", bound to {layout.binding.value}" if is_bound else ""
    return f"{ranks} on {nodes} with {threads}{each}{bound}"
