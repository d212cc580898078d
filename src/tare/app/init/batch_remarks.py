"""Say what Tare can do with a batch system for which no platforms are written. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from tare.app.init.yaml_text import flow
from tare.core.counting import count
from tare.discovery.facts import Allocation, BatchSystem

_IN_A_JOB: Mapping[str, str] = MappingProxyType(
    {
        "pbs": "qsub -I -l select=2:ncpus=…",
        "lsf": "bsub -Is -n … bash",
        "flux": "flux alloc -N2",
        "gridengine": "qrsh -pe … bash",
    }
)
"""How a user gets a job with a shell on its first node."""


def batch_remarks(system: BatchSystem) -> Iterator[str]:
    """Yield what answers, which platform would use it, and the way that needs none."""
    queues = f", queues {', '.join(system.queues)}" if system.queues else ""
    yield f"{system.title} {system.version} answers here{queues}."
    yield _grid_engine(system) if system.name == "gridengine" else _psij(system)
    yield (
        f"Or call `tare init` within a job of {system.title} (`{_IN_A_JOB[system.name]}`): it then writes a "
        "site of the job's nodes, which ssh must reach."
    )


def _psij(system: BatchSystem) -> str:
    options: dict[str, object] = {"executor": system.name}
    if system.queues and system.name != "flux":  # PSI/J hands none on to Flux (docs/psij.md)
        options["queue"] = system.queues[0]
    platform = flow({"backend": "psij", "launcher": "openmpi4", "psij": options})
    return (
        f"A platform for it, which was not tried: 'queued: {platform}' (docs/psij.md; needs tare-hpc[psij]). "
        f"Scripts for {system.title} are checked in Tare's tests; no real {system.title} has run them yet."
    )


def _grid_engine(system: BatchSystem) -> str:
    environment = max(system.environments, key=lambda one: len(one.nodes), default=None)
    if environment is None:
        return (
            "Tare needs a parallel environment with a number as allocation_rule and with control_slaves TRUE "
            "(docs/gridengine.md); there is none: ask an administrator for one."
        )
    options = {"parallel_environment": environment.name, "slots_per_node": environment.slots, "in_flight": 1}
    platform = flow({"backend": "gridengine", "launcher": "openmpi4", "gridengine": options})
    return (
        f"A platform for it, which was not tried: 'queued: {platform}' (docs/gridengine.md). "
        f"qconf -sp {environment.name} gives {count(environment.slots, 'slot')} on each node; nodes that "
        "have it: "
        f"{', '.join(environment.nodes[:8])}{', …' if len(environment.nodes) > 8 else ''}."
    )


def allocation_remark(allocation: Allocation) -> str:
    """Return what a site within a job means."""
    return (
        f"This site is of {allocation.title} job {allocation.job}: it holds while the job runs, and its runs "
        "start within the job, over ssh. Call `tare init --force` in the next one."
    )
