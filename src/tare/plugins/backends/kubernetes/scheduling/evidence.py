"""Save the state of a task's pods in its folder, before its objects are deleted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from tare.core.errors import BackendError
from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.kubernetes.objects.merging import Json
from tare.plugins.backends.kubernetes.objects.observed import SeenPod

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's, ten times as fast


def keep_manifests(folder: Path, documents: Sequence[Json]) -> None:
    """Write ``manifests.yaml``: the objects that are created for a task."""
    _write(SafeFolder(folder, "manifests.yaml"), documents)


def last_logs(
    pods: Mapping[str, SeenPod], lost: Collection[str], read: Callable[[str, str], bytes]
) -> dict[str, bytes]:
    """Return the logs of pods of a task that was stopped; instead of a log that cannot be read, the reason.

    `lost` names the nodes that were lost; nothing is asked of pods there. Where an init container
    failed, its log is read, because the pod has no other.
    """
    logs: dict[str, bytes] = {}
    for name, pod in pods.items():
        if pod.spec.node_name in lost:
            logs[name] = f"(not read: node {pod.spec.node_name} was lost)\n".encode()
        elif pod.state.running is not None or pod.state.terminated is not None:
            init = None if pod.has_begun else pod.failed_init
            try:
                logs[name] = read(name, init[0] if init else pod.role)
            except BackendError as error:
                logs[name] = f"(not read: {error})\n".encode()
    return logs


def keep(
    folder: Path,
    logs: Mapping[str, bytes],
    raw: Iterable[msgspec.Raw],
    events: Iterable[str],
    pods: Iterable[SeenPod],
) -> None:
    """Write what is known of a task's pods: their logs, their last state, their events and nodes.

    `logs` are by a pod's role or name; `raw` are the last reported states, and `events` one line each.
    """
    for name, log in logs.items():
        SafeFolder(folder, f"{name}.log").replace(log, is_synced=False)
    _write(SafeFolder(folder, "pods.yaml"), [msgspec.json.decode(pod) for pod in raw])
    _write_lines(SafeFolder(folder, "events.txt"), events)
    _write_lines(SafeFolder(folder, "nodes.txt"), (f"{p.metadata.name} {p.spec.node_name}" for p in pods))


def _write(file: SafeFolder, documents: Sequence[object]) -> None:
    try:
        text = _dumped(documents, _Dumper)
    except UnicodeEncodeError:  # a lone surrogate, as of a folder's name; libyaml does not escape it
        text = _dumped(documents, yaml.SafeDumper)
    file.replace(text.encode(), is_synced=False)


def _dumped(documents: Sequence[object], dumper: type[yaml.SafeDumper]) -> str:
    text: str = yaml.dump_all(documents, Dumper=dumper, sort_keys=False, width=10_000)
    return text


def _write_lines(file: SafeFolder, lines: Iterable[str]) -> None:
    file.replace("".join(f"{line}\n" for line in lines).encode(errors="replace"), is_synced=False)
