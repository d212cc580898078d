"""The schema of `gridengine:` in a platform: how the platform asks Grid Engine for nodes."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.backend_plugin import OptionsReader
from tare.core.errors import shown
from tare.core.fields import Count, Word
from tare.plugins.backends.batch.options import JobOptions

AGENT = "tare-qrsh"
"""The command in a job that starts another command on one of its nodes.

It is called like ssh (see nodes.sh).
"""

_PLACE = "{slots}"
_VALUE = re.compile(r"[^\s'\"\\#]+")  # qsub splits an option line like a shell
_RESOURCE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OWN_RESOURCE = "h_rt"


class GridEngineOptions(JobOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform asks Grid Engine for nodes: the options of qsub."""

    parallel_environment: Annotated[
        Word,
        Meta(
            description="The parallel environment (-pe); {slots} stands for the slots per node, which its "
            "allocation_rule is, and control_slaves is TRUE.",
            examples=["mpi-{slots}", "mpi-24"],
        ),
    ]
    slots_per_node: Annotated[
        Count | None,
        Meta(
            description="The slots to ask for on each node; default: ranks per node times threads. With all "
            "that a node has, a job is alone there.",
            examples=[24],
        ),
    ] = None
    queue: Annotated[Word | None, Meta(description="Cluster queues (-q).", examples=["compute.q"])] = None
    project: Annotated[Word | None, Meta(description="Project (-P).", examples=["proj42"])] = None
    resources: Annotated[
        dict[str, Word],
        Meta(description="Resource requests (-l).", examples=[{"exclusive": "true", "mem_free": "4G"}]),
    ] = msgspec.field(default_factory=dict)
    lines: Annotated[
        tuple[Word, ...], Meta(description="Further options of qsub.", examples=[["-l infiniband"]])
    ] = ()

    @property
    def agent(self) -> tuple[str, ...]:
        """Return the command that reaches a job's nodes, over qrsh -inherit (see BackendOptions)."""
        return (AGENT,)

    def slots(self, ranks_per_node: int, threads: int) -> int:
        """Return the number of slots that a job takes on each node."""
        return self.slots_per_node or ranks_per_node * threads

    def environment_of(self, slots: int) -> str:
        """Return the name of the parallel environment for this number of slots on each node."""
        return self.parallel_environment.replace(_PLACE, str(slots))


def check_options(options: GridEngineOptions, reader: OptionsReader) -> GridEngineOptions:
    """Return `options`. Report every fault that would make qsub fail."""
    for name in ("parallel_environment", "queue", "project"):
        value = getattr(options, name)
        if value is not None and not _VALUE.fullmatch(value):
            reader.fault(f"{shown(value)} is no value of qsub; leave out blanks, quotes and '#'", name)
    for name, value in options.resources.items():
        if name == _OWN_RESOURCE:
            reader.fault("Tare says h_rt itself; set the study's timeout", "resources", name)
        elif not _RESOURCE.fullmatch(name) or not _VALUE.fullmatch(value) or "," in value:
            reader.fault(
                f"{shown(f'{name}={value}')} is no request of qsub; write it as after -l: 'mem_free: 4G'",
                "resources",
                name,
            )
    for number, line in enumerate(options.lines):
        if not line.startswith("-") or not line.isprintable():
            wrong = f"{shown(line)} is not an option of qsub"
            reader.fault(f"{wrong}; write it as after #$: '-l infiniband'", "lines", number)
    return options
