"""Inline workloads, and what they read of a text."""

from __future__ import annotations

import io

import msgspec

from tare.core.workload import (
    Better,
    Fom,
    InlineCheck,
    InlineDefinition,
    InlineFom,
    Parsed,
)
from tare.plugins.workloads.inline import InlineWorkload


def fom(
    regex: str | None = None, *, json: str | None = None, by: tuple[str, ...] = (), unit: str = "s"
) -> InlineFom:
    return InlineFom(fom=Fom(name="time", unit=unit, better=Better.LOWER, by=by), regex=regex, json=json)


def workload(*foms: InlineFom, **changes: object) -> InlineWorkload:
    definition = InlineDefinition(name="mine", command=("run",), foms=foms)
    return InlineWorkload(msgspec.structs.replace(definition, **changes))


def parse(text: str, *foms: InlineFom, checks: tuple[InlineCheck, ...] = ()) -> Parsed:
    return workload(*foms, checks=checks).parse(io.StringIO(text))


def values(parsed: Parsed) -> list[float]:
    return [one.value for one in parsed.measurements]
