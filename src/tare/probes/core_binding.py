"""Bind ranks to the CPUs of their own node if several nodes share one machine, as in the lab. Pure."""

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
"""The script in an attempt's folder that each rank runs before the placement probe and the program."""


def chosen(layout: Layout, platform: Platform, site: Site) -> tuple[tuple[int, ...], ...]:
    """Return the CPUs to which Tare binds the ranks of each node, node by node; empty if it does not.

    The launcher binds the ranks of a case on one node, and those whose nodes a batch system chooses.
    """
    if layout.nodes == 1 or platform.launcher == "none" or platform.is_queued:
        return ()
    return site.own_cpus(layout.nodes)


def with_script(stage: Stage, hosts: Sequence[str], cpus: Sequence[Sequence[int]]) -> Stage:
    """Return `stage` with the script, and with the file that lists the CPUs of each of `hosts`."""
    script = with_rank(Path(__file__).with_name("bind.sh").read_text())
    lists = "".join(f"{host} {' '.join(map(str, own))}\n" for host, own in zip(hosts, cpus, strict=False))
    return msgspec.structs.replace(stage, files={**stage.files, SCRIPT: script, _file(stage): lists})


def bound(program: Invocation, stage: Stage, layout: Layout, folder: str) -> Invocation:
    """Return the command that runs the script, which then executes `program`; `folder` is the working folder.

    If the layout binds to cores, a rank gets one CPU for each of its threads, else all CPUs of its node.
    """
    each = layout.threads if layout.binding is Binding.CORE else 0
    words = (f"{folder}/{_file(stage)}", str(layout.ranks_per_node), str(each))
    return Invocation(argv=("/bin/sh", f"{folder}/{SCRIPT}", *words, *program.argv), env=program.env)


def _file(stage: Stage) -> str:
    return f"cpus/{stage.name}"
