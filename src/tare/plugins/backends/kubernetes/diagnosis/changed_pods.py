"""Find how a cluster changed the pods that were asked for: by webhooks, policies and defaults. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tare.core.decoding import decode_json
from tare.plugins.backends.kubernetes.manifests.rendering import Json, roles_of
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenContainer, SeenPod
from tare.plugins.backends.kubernetes.objects.quantity import parse_quantity

FACT = "kubernetes.changed"
_MOST_SHOWN = 200
_AMOUNTS = ("cpu", "memory")


class Change(msgspec.Struct, frozen=True):
    """A difference between the pod that was asked for and the one that was created.

    One that `matters` makes the run another one than was asked for.
    """

    what: str
    matters: bool = False


def asked_pods(documents: Iterable[Json]) -> dict[str, SeenPod]:
    """Return the pods of a task's manifests by their role, as far as Tare reads pods."""
    found = {}
    for role in roles_of(documents):
        pod = decode_json(msgspec.json.encode(role.pod), type=SeenPod)
        found[pod.role or role.name] = pod
    return found


def changes(asked: SeenPod, created: SeenPod) -> Iterator[Change]:
    """Yield the changes of a pod; what a cluster adds to labels, volumes and variables is left out."""
    before, after = asked.spec, created.spec
    yield from _added("container", before.containers, after.containers)
    yield from _added("init container", before.init_containers, after.init_containers)
    lost = [name for name, value in before.node_selector.items() if after.node_selector.get(name) != value]
    if lost:
        yield Change(f"node selector {', '.join(lost)} was taken away", matters=True)
    affinity = msgspec.json.decode(before.affinity)
    if affinity and affinity != msgspec.json.decode(after.affinity):
        yield Change("the affinity is another one", matters=True)
    if before.host_network != after.host_network:
        network = "the node's network" if after.host_network else "the pod network"
        yield Change(f"it is on {network}", matters=True)
    if before.runtime_class_name != after.runtime_class_name:
        yield Change(
            f"runtime class is {after.runtime_class_name or 'none'}", bool(before.runtime_class_name)
        )
    limit_s = after.active_deadline_seconds
    if limit_s != before.active_deadline_seconds and created.role != naming.SERVER:  # which Tare ends so
        yield Change(f"it is ended after {limit_s} s (activeDeadlineSeconds)")
    own, got = asked.own_container, created.own_container
    if own is not None and got is not None:
        yield from _of_container(own, got)


def facts_of_changes(asked: Mapping[str, SeenPod], pods: Iterable[SeenPod]) -> dict[str, str]:
    """Return a sentence for each node on which pods of programs were changed."""
    found: dict[str, list[str]] = {}
    for pod, change in _all(asked, pods):
        said = found.setdefault(pod.spec.node_name, [])
        if change.what not in said:
            said.append(change.what)
    return {node: "; ".join(said) for node, said in found.items()}


def problems_of_changes(asked: Mapping[str, SeenPod], pods: Iterable[SeenPod]) -> Iterator[str]:
    """Yield why a run must not count: its pods were changed in something that was asked for."""
    for pod, change in _all(asked, pods):
        if change.matters:
            yield f"the cluster changed pod {pod.metadata.name} as it was created: {change.what}"


def _all(asked: Mapping[str, SeenPod], pods: Iterable[SeenPod]) -> Iterator[tuple[SeenPod, Change]]:
    has_workers = naming.WORKER in asked
    for pod in pods:
        is_program = pod.role in asked and not (has_workers and pod.role == naming.LAUNCHER)
        if is_program and pod.spec.node_name:
            yield from ((pod, change) for change in changes(asked[pod.role], pod))


def _added(what: str, asked: list[SeenContainer], created: list[SeenContainer]) -> Iterator[Change]:
    known = {one.name for one in asked}
    for one in created:
        if one.name not in known:
            yield Change(f"{what} {one.name[:_MOST_SHOWN]} was added")


def _of_container(asked: SeenContainer, created: SeenContainer) -> Iterator[Change]:
    if asked.image != created.image:
        yield Change(f"the image is {created.image[:_MOST_SHOWN]}")
    if asked.command != created.command:
        yield Change("the command is another one")
    before, after = asked.resources, created.resources
    for kind, old, new in (
        ("request", before.requests, after.requests),
        ("limit", before.limits, after.limits),
    ):
        for name in _AMOUNTS:
            first, second = str(old.get(name, "")), str(new.get(name, ""))
            if parse_quantity(first) != parse_quantity(second):
                shown = f"{name} {kind} is {second or 'none'} instead of {first or 'none'}"
                yield Change(shown, matters=bool(first))
