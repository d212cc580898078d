"""Find what stands under the wrong key: ``workload`` names a workload, and ``workloads`` declares some."""

from __future__ import annotations

from collections.abc import Iterator

from tare.config.document import Entry, ListNode, MapNode, Node, ScalarNode, child
from tare.config.faults import Faults, Path, shown
from tare.core.program import PROGRAM_SETTINGS
from tare.core.study import DESIGN_SETTINGS

_NAMES = "workload"
_DECLARES = "workloads"
_COMMAND = "command"
"""The key that every declared workload has."""
_SETTINGS = frozenset((*DESIGN_SETTINGS, *PROGRAM_SETTINGS))


def has_misplaced_keys(root: Node, faults: Faults) -> bool:
    """Record a fault for each workload or setting under the wrong key, and return whether there is one."""
    n_before = len(faults.found)
    for path, name, entry in _declared_where_named(root):
        message = (
            f"'{_NAMES}' names a workload, and {shown(name)} is declared here; declare it under "
            f"'{_DECLARES}', and write only its name here"
        )
        faults.add(entry, path, message)
    declared = child(root, _DECLARES)
    if declared is not None and (names := _names(declared)):
        cure = f"{_NAMES}: {names[0]}" if len(names) == 1 else f"factors: {{{_NAMES}: [{', '.join(names)}]}}"
        message = f"'{_DECLARES}' declares workloads of the study's own; to name others, write {shown(cure)}"
        faults.add(declared, (_DECLARES,), message)
    for path, entry in _settings_where_declared(declared):
        *_, name, key = path
        cure = f"{_NAMES}: {{{name}: {{{key}: …}}}}"
        message = (
            f"{shown(key)} is a setting of cases, and workloads are declared without it; write it at the top "
            f"of the study, or for this workload alone {shown(cure)}"
        )
        faults.add(entry, path, message)
    return len(faults.found) > n_before


def _declared_where_named(root: Node) -> Iterator[tuple[Path, str, Entry]]:
    """Yield path, name and entry of each workload that is declared where a workload is named."""
    levels = child(child(root, "factors"), _NAMES)
    places: list[tuple[Path, Node | None]] = [((_NAMES,), child(root, _NAMES))]
    if isinstance(levels, ListNode):
        places += [(("factors", _NAMES, number), level) for number, level in enumerate(levels.items)]
    for path, node in places:
        if isinstance(node, MapNode):
            for name, entry in node.entries.items():
                if child(entry.value, _COMMAND) is not None:
                    yield (*path, name), name, entry


def _settings_where_declared(declared: Node | None) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """Yield path and entry of each setting of cases that stands among the keys of a declared workload."""
    for name, workload in declared.entries.items() if isinstance(declared, MapNode) else ():
        for key, entry in workload.value.entries.items() if isinstance(workload.value, MapNode) else ():
            if key in _SETTINGS:
                yield (_DECLARES, name, key), entry


def _names(node: Node) -> list[str]:
    """Return the names in a text or a list of texts; no names if `node` is something else."""
    items = node.items if isinstance(node, ListNode) else (node,)
    return [item.text for item in items if isinstance(item, ScalarNode) and isinstance(item.value, str)]
