"""Telemetry: a sampler program for the nodes of a run, and the evaluation of its recordings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tare.core.errors import NOT_JSON
from tare.core.telemetry import Span
from tare.plugins.collectors.sampler.bundle import program
from tare.plugins.collectors.sampler.figures import derive
from tare.plugins.collectors.sampler.recording import NONE_HELD, raw_name, read, store
from tare.plugins.collectors.sampler.timeline import read_timeline

__all__ = ["program", "raw_name", "read", "read_timeline", "settle"]


def settle(folder: Path, span: Span, held: Mapping[str, bytes] = NONE_HELD) -> dict[str, float]:
    """Store the recordings in an attempt's folder, and return the attempt's figures by name (see FIGURES).

    `held` are the recordings by host that are in no file.
    """
    try:
        return derive(store(folder, span, held))
    except NOT_JSON:  # a node's file system damaged it; the run itself is valid
        return {}
