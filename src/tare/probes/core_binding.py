"""Give ranks CPUs of their own nodes, where the nodes share one machine as in the lab. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tare.core.case import Binding, Layout
from tare.core.launch import Invocation
from tare.core.rank_variables import with_rank
from tare.core.site import Platform, Site
from tare.core.workload import Stage

SCRIPT = "bind.sh"
"""The file in an attempt's folder that each rank goes through before any other."""


def chosen(layout: Layout, platform: Platform, site: Site) -> tuple[tuple[int, ...], ...]:
    """Return the CPUs to which ranks of each node are held, node by node; none where they are not.

    Ranks on one node are left to their launcher, and so are those whose nodes a batch system chooses.
    """
    if layout.nodes == 1 or platform.launcher == "none" or platform.is_queued:
        return ()
    return site.own_cpus(layout.nodes)


def with_script(stage: Stage, hosts: Sequence[str], cpus: Sequence[Sequence[int]]) -> Stage:
    """Return `stage` with the script, and the file that tells it the CPUs of each of `hosts`."""
    text = with_rank(Path(__file__).with_name("bind.sh").read_text())
    told = "".join(f"{host} {' '.join(map(str, own))}\n" for host, own in zip(hosts, cpus, strict=False))
    return msgspec.structs.replace(stage, files={**stage.files, SCRIPT: text, _file(stage): told})


def bound(program: Invocation, stage: Stage, layout: Layout, folder: str) -> Invocation:
    """Return `program` behind the script, with the working folder `folder`.

    A rank gets a CPU for each of its threads where the layout binds to cores, else all of its node's.
    """
    each = layout.threads if layout.binding is Binding.CORE else 0
    words = (f"{folder}/{_file(stage)}", str(layout.ranks_per_node), str(each))
    return Invocation(argv=("/bin/sh", f"{folder}/{SCRIPT}", *words, *program.argv), env=program.env)


def _file(stage: Stage) -> str:
    return f"cpus/{stage.name}"
