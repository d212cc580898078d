"""What commands show and do of Kubernetes: manifests, and the crew that works through a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import yaml

from tare.backends.kubernetes.finding import Finding
from tare.backends.kubernetes.leftovers import Leftover
from tare.backends.kubernetes.lint import lint, lint_merge
from tare.backends.kubernetes.manifests import Json, manifests, render, to_json
from tare.cli.wiring import planning as wiring
from tare.cli.wiring.planning import Loaded
from tare.cli.wiring.provenance import fact_scripts
from tare.config import SiteSource
from tare.errors import UsageError
from tare.model.case import Case
from tare.model.kubernetes import KubernetesOptions
from tare.runner.batch import make_task


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, as people write scripts into manifests."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def show_manifests(loaded: Loaded, case: Case) -> str:
    """Return the manifests of an attempt of `case` as YAML, below what lint says of them."""
    documents = case_manifests(loaded, case)
    options = loaded.composer.site.platforms[case.platform].kubernetes
    traps = [*lint(documents), *lint_merge(options.merge if options else "", documents)]
    told = "".join(f"# trap: {trap}\n" for trap in traps)
    return told + as_yaml(documents)


def options_of(loaded: Loaded) -> KubernetesOptions:
    """Return the options that name the cluster of a study. Raises UsageError where there are two."""
    site = loaded.composer.site
    used = dict.fromkeys(case.platform for case in loaded.plan.cases)
    found = [options for name in used if (options := site.platforms[name].kubernetes) is not None]
    places = {(one.context, one.kubeconfig, one.namespace) for one in found}
    if len(places) > 1:
        raise UsageError(
            "platforms of one study name different clusters or namespaces; give them the same one"
        )
    return found[0]


def check_clusters(source: SiteSource, names: Sequence[str]) -> Iterator[Finding]:
    """Yield what is found in the clusters of these platforms, and of the jobs that they would get."""
    from tare.backends.kubernetes.cluster import Cluster
    from tare.backends.kubernetes.doctor import check_cluster

    for name in names:
        options = source.site.platforms[name].kubernetes
        if options is None:
            continue
        cluster = Cluster.connect(options)
        for one in check_cluster(cluster, options, source.site.networks, _jobs(source, name)):
            yield msgspec.structs.replace(one, name=f"{name}: {one.name}")
        cluster.close()


def _jobs(source: SiteSource, name: str) -> dict[str, list[Json]]:
    """Return the manifests of small jobs of a platform, of each kind that it can have on each network."""
    has_mpi = source.site.platforms[name].launcher != "none"
    several = min(2, len(source.site.nodes))
    kinds = [("a job of one node", _HOSTNAME, 1, has_mpi), ("a server and a client", _PAIR, several, False)]
    if has_mpi and several > 1:
        kinds.insert(0, ("a job", _HOSTNAME, several, True))
    found: dict[str, list[Json]] = {}
    for kind, workload, nodes, is_mpi in kinds:
        for case, documents in _rendered(source, name, workload, nodes, is_mpi=is_mpi):
            found[f"{kind} on {case.network or 'the pod network'}"] = documents
    return found


_HOSTNAME: dict[str, dict[str, object]] = {
    "hostname": {
        "command": ["hostname"],
        "needs_transport": False,
        "foms": [{"name": "lines", "unit": "1", "better": "higher", "regex": "(.+)"}],
    }
}
_PAIR: dict[str, dict[str, object]] = {"iperf3": {}}


def _rendered(
    source: SiteSource, name: str, workload: Mapping[str, Mapping[str, object]], nodes: int, *, is_mpi: bool
) -> Iterator[tuple[Case, list[Json]]]:
    """Yield the cases of a workload, one on each network of the site, with their manifests."""
    networks = list(source.site.networks)
    own = {
        key: {**value, "mpi": is_mpi} for key, value in workload.items() if isinstance(value, dict) and value
    }
    study = {
        "study": "doctor",
        "platform": name,
        **({"workloads": own} if own else {}),
        "factors": {"workload": list(workload), **({"network": networks} if networks else {})},
        "nodes": nodes,
        **({} if own or nodes > 1 else {"ranks": 2}),
        "repeats": 1,
    }
    with tempfile.TemporaryDirectory(prefix="tare-doctor.") as folder:
        Path(folder, wiring.STUDY).write_text(yaml.safe_dump(study))
        Path(folder, wiring.SITE).write_text(source.text)
        loaded = wiring.load(Path(folder))
        for case in loaded.plan.cases:
            yield case, case_manifests(loaded, case)


def left_in_cluster(options: KubernetesOptions) -> Iterator[tuple[Leftover, Callable[[], bool]]]:
    """Yield what each campaign has in a cluster, and what deletes it."""
    from tare.backends.kubernetes.cluster import Cluster
    from tare.backends.kubernetes.leftovers import leftovers, remove

    def delete(one: Leftover) -> bool:
        remove(cluster, one)
        return True

    cluster = Cluster.connect(options)
    for one in leftovers(cluster):
        yield one, partial(delete, one)
    cluster.close()


def as_yaml(documents: Sequence[Json]) -> str:
    """Return documents as kubectl takes them."""
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def case_manifests(loaded: Loaded, case: Case) -> list[Json]:
    """Return the manifests of an attempt of `case`, with the site's patch merged in."""
    composer = loaded.composer
    options = composer.site.platforms[case.platform].kubernetes
    work = Path(options.work.path if options and options.work else "/", "{work}")
    task = make_task(composer, case, f"tare-{case.id}", work, loaded.plan.timeout_s)
    stages = composer.workloads[case.workload].stages(case)
    inputs = {name: text for stage in stages for name, text in stage.files.items()}
    rendered = render(task, fact_scripts(loaded)(task.platform), {} if options and options.work else inputs)
    return [to_json(one, options.merge if options else "") for one in manifests(rendered)]
