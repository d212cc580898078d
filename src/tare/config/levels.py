"""Read the factors and cases of a study file as levels, each with its settings and its origin."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tare.config.document import Entry, ListNode, MapNode, Node, ScalarNode, child
from tare.config.faults import Faults, Path, Position, shown
from tare.config.kind_words import found
from tare.config.settings import Vocabulary
from tare.core.counting import count
from tare.core.program import PROGRAM_SETTINGS
from tare.core.study import Factor, Level
from tare.core.values import Scalar
from tare.core.workload import Workload

MOST_LEVELS = 100_000
MOST_COMBINATIONS = 1_000_000


def named_workloads(study: MapNode) -> Iterator[str]:
    """Yield the name of every workload that a study file sets anywhere, whether it exists or not."""
    factors = child(study, "factors")
    if isinstance(factors, MapNode):
        for name, entry in factors.entries.items():
            for level in _items(entry.value):
                yield from _names(level) if name == "workload" else _names(child(level, "workload"))
    for case in _items(child(study, "cases")):
        yield from _names(child(case, "workload"))
    yield from _names(child(study, "workload"))


def _names(node: Node | None) -> Iterator[str]:
    if isinstance(node, ScalarNode):
        yield node.text
    elif isinstance(node, MapNode):
        yield from node.entries
    for item in _items(node):
        yield from _names(item)


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.items if isinstance(node, ListNode) else ()


class LevelReader:
    """Reads levels with the names of one study's vocabulary. Skips what the decoder has refused."""

    def __init__(self, vocabulary: Vocabulary, faults: Faults) -> None:
        self.vocabulary = vocabulary
        self.faults = faults

    def factors(self, node: Node | None, path: Path) -> tuple[Factor, ...]:
        """Return the factors of a mapping from names to lists of levels."""
        if not isinstance(node, MapNode):
            return ()
        factors = [
            Factor(name, tuple(self._factor(name, entry, (*path, name))))
            for name, entry in node.entries.items()
        ]
        for factor in factors:
            self._check_names(factor, (*path, factor.name))
        n_combinations = math.prod(len(factor.levels) for factor in factors)
        if n_combinations > MOST_COMBINATIONS:
            message = (
                f"the factors make {count(n_combinations, 'case')}; drop levels to have "
                f"{MOST_COMBINATIONS} or fewer"
            )
            self.faults.add(node, path, message)
        return tuple(factors)

    def cases(self, node: Node | None, path: Path) -> tuple[Level, ...]:
        """Return the levels of the list `node`; a list inside a level stands for each of its values."""
        return tuple(
            level
            for number, item in enumerate(_items(node))
            if isinstance(item, MapNode)
            for level in self._mapping(item, (*path, number), self.vocabulary.sole_workload(item))
        )

    def workload(self, node: Node, path: Path) -> list[Level]:
        """Return the levels of a workload's name, or of a mapping ``{name: {parameter: value}}``."""
        if isinstance(node, ScalarNode):
            return self._plain("workload", node, path)
        if not isinstance(node, MapNode):
            return []
        if len(node.entries) != 1:
            message = "a workload is a name, or one name with its parameters indented beneath it"
            self.faults.add(node, path, f"{message}; found {count(len(node.entries), 'key')}")
            return []
        name, entry = next(iter(node.entries.items()))
        key = ScalarNode(entry.line, entry.column, name, name)
        if self.vocabulary.read("workload", key, path, self.faults) is None:
            return []
        own = entry.value
        if isinstance(own, MapNode):
            return self._mapping(own, (*path, name), self.vocabulary.workloads[name], {"workload": name})
        if isinstance(own, ScalarNode) and own.value is None:
            return self._plain("workload", key, path)
        message = f"expected a mapping of its parameters such as {{{_some_parameter(self.vocabulary, name)}}}"
        self.faults.add(own, (*path, name), message)
        return []

    def _factor(self, name: str, entry: Entry, path: Path) -> Iterator[Level]:
        levels = _items(entry.value)
        is_setting = self.vocabulary.is_known(name)
        if not is_setting and any(isinstance(level, ScalarNode) for level in levels):
            message = f"{self.vocabulary.unknown(name)} Or make each of its levels a mapping of settings"
            self.faults.add(entry, path, message)
        for number, level in enumerate(levels):
            here = (*path, number)
            if name == "workload":
                yield from self.workload(level, here)
            elif isinstance(level, MapNode):
                yield from self._mapping(level, here, self.vocabulary.sole_workload(level))
            elif is_setting and (isinstance(level, ScalarNode) or self.vocabulary.is_software(name)):
                yield from self._plain(name, level, here)
            elif isinstance(level, ListNode):
                cure = "list its values one by one"
                if name in PROGRAM_SETTINGS:
                    words = shlex.join(item.text for item in level.items if isinstance(item, ScalarNode))
                    cure = f"write its words as one text: {shown(words)}"
                self.faults.add(level, here, f"a list is no level of {shown(name)}; {cure}")

    def _check_names(self, factor: Factor, path: Path) -> None:
        """Record a fault for each level that has the name of another one with other settings."""
        named: dict[str, Level] = {}
        for level in factor.levels:
            if level.name is None or level.origin is None:
                continue
            first = named.setdefault(level.name, level)
            if first.settings != level.settings:
                position = Position(level.origin.line, level.origin.column)
                message = f"two of its levels have the name {shown(level.name)}; rename one"
                self.faults.add(position, path, message)

    def _plain(self, name: str, node: Node, path: Path) -> list[Level]:
        value = self.vocabulary.read(name, node, path, self.faults)
        return [] if value is None else [Level(settings={name: value}, origin=self.faults.origin(node, path))]

    def _mapping(
        self, node: MapNode, path: Path, workload: Workload | None, fixed: Mapping[str, Scalar] | None = None
    ) -> list[Level]:
        """Return all combinations of a mapping's settings, in which a list stands for each of its values."""
        names: list[str] = []
        choices: list[Sequence[Scalar]] = []
        chart_name = None
        for name, entry in node.entries.items():
            here = (*path, name)
            if name == "name" and not self.vocabulary.is_known(name, workload):
                chart_name = entry.value.text if isinstance(entry.value, ScalarNode) else None
            elif fixed and name in fixed:
                self.faults.add(entry, here, f"{shown(name)} is set by the level itself; remove it")
            elif not self.vocabulary.is_known(name, workload):
                self.faults.add(entry, here, self.vocabulary.unknown(name, workload))
            else:
                names.append(name)
                choices.append(self._choices(name, entry.value, here, workload))
        n_levels = math.prod(len(values) for values in choices)
        if n_levels > MOST_LEVELS:
            self.faults.add(
                node, path, f"its lists make {count(n_levels, 'level')}; use {MOST_LEVELS} or fewer"
            )
            return []
        origin = self.faults.origin(node, path)
        return [
            Level(
                settings={**(fixed or {}), **dict(zip(names, values, strict=True))},
                name=_chart_name(chart_name, values, choices),
                origin=origin,
            )
            for values in itertools.product(*choices)
        ]

    def _choices(self, name: str, node: Node, path: Path, workload: Workload | None) -> list[Scalar]:
        if isinstance(node, MapNode) or (
            path[0] == "factors" and isinstance(node, ScalarNode) and node.value is None
        ):
            message = f"expected a value of {shown(name)} or a list of them, not {found(node)}"
            self.faults.add(node, path, message)
            return []
        if self.vocabulary.is_software(name, workload):
            value = self.vocabulary.read(name, node, path, self.faults, workload)
            return [] if value is None else [value]
        if isinstance(node, ListNode) and not node.items:
            self.faults.add(node, path, "an empty list makes no case; give at least one value")
        items = [((*path, n), item) for n, item in enumerate(_items(node))] or [(path, node)]
        values = (self.vocabulary.read(name, item, where, self.faults, workload) for where, item in items)
        return [value for value in values if value is not None]


def _chart_name(
    name: str | None, values: Iterable[Scalar], choices: Iterable[Sequence[Scalar]]
) -> str | None:
    """Return the name of one of a mapping's levels, followed by the values of its lists."""
    if name is None:
        return None
    return " ".join([name, *(str(v) for v, among in zip(values, choices, strict=True) if len(among) > 1)])


def _some_parameter(vocabulary: Vocabulary, workload: str) -> str:
    parameters = vocabulary.workloads[workload].parameters
    return f"{parameters[0].name}: …" if parameters else "nodes: 2"
