"""Compare the settings that a program printed with the settings that were asked for or stated by the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tare.core.case import Case
from tare.core.site import Platform
from tare.core.units import write_bytes
from tare.core.values import Scalar, Settings
from tare.core.workload import Measurement, ParameterKind, Parsed, Workload

_NOUNS = {
    "ranks": ("rank", "ranks"),
    "nodes": ("node", "nodes"),
    "ranks_per_node": ("rank per node", "ranks per node"),
    "threads": ("thread per rank", "threads per rank"),
}
_MOST_SHOWN = 5
_ORDINALS = {"run": "runs", "test": "tests", "report": "reports", "iteration": "iterations"}
"""Coordinates that may number the parts of an output, and the coordinate that gives their count."""


def requested_settings(workload: Workload, case: Case, platform: Platform) -> dict[str, Scalar]:
    """Return the settings that the command line of `case` and its `platform` ask of the measured program.

    The number of nodes is left out: programs count host names, and the placement reports of the ranks prove
    where they were (see execution.placement).
    """
    stage = workload.stages(case)[-1]
    layout = stage.layout or case.layout
    requested: dict[str, Scalar] = {"threads": layout.threads, **case.parameters}
    if platform.mpi:
        requested.setdefault("mpi", platform.mpi)
    return {"ranks": layout.ranks, **requested} if stage.is_mpi else requested


def contradictions(workload: Workload, parsed: Parsed, expected: Settings, verb: str) -> Iterator[str]:
    """Yield a sentence for each printed setting that differs from `expected`.

    `verb` says where the expected value comes from: "asked for" or "stated". An expected value of 0, or an
    empty text, leaves the choice to the program and is not compared.
    """
    sizes = {one.name for one in workload.parameters if one.kind is ParameterKind.BYTES}
    for name, values in parsed.printed.items():
        value = expected.get(name)
        if value is None or (not value and not isinstance(value, bool)):
            continue
        if any(not _is_same(one, value) for one in values):
            shown = _named(name, _listed([_value(name, one, sizes) for one in values]), values)
            was = "was" if name not in _NOUNS or value == 1 else "were"
            other = _value(name, value, sizes)
            yield f"{workload.name} printed {shown}, and {other} {was} {verb}{_cure(name, values)}"


def with_contradictions(workload: Workload, parsed: Parsed, expected: Settings, verb: str) -> Parsed:
    """Return `parsed` with a problem for each contradiction (see `contradictions`)."""
    found = tuple(contradictions(workload, parsed, expected, verb))
    return msgspec.structs.replace(parsed, problems=(*parsed.problems, *found)) if found else parsed


def anchored(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return `measurements` with the count of numbered parts as a further coordinate.

    The third run of five must not be paired with the third run of three. So, where an output numbers its
    parts, their count becomes a coordinate, and only outputs with equally many parts are paired.
    """
    counts: dict[str, set[Scalar]] = {}
    for one in measurements:
        for name in one.at.keys() & _ORDINALS.keys():
            if not isinstance(one.at[name], str):  # the name of a test, as of qperf, is no number
                counts.setdefault(name, set()).add(one.at[name])
    if not counts:
        return list(measurements)
    return [
        msgspec.structs.replace(
            one, at={**one.at, **{_ORDINALS[name]: len(counts[name]) for name in counts if name in one.at}}
        )
        for one in measurements
    ]


def _is_same(printed: Scalar, expected: Scalar) -> bool:
    if isinstance(printed, str) or isinstance(expected, str):
        return str(printed).lower() == str(expected).lower()
    return abs(printed - expected) <= 1e-9 * max(abs(printed), abs(expected))


def _named(name: str, shown: str, values: Sequence[Scalar]) -> str:
    if name not in _NOUNS:
        return f"{name.replace('_', ' ')} {shown}"
    return f"{shown} {_NOUNS[name][values[-1] != 1]}"


def _listed(words: Sequence[str]) -> str:
    more = [f"{len(words) - _MOST_SHOWN} more"] if len(words) > _MOST_SHOWN else []
    *first, last = [*words[:_MOST_SHOWN], *more]
    return f"{', '.join(first)} and {last}" if first else last


def _value(name: str, value: Scalar, sizes: set[str]) -> str:
    if name in sizes and isinstance(value, int):
        return write_bytes(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cure(name: str, values: Sequence[Scalar]) -> str:
    """Return advice if each process of an MPI program ran as an MPI program of one rank; else empty."""
    return "; build it with the launcher's MPI" if name == "ranks" and 1 in values else ""
