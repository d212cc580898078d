"""Why the software of a run could not be loaded."""

from __future__ import annotations

from pathlib import Path

from tare.core.job import Exit
from tare.probes.software import faults_in


def loading_fault(work: Path, ended: Exit) -> str:
    """Return why the software of the run in `work`, which has ended, could not be loaded; empty if it was."""
    faults = faults_in(work, is_timeout=ended.is_timeout)
    if ended.fault:  # the connection is lost, which is why a step did not end
        faults = [one for one in faults if one.has_ended]
    if not faults:
        return ""
    others = f"; so did {len(faults) - 1} more of its processes" if len(faults) > 1 else ""
    return f"{faults[0].describe()}{others}"
