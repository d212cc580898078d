"""Hide secrets in what programs printed with their figures, and in the reasons of attempts."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tare.core.attempt import Attempt, Series
from tare.core.values import Scalar

Hide = Callable[[str], str]

_TEXTS = ("reason", "transport", "chosen", "placement")


def without_secrets(attempt: Attempt, hide: Hide) -> Attempt:
    """Return `attempt` with `hide` applied to the texts that come from programs; itself if that changes none.

    These are its reason, the evidence for network and placement, texts among coordinates, what it left out,
    and what is `printed`. A column may repeat the same few words a million times, so `hide` should keep what
    it found.
    """
    hidden: dict[str, object] = {name: hide(getattr(attempt, name)) for name in _TEXTS}
    hidden["series"] = [_hidden(one, hide) for one in attempt.series]
    hidden["left_out"] = [hide(one) for one in attempt.left_out]
    hidden["printed"] = {name: _words(values, hide) for name, values in attempt.printed.items()}
    changed = {name: one for name, one in hidden.items() if one != getattr(attempt, name)}
    return msgspec.structs.replace(attempt, **changed) if changed else attempt


def _hidden(series: Series, hide: Hide) -> Series:
    if not any(column and isinstance(column[0], str) for column in series.at.values()):
        return series  # this is usual, and a series may have a million values
    at = {name: _words(column, hide) for name, column in series.at.items()}
    return msgspec.structs.replace(series, at=at)


def _words(values: list[Scalar], hide: Hide) -> list[Scalar]:
    return [hide(one) if isinstance(one, str) else one for one in values]
