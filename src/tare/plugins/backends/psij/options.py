"""The schema of `psij:` in a platform: how the platform uses PSI/J."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.backend_plugin import OptionsReader
from tare.core.errors import shown
from tare.core.fields import Count, Word
from tare.plugins.backends.batch.options import JobOptions
from tare.plugins.backends.psij.systems import SYSTEMS, Executor

SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Characters that PSI/J writes into its scripts unchanged.

Around other characters it puts nested quotes, which batch systems take for a part of the value.
"""

_AS_IT_IS = "PSI/J writes only letters, digits and @%+=:,./-_ as they are"


class PsijOptions(JobOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform asks a batch system for nodes, in PSI/J's words (JobAttributes, ResourceSpecV1)."""

    executor: Annotated[
        Executor, Meta(description="PSI/J's name for the batch system.", examples=["pbs", "lsf"])
    ]
    queue: Annotated[Word | None, Meta(description="Queue or partition.", examples=["workq"])] = None
    account: Annotated[
        Word | None, Meta(description="Account or project to charge.", examples=["proj42"])
    ] = None
    reservation: Annotated[Word | None, Meta(description="Reservation.", examples=["R123"])] = None
    exclusive: Annotated[bool, Meta(description="Whole nodes only.")] = False
    minutes: Annotated[
        Count | None,
        Meta(description="How long a job may take; default: the time-outs of its runs.", examples=[30]),
    ] = None
    poll_s: Annotated[
        float, Meta(description="Seconds between two looks at the batch system.", gt=0, examples=[30])
    ] = 10.0
    attributes: Annotated[
        dict[str, Word],
        Meta(
            description="PSI/J's custom attributes: further options of the batch system.",
            examples=[{"pbs.W": "group_list=physics"}, {"slurm.constraint": "skylake"}],
        ),
    ] = msgspec.field(default_factory=dict)

    @property
    def allocator(self) -> str:
        """Return the name that MPIs use for Slurm.

        Other batch systems have none: support differs between MPI builds.
        """
        return "slurm" if self.executor is Executor.SLURM else ""


def check_options(options: PsijOptions, reader: OptionsReader) -> PsijOptions:
    """Return `options`. Report every fault that would make PSI/J or the batch system fail."""
    for message, *path in [*_faults(options), *_attribute_faults(options)]:
        reader.fault(message, *path)
    return options


def _faults(options: PsijOptions) -> Iterator[tuple[str, str]]:
    system = SYSTEMS[options.executor]
    for field in ("queue", "account", "reservation"):
        value = getattr(options, field)
        if value is not None and not system.prefix:
            yield f"PSI/J hands none on to {system.title}; leave it out", field
        elif value is not None and not SAFE.fullmatch(value):
            yield f"{shown(value)}: {_AS_IT_IS}", field
    if options.queue and options.reservation and system.has_reservation_queues:
        yield f"a reservation of {system.title} is a queue of its own; name one of both", "reservation"
    if options.exclusive and options.executor in {Executor.FLUX, Executor.LOCAL}:
        yield f"PSI/J does not ask {system.title} for it; leave it out", "exclusive"
    if options.login and options.executor in {Executor.FLUX, Executor.LOCAL}:
        yield (
            f"PSI/J calls no command of {system.title} that could be called elsewhere; leave it out",
            "login",
        )


def _attribute_faults(options: PsijOptions) -> Iterator[tuple[str, str, str]]:
    system = SYSTEMS[options.executor]
    for key, value in options.attributes.items():
        prefix, _, name = key.partition(".")
        if not system.prefix:
            yield f"PSI/J hands no attributes on to {system.title}; leave it out", "attributes", key
        elif prefix != system.prefix or not SAFE.fullmatch(name):
            yield f"write it as '{system.prefix}.NAME', an option of {system.title}", "attributes", key
        elif name == system.name_option:
            yield "Tare names its jobs itself; leave it out", "attributes", key
        elif not SAFE.fullmatch(value):
            yield f"{shown(value)}: {_AS_IT_IS}", "attributes", key
