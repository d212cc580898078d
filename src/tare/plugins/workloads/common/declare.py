"""Declare the parameters and the figures of merit of a workload, each by its kind.

Examples::

    whole("streams", 1, "parallel streams (-P)", minimum=1)
    higher("bandwidth", "MB/s", "10⁶ bytes per second", "bytes", is_primary=True)

In the second, ``bytes`` is a coordinate of the figure. See Parameter and Fom in tare.core.workload.
"""

from __future__ import annotations

from functools import partial

from tare.core.bounds import Resource
from tare.core.values import Scalar
from tare.core.workload import Better, Fom, Parameter, ParameterKind, QuestionKind


def _fom(
    better: Better,
    name: str,
    unit: str,
    summary: str = "",
    *by: str,
    is_primary: bool = False,
    limit: Resource | None = None,
    answers: tuple[QuestionKind, ...] = (),
) -> Fom:
    return Fom(
        name=name,
        unit=unit,
        better=better,
        by=by,
        summary=summary,
        is_primary=is_primary,
        limit=limit,
        answers=answers,
    )


higher = partial(_fom, Better.HIGHER)
"""A figure of merit of which more is better."""
lower = partial(_fom, Better.LOWER)
"""A figure of merit of which less is better."""


def _parameter(
    kind: ParameterKind,
    name: str,
    default: Scalar | None,
    summary: str,
    *,
    minimum: float | None = None,
    choices: tuple[Scalar, ...] = (),
    is_late: bool = False,
) -> Parameter:
    return Parameter(
        name=name,
        kind=kind,
        default=default,
        summary=summary,
        minimum=minimum,
        choices=choices,
        is_late=is_late,
    )


text = partial(_parameter, ParameterKind.TEXT)
flag = partial(_parameter, ParameterKind.FLAG)
whole = partial(_parameter, ParameterKind.WHOLE)
number = partial(_parameter, ParameterKind.NUMBER)
size = partial(_parameter, ParameterKind.BYTES)
seconds = partial(_parameter, ParameterKind.SECONDS)
