"""Save the state of a task's pods in its folder, before its objects are deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from tare.plugins.backends.kubernetes.manifests import to_json
from tare.plugins.backends.kubernetes.objects import Manifest
from tare.plugins.backends.kubernetes.observed import SeenPod

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's, ten times as fast


def keep_manifests(folder: Path, made: Iterable[Manifest], merge: str) -> None:
    """Write ``manifests.yaml``: the objects that are created for a task."""
    documents = [to_json(one, merge) for one in made]
    _write(folder / "manifests.yaml", documents)


def keep_pods(folder: Path, pods: Iterable[msgspec.Raw]) -> None:
    """Write ``pods.yaml``: the last reported state of the pods."""
    documents = [msgspec.json.decode(pod) for pod in pods]
    _write(folder / "pods.yaml", documents)


def keep_events(folder: Path, events: Iterable[str]) -> None:
    """Write ``events.txt``: the cluster's events during the task, one line each."""
    (folder / "events.txt").write_text("".join(f"{line}\n" for line in events))


def keep_logs(folder: Path, logs: Mapping[str, bytes]) -> None:
    """Write the log of each pod, by its role or name."""
    for name, log in logs.items():
        (folder / f"{name}.log").write_bytes(log)


def keep_nodes(folder: Path, pods: Iterable[SeenPod]) -> None:
    """Write ``nodes.txt``: the node of each pod."""
    (folder / "nodes.txt").write_text("".join(f"{p.metadata.name} {p.spec.node_name}\n" for p in pods))


def _write(path: Path, documents: Sequence[object]) -> None:
    path.write_text(yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=10_000))
