"""Say what was found and is no key of the site file: in sentences, for comments at its end. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.app.init.batch_remarks import allocation_remark, batch_remarks
from tare.app.init.mpis import common_mpis, identity, loaded
from tare.app.init.node_choice import class_nodes, host_ranges
from tare.app.init.pmi import PMI_OF_CRAY, mpi_types, pmi_of_cray
from tare.core.counting import count
from tare.discovery.facts import Found, ModuleSystem, NodeClass, Partition, SlurmFacts
from tare.discovery.networks import find_networks
from tare.discovery.programs import first_names
from tare.discovery.spack import spack_notes


def remarks_on(found: Found, partition: Partition | None, others: Sequence[NodeClass]) -> Iterator[str]:
    """Yield the sentences. `others` are the other classes of nodes in the partition."""
    if partition and partition.limits:
        limits = ", ".join(f"{key}={value}" for key, value in partition.limits.items())
        yield f"Partition {partition.name}: {limits}."
    if partition:
        yield from _class_remarks(partition, others)
        yield from _feature_remarks(partition)
    yield from _fault_remarks(partition) if partition else ()
    for other in found.slurm.partitions if found.slurm else ():
        if partition and other.name != partition.name and other.is_up:
            left = f", none of which takes jobs now ({_states(other)})" if not other.usable else ""
            yield f"Another partition: {other.name}, {count(len(other.nodes), 'node')}{left}."
    yield from _accounting_remarks(found.slurm) if found.slurm else ()
    for system in found.batch_systems:
        if found.allocation is None:
            yield from batch_remarks(system)
    if found.allocation:
        yield allocation_remark(found.allocation)
    if found.contexts:
        names = ", ".join(one.name for one in found.contexts)
        yield f"Contexts of Kubernetes: {names}; 'tare init --context' writes a site of one."
    yield from _fabric_remarks(found)
    runtimes = sorted({name for node in found.nodes for name in node.containers})
    if runtimes:
        yield f"Container runtimes: {', '.join(runtimes)} (docs/containers.md)."
    yield from _module_remarks(found)
    yield from _cray_remarks(found, mpi_types(found, partition))
    for note in found.notes:
        yield f"Not known: {note}."


def _cray_remarks(found: Found, types: Sequence[str] | None) -> Iterator[str]:
    """Yield which MPIs of Cray are no platforms, since nothing can start their ranks."""
    if not pmi_of_cray(types or ()):
        why = f"`srun --mpi=list` names none of {', '.join(PMI_OF_CRAY)}"
        if types is None:
            why = "these runs are no jobs of Slurm"
        for one in common_mpis(found.nodes):
            if one.launcher == "srun":
                names = " ".join(one.modules)
                yield (
                    f"Modules {names} give no platform: Tare starts the ranks of Cray's MPI by srun, "
                    f"and {why}."
                )


def _class_remarks(partition: Partition, others: Sequence[NodeClass]) -> Iterator[str]:
    """Yield the kinds of nodes that are not the chosen one, and generic resources."""
    listed = set(class_nodes(partition))
    for one in others:
        where = "also in 'nodes'" if listed.issuperset(one.usable) else "not in 'nodes'"
        more = f"; features {','.join(one.features)}" if one.features else ""
        shown = ", ".join(host_ranges(one.nodes))
        yield f"Nodes of another kind, {where}: {shown}, {count(one.cores, 'core')}{more}."
    for one in partition.classes:
        if one.gres:
            shown = ", ".join(host_ranges(one.nodes))
            yield f"Generic resources of {shown}: {one.gres}; ask for them with 'slurm: {{gres: …}}'."


def _feature_remarks(partition: Partition) -> Iterator[str]:
    """Yield the features that nodes can have and have not now."""
    for one in partition.classes:
        lacking = [feature for feature in one.available if feature not in one.features]
        if lacking:
            yield (
                f"Features that {', '.join(host_ranges(one.nodes))} can have, and have not now: "
                f"{','.join(lacking)}. Jobs that ask for them get these nodes only if Slurm reboots them."
            )


def _fault_remarks(partition: Partition) -> Iterator[str]:
    """Yield which nodes of the partition take no jobs now."""
    by_state: dict[str, list[str]] = {}
    for one in partition.classes:
        for name, state in one.faults.items():
            by_state.setdefault(state, []).append(name)
    is_left_out = "not in 'nodes'" if partition.usable else "in 'nodes', since it has no others"
    for state, names in by_state.items():
        shown = ", ".join(host_ranges(names))
        yield f"Nodes of partition {partition.name} that take no jobs now, {is_left_out}: {shown} ({state})."


def _states(partition: Partition) -> str:
    return ", ".join(dict.fromkeys(state for one in partition.classes for state in one.faults.values()))


def _fabric_remarks(found: Found) -> Iterator[str]:
    """Yield the ports of fabrics that no network of the file uses, or uses by TCP alone."""
    for node in found.nodes[:1]:
        used = {port for one in find_networks(found.nodes) for port in one.ports if one.provider != "tcp"}
        left = [one.described for one in node.fabrics if one.name not in used]
        if left:
            yield (
                f"Fabric ports of {node.node} that no network above uses by verbs: {', '.join(left)}. To "
                "measure one, give a network its 'provider' (docs/sites.md)."
            )


def _accounting_remarks(slurm: SlurmFacts) -> Iterator[str]:
    accounts = {f"{one.name} (in {one.partition})" if one.partition else one.name for one in slurm.accounts}
    if len(accounts) > 1:
        yield f"Accounts that you may charge: {', '.join(sorted(accounts))}."
    own: dict[tuple[str, ...], list[str]] = {}
    for one in slurm.accounts:
        own.setdefault(tuple(sorted(one.qos)), []).append(one.name)
    for qos, names in own.items():
        if len(qos) > 1:
            whose = f" with account {', '.join(dict.fromkeys(names))}" if len(own) > 1 else ""
            cure = "choose one with --qos, or 'slurm: {qos: …}'"
            yield f"QoS that you may use{whose}: {', '.join(qos)}; {cure}."


def _module_remarks(found: Found) -> Iterator[str]:
    """Yield what module systems and Spack the asked nodes have, and what of them is no platform."""
    for node in found.nodes[:1]:
        for system in (node.module_system, node.eessi):
            yield from _system_remarks(system, node.node) if system else ()
        if node.loaded:
            yield (
                f"Modules loaded in the shell of `tare init`: {', '.join(node.loaded)}. Runs have them only "
                "if `tare run` is called in such a shell, or a platform names them in 'modules'."
            )
        yield from spack_notes(node.spack) if node.spack else ()
    everywhere = {identity(one) for one in common_mpis(found.nodes)}
    lacking = {
        f"{'modules' if one.modules else 'Spack'} {' '.join((*one.modules, *one.spack))}"
        for node in found.nodes
        for one in node.mpis
        if loaded(one) and identity(one) not in everywhere
    }
    for names in sorted(lacking):
        yield f"Not on all asked nodes, or not the same there: {names}."


def _system_remarks(system: ModuleSystem, node: str) -> Iterator[str]:
    title = f"{system.title} {system.version}".strip()
    after = f" after '{system.setup}'" if system.setup else ""
    seen = f"{count(system.n_modules, 'module is', 'modules are')} seen on {node}{after} (`module -t avail`)"
    yield f"{title}: {seen}; docs/software.md says how to load them."
    if system.programs:
        yield f"Programs of {title} that Tare can measure: {first_names(system.programs)}."
    yield from system.notes
