"""Distinguish the objects that Tare and its controllers created from copies of them. Pure.

A copy has the same labels and annotations, but another name: names are unique in a namespace. A pod that a
controller created for a copy names that copy as its controller.
"""

from __future__ import annotations

import re

from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta

_CONFIG = re.compile(r"tare-[0-9a-f]{16}(?:-(?P<campaign>.+))?")
_JOBS = frozenset({"Job", "MPIJob"})


def is_created(kind: str, meta: SeenMeta) -> bool:
    """Return whether Tare itself created an object of this kind, by its name and its labels."""
    campaign = meta.labels.get(naming.CAMPAIGN, "")
    if kind in _JOBS:  # a trial's Job belongs to no task, and has the name of its label
        return meta.name == (meta.task or campaign)
    if kind == "Pod":
        role = meta.labels.get(naming.ROLE, "")
        is_of_pair = role in {naming.SERVER, naming.CLIENT}
        return is_of_pair and meta.controller is None and meta.name == f"{meta.task}-{role}"
    found = _CONFIG.fullmatch(meta.name) if kind == "ConfigMap" else None
    return found is not None and (found["campaign"] or "") == campaign


def is_first(kind: str, meta: SeenMeta) -> bool:
    """Return whether it is the first object of a task, from which all others follow, and stays there."""
    is_server = kind != "Pod" or meta.labels.get(naming.ROLE) == naming.SERVER
    return is_server and is_created(kind, meta) and meta.deletion_timestamp is None


def is_of_task(kind: str, meta: SeenMeta) -> bool:
    """Return whether an object was created for the task that its label names, by Tare or by a controller."""
    if is_created(kind, meta):
        return True
    owner = meta.controller
    if kind != "Pod" or owner is None or not meta.task:
        return False
    launcher = f"{meta.task}-{naming.LAUNCHER}"  # the MPI Operator's Job
    return owner.kind in _JOBS and owner.name in {meta.task, launcher}
