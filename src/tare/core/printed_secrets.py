"""Hide secrets in what programs printed with their figures, and in the reasons of attempts."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec

from tare.core.attempt import Attempt, Series
from tare.core.values import Scalar

Hide = Callable[[str], str]


def without_secrets(attempt: Attempt, hide: Hide) -> Attempt:
    """Return `attempt` with `hide` applied to the texts that come from programs.

    These are its reason, the evidence for network and placement, texts among coordinates, and what is
    `printed`.
    """
    hide = functools.cache(hide)  # a column may repeat the same few words a million times
    return msgspec.structs.replace(
        attempt,
        reason=hide(attempt.reason),
        transport=hide(attempt.transport),
        chosen=hide(attempt.chosen),
        placement=hide(attempt.placement),
        series=[_hidden(one, hide) for one in attempt.series],
        printed={name: _words(values, hide) for name, values in attempt.printed.items()},
    )


def _hidden(series: Series, hide: Hide) -> Series:
    if not any(column and isinstance(column[0], str) for column in series.at.values()):
        return series  # this is usual, and a series may have a million values
    at = {name: _words(column, hide) for name, column in series.at.items()}
    return msgspec.structs.replace(series, at=at)


def _words(values: list[Scalar], hide: Hide) -> list[Scalar]:
    return [hide(one) if isinstance(one, str) else one for one in values]
