"""Derive the layout that runs from what a study asks for: ranks on nodes, threads and binding. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePosixPath

from tare.core.case import Binding, Case, Layout
from tare.core.counting import count
from tare.core.site import Platform, Site
from tare.core.values import Scalar, Settings
from tare.core.workload import Stage
from tare.probes.core_binding import chosen

_MEMORY = "/dev/shm"  # noqa: S108
LAYOUT_SETTINGS = ("nodes", "ranks", "ranks_per_node", "threads")
"""The settings of a layout that are numbers; `bind` is its fifth setting."""
ASKABLE = (*LAYOUT_SETTINGS, "bind")
"""The settings of a layout, for which a study may ask."""
_ASKABLE = frozenset(ASKABLE)


def lay_out(
    nodes: Scalar | None,
    ranks: Scalar | None,
    ranks_per_node: Scalar | None,
    threads: Scalar | None,
    bind: Binding | None = None,
) -> Layout | str:
    """Return the layout that two of nodes, ranks and ranks per node make, or why they make none.

    Without `bind`, the binding of the layout is unknown (None).
    """
    n_nodes, n_ranks, per_node = (
        None if value is None else int(value) for value in (nodes, ranks, ranks_per_node)
    )
    if n_ranks is None:
        n_nodes, per_node = n_nodes or 1, per_node or 1
        n_ranks = n_nodes * per_node
    elif n_nodes is None:
        per_node = per_node or n_ranks
        n_nodes = math.ceil(n_ranks / per_node)
    else:
        per_node = per_node if per_node is not None else math.ceil(n_ranks / n_nodes)
    if not n_nodes <= n_ranks <= n_nodes * per_node:
        return (
            f"{count(n_ranks, 'rank does', 'ranks do')} not fill {count(n_nodes, 'node')} with "
            f"{count(per_node, 'rank')} each; "
            "give two of nodes, ranks and ranks_per_node, or three that agree"
        )
    return Layout(n_nodes, n_ranks, per_node, int(threads or 1), bind)


def layout_at(settings: Settings, site: Site) -> Layout | str:
    """Return the layout that `settings` ask for at `site`, without a binding yet, or why there is none."""
    nodes, ranks, ranks_per_node, threads = (settings.get(name) for name in LAYOUT_SETTINGS)
    layout = lay_out(nodes, ranks, ranks_per_node, threads)
    n_nodes = 0 if isinstance(layout, str) else layout.nodes
    if n_nodes > len(site.nodes):
        return (
            f"{count(n_nodes, 'node')}, but site {site.name} has {len(site.nodes)}; use {len(site.nodes)} "
            "or fewer"
        )
    return layout


def used_layout(stages: tuple[Stage, ...], asked: Layout) -> tuple[Layout, Stage]:
    """Return the stage of `stages` that takes most nodes and ranks, with its layout.

    A stage without a layout of its own starts in `asked` where an MPI starts it, else as one process.
    """
    if len(stages) == 1:
        return _layout_of(stages[0], asked), stages[0]
    found = [(_layout_of(stage, asked), stage) for stage in stages]
    return max(found, key=lambda one: (one[0].nodes, one[0].ranks, one[1].is_mpi))


def _layout_of(stage: Stage, asked: Layout) -> Layout:
    if stage.layout is not None:
        return stage.layout
    return asked if stage.is_mpi else Layout(threads=asked.threads, bind=asked.bind)


def binding(asked: Binding | None, layout: Layout, stage: Stage, platform: Platform, site: Site) -> Binding:
    """Return the binding of the ranks of `stage`: `asked` if given, else what suits `layout`.

    The default is `core` where the site binds ranks, an MPI starts them, their threads fit the known cores,
    and the ranks can be bound (see `bind_fault`); else it is `none`. It is also `none` for programs with
    threads that the layout does not count, such as services. Pods are not bound by default either: a pod does
    not know which cores of its node other pods have.
    """
    if not stage.is_mpi or platform.launcher == "none":
        return Binding.NONE
    if asked is not None:
        return asked
    is_free = stage.has_own_threads or stage.is_pair or platform.options.pods is not None
    is_free = is_free or not site.binds_ranks
    if is_free or not fits(layout, site) or bind_fault(Binding.CORE, layout, platform, site):
        return Binding.NONE
    return Binding.CORE


def fits(layout: Layout, site: Site) -> bool:
    """Return whether each thread of `layout` has a core of its own, according to the site."""
    return layout.ranks_per_node * layout.threads <= site.slots(layout.nodes)


def bind_fault(bind: Binding, layout: Layout, platform: Platform, site: Site) -> str | None:
    """Return why ranks of `layout` cannot be bound at `site`, with the cure; None where they can."""
    if bind is Binding.NONE:
        return None
    if site.shared_cores is None or layout.nodes == 1:
        return None
    shared = (
        f"bind {bind.value}: the {count(layout.nodes, 'node')} of a case share the "
        f"{count(site.shared_cores, 'core')} of one "
        f"machine at site {site.name}"
    )
    own = chosen(layout, platform, site)
    if platform.is_queued:
        return f"{shared}, and a batch system would bind to the same ones; set bind: none, or nodes: 1"
    if bind is Binding.SOCKET:
        return f"{shared}, and have no sockets of their own; set bind: core or none, or nodes: 1"
    needed = layout.ranks_per_node * layout.threads
    if needed > (len(own[0]) if own else 0):
        have = f"each has {len(own[0])} of its own" if own else "none has one of its own"
        return (
            f"{shared}; {have}, and its ranks need {needed}; set bind: none, or fewer nodes, ranks or threads"
        )
    return None


def storage_fault(case: Case, layout: Layout, stages: Sequence[Stage], site: Site) -> str | None:
    """Return why `case` cannot run on its storage path, with the cure; None where it can.

    Ranks on several nodes cannot share files in shared memory, because each node has its own
    (shm_overview(7)).
    """
    if layout.nodes == 1 or not any(one.shares_storage for one in stages):
        return None
    path = PurePosixPath(site.storage.get(case.storage or "", ""))
    if not path.is_relative_to(_MEMORY):
        return None
    return (
        f"storage {case.storage!r} of site {site.name} is {path}, which is each node's own memory, and the "
        f"{count(layout.ranks, 'rank')} of {case.workload} on {count(layout.nodes, 'node')} share files; "
        "use a storage path "
        "that nodes share, or nodes: 1"
    )


def host_fault(case: Case, platform: Platform, site: Site) -> str | None:
    """Return why ranks of `case` would not start on the hosts of its network, with the cure; None if they do.

    A batch system starts them on the nodes that it chooses, whatever the network's `host`.
    """
    network = site.networks.get(case.network or "")
    if (
        network is None
        or network.host == "{node}"
        or not platform.is_queued
        or platform.options.pods is not None
    ):
        return None
    return (
        f"network {case.network!r} of site {site.name} has ranks on the host {network.host!r}, and a batch "
        f"system starts those of platform {case.platform!r} on its own nodes; make these hosts nodes of the "
        "batch system, in a partition of their own that a platform names, or use a platform without one"
    )


def asked_names(settings: Settings) -> frozenset[str]:
    """Return the settings of a layout that `settings` ask for."""
    return _ASKABLE.intersection(settings)


def difference(asked: Case, used: Case, names: frozenset[str]) -> dict[str, tuple[Scalar, Scalar]]:
    """Return those of the settings `names` whose used value is not the asked one: (asked, used) by name."""
    before, after = asked.layout, used.layout
    if not names or before == after:
        return {}
    values = ((name, getattr(before, name), getattr(after, name)) for name in ASKABLE if name in names)
    return {name: (one, other) for name, one, other in values if one != other}
