"""What every part of Tare writes its log with: a standard logger, and named fields beside the message.

    _LOG = log.of("slurm")
    _LOG.info("submitted", extra=fields(job=number, case=case.id))

A message is the same words each time, what differs is a field: so a log can be searched. Nothing is written
until a handler is added, as `tare run -v` does; secrets are taken out there (see store.log).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

ROOT = "tare"

Value = str | int | float | bool | Sequence[str] | None
"""What a field may hold; a sequence is the words of a command, or names."""


def of(source: str) -> logging.Logger:
    """Return the logger of one source, such as ``ssh`` or ``runner``."""
    return logging.getLogger(f"{ROOT}.{source}")


def fields(**values: Value) -> dict[str, Mapping[str, Value]]:
    """Return the `extra` of a log call with these fields."""
    return {"fields": values}
