"""Print the manifests of planned tasks: for `tare plan --show`, and for the doctor of a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from tare.core.backend_plugin import CheckContext, PlannedTask
from tare.core.decoding import convert
from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.manifests.lint import Trap, lint, lint_inputs, lint_merge, lint_products
from tare.plugins.backends.kubernetes.manifests.rendering import Json, render, roles_of
from tare.plugins.backends.kubernetes.manifests.script import Inputs, read_files
from tare.plugins.backends.kubernetes.objects import created as k8s
from tare.plugins.backends.kubernetes.options import options_of


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as YAML block scalars, as people write scripts into manifests."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def show_manifests(planned: PlannedTask) -> str:
    """Return the manifests of an attempt as YAML, below the traps that lint found."""
    documents = task_manifests(planned)
    traps = traps_of(planned, documents)
    return "".join(f"# trap: {trap}\n" for trap in traps) + as_yaml(documents)


def traps_of(planned: PlannedTask, documents: Sequence[Json]) -> list[Trap]:
    """Return the traps in the manifests of a planned task, and in how its stages are to share files."""
    options, task = options_of(planned.task.platform), planned.task
    found = [*lint(documents), *lint_merge(options.merge, documents)]
    if options.work is None:
        found += lint_products(planned.products)
        found += lint_inputs(_copied(planned)[1])
    if _uses_storage(task) and task.storage_path not in _mount_paths(documents):
        what = f"no claim is at {task.storage_path}: what is there is each pod's own, and ends with it"
        cure = f"name the ReadWriteMany claim of this path: kubernetes: {{storage: {{{task.storage}: …}}}}"
        found.append(Trap("storage", what, cure))
    return found


def _uses_storage(task: Task) -> bool:
    """Return whether a step of a task reads or writes on its storage path."""
    words = [word for step in task.steps for word in (*step.invocation.argv, *step.invocation.env.values())]
    named = re.compile(rf"{re.escape(task.storage_path)}(?![^/])")
    return bool(task.storage) and any(named.search(word) for word in words)


def _mount_paths(documents: Sequence[Json]) -> set[str]:
    """Return where volumes are mounted in the pods of these objects, the site's patch included."""
    pods = [convert(role.spec, k8s.PodSpec) for role in roles_of(documents)]
    return {mount.mount_path for pod in pods for one in pod.containers for mount in one.volume_mounts}


def as_yaml(documents: Sequence[Json]) -> str:
    """Return documents as YAML for kubectl."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def task_manifests(planned: PlannedTask) -> list[Json]:
    """Return the manifests of an attempt, with the site's patch merged in."""
    work = options_of(planned.task.platform).work
    task = msgspec.structs.replace(planned.task, folder=Path(work.path if work else "/", "{work}"))
    inputs: Inputs = {} if work else {**_copied(planned)[0], **planned.inputs}
    return render(task, planned.facts, inputs).documents


def _copied(planned: PlannedTask) -> tuple[Inputs, str]:
    """Return what is copied into the task's folder, and why it cannot be, empty if it can."""
    try:
        return read_files(planned.copies), ""
    except OSError as error:
        return {}, f"{error.filename} cannot be read: {error.strerror}"
    except ValueError as error:
        return {}, str(error)


def small_jobs(context: CheckContext) -> dict[str, list[Json]]:
    """Return the manifests of small jobs of the platform: of each kind, on each network."""
    has_mpi = context.platform.launcher != "none"
    several = min(2, len(context.site.nodes))
    kinds = [("a job of one node", _HOSTNAME, 1, has_mpi), ("a server and a client", _PAIR, several, False)]
    if has_mpi and several > 1:
        kinds.insert(0, ("a job", _HOSTNAME, several, True))
    found: dict[str, list[Json]] = {}
    for kind, workload, nodes, is_mpi in kinds:
        for planned in context.plan(_study(context, workload, nodes, is_mpi=is_mpi)):
            found[f"{kind} on {planned.case.network or 'the pod network'}"] = task_manifests(planned)
    return found


_HOSTNAME: dict[str, dict[str, object]] = {
    "hostname": {
        "command": ["hostname"],
        "needs_transport": False,
        "foms": [{"name": "lines", "unit": "1", "better": "higher", "regex": "(.+)"}],
    }
}
_PAIR: dict[str, dict[str, object]] = {"iperf3": {}}


def _study(
    context: CheckContext, workload: Mapping[str, Mapping[str, object]], nodes: int, *, is_mpi: bool
) -> dict[str, object]:
    """Return a study that runs a workload on each network of the site."""
    networks = list(context.site.networks)
    own = {
        key: {**value, "mpi": is_mpi} for key, value in workload.items() if isinstance(value, dict) and value
    }
    return {
        "study": "doctor",
        "platform": context.name,
        **({"workloads": own} if own else {}),
        "factors": {"workload": list(workload), **({"network": networks} if networks else {})},
        "nodes": nodes,
        **({} if own or nodes > 1 else {"ranks": 2}),
        "repeats": 1,
    }
