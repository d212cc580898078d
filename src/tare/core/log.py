"""The log of all parts of Tare: a standard logger, with named fields in addition to the message.

    _LOG = log.of("slurm")
    _LOG.info("submitted", extra=fields(job=number, case=case.id))

A message always has the same words; what differs is in the fields. So a log can be searched. Nothing is
written until a handler is added, as `tare run -v` does; the handler removes secrets (see storage.log).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

ROOT = "tare"

logging.getLogger(ROOT).addHandler(logging.NullHandler())  # else Python itself prints warnings

Value = str | int | float | bool | Sequence[str] | None
"""The type of a field; a sequence holds the words of a command, or names."""


def of(source: str) -> logging.Logger:
    """Return the logger of one source, such as ``ssh`` or ``runner``."""
    return logging.getLogger(f"{ROOT}.{source}")


def fields(**values: Value) -> dict[str, Mapping[str, Value]]:
    """Return the `extra` of a log call with these fields."""
    return {"fields": values}
