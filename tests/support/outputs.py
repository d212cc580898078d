"""Read the output of a workload in a test, and find its figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping

import msgspec

from tare.core.values import Scalar
from tare.core.workload import Parsed, Workload
from tare.plugins import registry


def parse(workload: str, text: str) -> Parsed:
    """Return what the built-in workload of this name reads in `text`."""
    return registry.workloads()[workload].parse(io.StringIO(text))


def reader(workload: Workload) -> Callable[[str], Parsed]:
    """Return what reads a text as the output of `workload`."""
    return lambda text: workload.parse(io.StringIO(text))


def reader_of_any(workloads: Mapping[str, Workload]) -> Callable[[str, str], Parsed]:
    """Return what reads a text as the output of the workload that it is told."""
    return lambda name, text: workloads[name].parse(io.StringIO(text))


def without_left_out(parsed: Parsed) -> Parsed:
    """Return `parsed` without its sentences on what was left out."""
    return msgspec.structs.replace(parsed, left_out=())


def figures(parsed: Parsed, fom: str, **at: Scalar) -> list[float]:
    """Return the values of a figure at all points that have these coordinates, in their order."""
    return [one.value for one in parsed.measurements if one.fom == fom and at.items() <= one.at.items()]


def only(parsed: Parsed, fom: str, **at: Scalar) -> float:
    """Return the value of a figure at the one point that has these coordinates."""
    (value,) = figures(parsed, fom, **at)
    return value
