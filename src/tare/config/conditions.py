"""Read the `where` and `exclude` of a study file as conditions on cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tare.config.document import ListNode, MapNode, Node, ScalarNode
from tare.config.expression import Expression
from tare.config.faults import Faults, Path, nearest, shown
from tare.config.settings import Vocabulary
from tare.core.study import SITE_SETTINGS, Condition, Exclusion, Factor, Level
from tare.core.values import Scalar, Settings
from tare.core.workload import Workload

_BECAUSE, _WHERE = "because", "where"


class Match:
    """A condition that holds where every setting has one of its values (core.study.Condition)."""

    def __init__(self, values: Mapping[str, tuple[Scalar, ...]]) -> None:
        self.values = values
        self.text = ", ".join(
            f"{name}: {among[0] if len(among) == 1 else list(among)}" for name, among in values.items()
        )

    def holds(self, settings: Settings) -> bool | None:
        """Return whether all settings match, or None where a setting is absent and all others match."""
        is_complete = True
        for name, among in self.values.items():
            if name not in settings:
                is_complete = False
            elif settings[name] not in among:
                return False
        return True if is_complete else None


class ConditionReader:
    """Reads conditions; `levels` are those of the study and supply examples of settings."""

    def __init__(self, vocabulary: Vocabulary, faults: Faults, levels: Iterable[Level]) -> None:
        self.vocabulary = vocabulary
        self.faults = faults
        self._words: set[Scalar] = set()
        self._examples: dict[str, Scalar] = {}
        for level in levels:
            for name, value in level.settings.items():
                self._examples.setdefault(name, value)
                if isinstance(value, str):
                    self._words.add(value)
        self._derived: frozenset[str] | None = None
        self._has_secret_names = False

    def read(self, node: Node | None, path: Path) -> tuple[Condition, ...]:
        """Return the conditions of one entry or of a list; entries with faults are left out."""
        if node is None:
            return ()
        items = (
            [(item, (*path, n)) for n, item in enumerate(node.items)]
            if isinstance(node, ListNode)
            else [(node, path)]
        )
        found = (self._one(item, where) for item, where in items)
        return tuple(condition for condition in found if condition is not None)

    def exclusions(self, node: Node | None, path: Path) -> tuple[Condition, ...]:
        """Return the conditions that leave cases out, with their reasons; faulty entries are left out."""
        if node is None:
            return ()
        items = node.items if isinstance(node, ListNode) else (node,)
        found: list[Condition] = []
        for number, item in enumerate(items):
            here = (*path, number) if isinstance(node, ListNode) else path
            condition = self._one(item, here)
            if condition is not None:
                origin = self.faults.origin(item, here)
                found.append(Exclusion(condition=condition, because=self._reason(item), origin=origin))
        return tuple(found)

    def _reason(self, node: Node) -> str:
        entry = node.entries.get(_BECAUSE) if isinstance(node, MapNode) else None
        return " ".join(entry.value.text.split()) if entry and isinstance(entry.value, ScalarNode) else ""

    def knows(self, name: str) -> bool:
        """Return whether a case may have setting `name`, or a workload may derive it."""
        return self.vocabulary.is_known(name) or name in self.derived or self._has_secret_names

    def _is_usable(self, name: str) -> bool:
        """Return whether conditions may use `name`: a setting, or what the site says about a case."""
        return name in SITE_SETTINGS or self.knows(name)

    @property
    def derived(self) -> frozenset[str]:
        """Return the names that the study's workloads derive from a case's settings."""
        if self._derived is None:
            self._derived = frozenset(name for one in self.vocabulary.used for name in self._derive(one))
        return self._derived

    def _derive(self, workload: Workload) -> set[str]:
        defaults: dict[str, Scalar] = {"workload": workload.name, "nodes": 1, "ranks": 1, "ranks_per_node": 1}
        defaults |= {"threads": 1}
        defaults |= {one.name: one.default for one in workload.parameters if one.default is not None}
        own = {one.name for one in workload.parameters}
        examples = {name: value for name, value in self._examples.items() if name in own or name in defaults}
        names: set[str] = set()
        for settings in (defaults, defaults | examples | {"workload": workload.name}):
            try:
                names |= set(workload.derive(settings))
            except Exception:  # a plug-in failed: no name can be called unknown now
                self._has_secret_names = True
        return names

    def _one(self, node: Node, path: Path) -> Condition | None:
        if isinstance(node, MapNode):
            return self._stated(node, path) if _WHERE in node.entries else self._match(node, path)
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            return None  # the decoder has reported this
        try:
            expression = Expression(node.text, self.faults.origin(node, path))
        except ValueError as error:
            self.faults.add(node, path, str(error))
            return None
        unknown = [name for name in sorted(expression.names) if not self._is_usable(name)]
        for name in unknown:
            self.faults.add(node, path, f"unknown name {shown(name)}; {self._cure(name)}")
        return None if unknown else expression

    def _cure(self, name: str) -> str:
        if name in self._words:
            return f'put text in quotes, as in "{name}"'
        return nearest(name, (*self.vocabulary.settings, *sorted(self.derived)))

    def _stated(self, node: MapNode, path: Path) -> Condition | None:
        """Return the condition of ``{where: CONDITION, because: REASON}``."""
        for name, entry in node.entries.items():
            if name not in (_WHERE, _BECAUSE):
                message = f"{shown(name)} is not allowed beside 'where'; add it to the condition, with 'and'"
                self.faults.add(entry, (*path, name), message)
        stated = node.entries[_WHERE].value
        if not isinstance(stated, ScalarNode) or not isinstance(stated.value, str):
            self.faults.add(stated, (*path, _WHERE), "expected a condition such as 'nodes > 2'")
            return None
        return self._one(stated, (*path, _WHERE))

    def _match(self, node: MapNode, path: Path) -> Condition | None:
        values: dict[str, tuple[Scalar, ...]] = {}
        workload = self.vocabulary.sole_workload(node)
        for name, entry in node.entries.items():
            here = (*path, name)
            if name == _BECAUSE:
                continue
            if not self.vocabulary.is_known(name, workload):
                self.faults.add(entry, here, self.vocabulary.unknown(name, workload))
                continue
            items = entry.value.items if isinstance(entry.value, ListNode) else (entry.value,)
            read = [self.vocabulary.read(name, item, here, self.faults, workload) for item in items]
            values[name] = tuple(value for value in read if value is not None)
        if not node.entries.keys() - {_BECAUSE}:
            self.faults.add(node, path, "an empty mapping matches every case; name the settings to match")
        return Match(values) if values else None


def levels_of(factors: Iterable[Factor], cases: Iterable[Level]) -> Iterable[Level]:
    """Yield every level of a study."""
    for factor in factors:
        yield from factor.levels
    yield from cases
