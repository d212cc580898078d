"""Check the manifest patches of a site file: one patch for all kinds, or one for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tare.core.errors import KeyPath, nearest, shown

Fault = Callable[[KeyPath, str], None]

KINDS = ("MPIJob", "Job", "Pod")
"""The kinds that a case becomes: on several nodes, on one node, and as a server and a client."""
_PARTS = ("metadata", "spec")
_NOT_OURS = "a job of another kind is not Tare's to watch; remove it"


def check_merge(merge: Mapping[str, object], path: KeyPath, fault: Fault) -> None:
    """Report every fault of `merge`, which is at `path` of the file."""
    by_kind = [name for name in merge if name in KINDS]
    for name, patch in merge.items():
        if name in KINDS:
            _check_patch(patch, (*path, name), fault)
        elif name in {"apiVersion", "kind"}:
            fault((*path, name), _NOT_OURS)
        elif by_kind:
            fault(
                (*path, name), f"{shown(name)} is beside patches by kind; write it into {by_kind[0]}: {{…}}"
            )
        elif name not in _PARTS:
            known = [*_PARTS, *KINDS]
            fault((*path, name), f"{shown(name)} is no part of a manifest; {nearest(name, known)}")


def _check_patch(patch: object, path: KeyPath, fault: Fault) -> None:
    if not isinstance(patch, dict):
        fault(path, "a patch is a mapping; write {spec: {…}}")
        return
    for name in patch:
        if name in {"apiVersion", "kind"}:
            fault((*path, name), _NOT_OURS)
        elif name not in _PARTS:
            known = f"{shown(str(name))} is no part of a manifest; {nearest(str(name), list(_PARTS))}"
            fault((*path, str(name)), known)
