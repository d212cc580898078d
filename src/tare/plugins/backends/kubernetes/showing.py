"""Print the manifests of planned tasks: for `tare plan --show`, and for the doctor of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from tare.core.backend_plugin import CheckContext, PlannedTask
from tare.plugins.backends.kubernetes.lint import lint, lint_merge
from tare.plugins.backends.kubernetes.manifests import Json, render
from tare.plugins.backends.kubernetes.options import options_of


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as YAML block scalars, as people write scripts into manifests."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def show_manifests(planned: PlannedTask) -> str:
    """Return the manifests of an attempt as YAML, below the traps that lint found."""
    documents = task_manifests(planned)
    traps = [*lint(documents), *lint_merge(options_of(planned.task.platform).merge, documents)]
    return "".join(f"# trap: {trap}\n" for trap in traps) + as_yaml(documents)


def as_yaml(documents: Sequence[Json]) -> str:
    """Return documents as YAML for kubectl."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def task_manifests(planned: PlannedTask) -> list[Json]:
    """Return the manifests of an attempt, with the site's patch merged in."""
    work = options_of(planned.task.platform).work
    task = msgspec.structs.replace(planned.task, folder=Path(work.path if work else "/", "{work}"))
    return render(task, planned.facts, {} if work else planned.inputs).documents


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
