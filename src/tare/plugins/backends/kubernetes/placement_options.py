"""Turn a site file's settings for the placement and labels of pods into options of a platform."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tare.core.errors import KeyPath, shown
from tare.plugins.backends.kubernetes.file_types import KubernetesFile
from tare.plugins.backends.kubernetes.placement_types import LauncherFile, TolerationFile
from tare.plugins.backends.kubernetes.pod_options import (
    LauncherOptions,
    LauncherPlace,
    SchedulingPolicy,
    Spreading,
    Toleration,
)

Fault = Callable[[KeyPath, str], None]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_OWN = re.compile(r"tare/.*|app\.kubernetes\.io/managed-by|training\.kubeflow\.org/.*")
_QUEUE = "kueue.x-k8s.io/queue-name"
_PAGES = {"2Mi": 2**21, "1Gi": 2**30}


def placement_options(file: KubernetesFile, path: KeyPath, fault: Fault) -> dict[str, object]:
    """Return these options by name, and report every fault."""
    for name in ("runtime_class", "queue"):
        value = getattr(file, name)
        if value is not None and not _NAME.fullmatch(value):
            fault((*path, name), f"{shown(value)} is not a name of Kubernetes; use a-z, 0-9 and '-'")
    _check_labels(file, path, fault)
    _check_launcher(file.launcher, file.nodes, (*path, "launcher"), fault)
    for size, amount in file.hugepages.items():
        if amount % _PAGES[size]:
            told = f"{amount} bytes are no whole pages of {size}; write a multiple"
            fault((*path, "hugepages", size), told)
    for number, one in enumerate(file.topology_spread):
        if not _KEY.fullmatch(one.key):
            fault((*path, "topology_spread", number, "key"), _no_key(one.key))
    policy = file.scheduling_policy
    return {
        "tolerations": _tolerations(file.tolerations),
        "ephemeral_storage_bytes": file.ephemeral_storage,
        "launcher": _launcher(file.launcher),
        "topology_spread": tuple(
            Spreading(key=one.key, max_skew=one.max_skew, is_required=one.required)
            for one in file.topology_spread
        ),
        "scheduling_policy": None
        if policy is None
        else SchedulingPolicy(
            min_available=policy.min_available,
            queue=policy.queue,
            priority_class=policy.priority_class,
            min_resources=policy.min_resources,
            schedule_timeout_s=None if policy.schedule_timeout is None else round(policy.schedule_timeout),
        ),
    }


def _launcher(file: LauncherFile) -> LauncherOptions:
    return LauncherOptions(
        place=file.place,
        cpus=file.cpus,
        memory_bytes=file.memory,
        nodes=tuple(file.nodes),
        node_selector=file.node_selector,
        tolerations=_tolerations(file.tolerations),
    )


def _tolerations(files: Iterable[TolerationFile]) -> tuple[Toleration, ...]:
    return tuple(Toleration(**msgspec.structs.asdict(one)) for one in files)


def _check_launcher(file: LauncherFile, programs: Sequence[str], path: KeyPath, fault: Fault) -> None:
    measured = [one for one in file.nodes if one in programs]
    if measured and file.place is LauncherPlace.APART:
        told = f"{shown(measured[0])} is a node of programs, from which it keeps apart"
        fault((*path, "nodes"), f"{told}; name another, or add 'place: anywhere'")
    if file.place is LauncherPlace.BESIDE and (file.nodes or file.node_selector):
        key = "nodes" if file.nodes else "node_selector"
        fault((*path, key), "beside its workers it is on their nodes; remove it, or 'place: beside'")


def _check_labels(file: KubernetesFile, path: KeyPath, fault: Fault) -> None:
    for option in ("labels", "annotations"):
        for name, value in getattr(file, option).items():
            here = (*path, option, name)
            if not _KEY.fullmatch(name):
                fault(here, _no_key(name))
            elif _OWN.fullmatch(name):
                fault(here, f"by {shown(name)} Tare and the operator find their pods; use another name")
            elif option == "labels" and name == _QUEUE:
                fault(here, f"this label has an option of its own; write 'queue: {value}'")
            elif option == "labels" and not _VALUE.fullmatch(value):
                told = "is no value of a label; use 63 letters, digits and '-_.' at most"
                fault(here, f"{shown(value)} {told}")


def _no_key(name: str) -> str:
    return f"{shown(name)} is no key of a label; write NAME or PREFIX/NAME"
