"""Telemetry: a sampler program for the nodes of a run, and the evaluation of its recordings."""

from __future__ import annotations

from pathlib import Path

from tare.core.errors import NOT_JSON
from tare.core.telemetry import Span
from tare.plugins.collectors.sampler.bundle import program
from tare.plugins.collectors.sampler.figures import derive
from tare.plugins.collectors.sampler.recording import raw_name, read, store
from tare.plugins.collectors.sampler.timeline import read_timeline

__all__ = ["program", "raw_name", "read", "read_timeline", "settle"]


def settle(folder: Path, span: Span) -> dict[str, float]:
    """Store the recordings in an attempt's folder, and return the attempt's figures by name (see FIGURES)."""
    try:
        return derive(store(folder, span))
    except NOT_JSON:  # a node's file system damaged it; the run itself is valid
        return {}
