"""Find workloads under the wrong key of a study: ``workload`` names one, and ``workloads`` declares them."""

from __future__ import annotations

from collections.abc import Iterator

from tare.config.document import Entry, ListNode, MapNode, Node, ScalarNode, child
from tare.config.faults import Faults, Path, shown

_NAMES = "workload"
_DECLARES = "workloads"
_COMMAND = "command"
"""The key that every declared workload has."""


def has_misplaced_workloads(root: Node, faults: Faults) -> bool:
    """Record a fault for each workload under the wrong key, and return whether there is one."""
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


def _names(node: Node) -> list[str]:
    """Return the names in a text or a list of texts; no names if `node` is something else."""
    items = node.items if isinstance(node, ListNode) else (node,)
    return [item.text for item in items if isinstance(item, ScalarNode) and isinstance(item.value, str)]
