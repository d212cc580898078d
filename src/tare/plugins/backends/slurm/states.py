"""Map Slurm's job states to phases (squeue(1), JOB STATE CODES). A new state is unknown, never success."""

from __future__ import annotations

from tare.plugins.backends.batch.phases import Phase

_PHASES = {
    "PENDING": Phase.QUEUED,
    "CONFIGURING": Phase.QUEUED,
    "REQUEUED": Phase.QUEUED,
    "REQUEUE_FED": Phase.QUEUED,
    "REQUEUE_HOLD": Phase.QUEUED,
    "RESV_DEL_HOLD": Phase.QUEUED,
    "SPECIAL_EXIT": Phase.QUEUED,
    "RUNNING": Phase.ACTIVE,
    "COMPLETING": Phase.COMPLETING,
    "RESIZING": Phase.ACTIVE,
    "SIGNALING": Phase.ACTIVE,
    "STAGE_OUT": Phase.ACTIVE,
    "STOPPED": Phase.SUSPENDED,
    "SUSPENDED": Phase.SUSPENDED,
    "POWER_UP_NODE": Phase.QUEUED,
    "COMPLETED": Phase.ENDED,
    "FAILED": Phase.ENDED,
    "CANCELLED": Phase.CANCELLED,
    "REVOKED": Phase.CANCELLED,
    "TIMEOUT": Phase.TIMED_OUT,
    "DEADLINE": Phase.TIMED_OUT,
    "OUT_OF_MEMORY": Phase.OUT_OF_MEMORY,
    "PREEMPTED": Phase.PREEMPTED,
    "NODE_FAIL": Phase.NODE_FAILED,
    "BOOT_FAIL": Phase.NODE_FAILED,
    "LAUNCH_FAILED": Phase.NODE_FAILED,
    "RECONFIG_FAIL": Phase.NODE_FAILED,
}


def phase_of(state: str) -> Phase:
    """Return the phase of a state as squeue and sacct print it; ``CANCELLED by 0`` is CANCELLED."""
    return _PHASES.get(state.split(" ")[0].rstrip("+"), Phase.UNKNOWN)


def is_out(state: str) -> bool:
    """Return whether a node is down, failing or not responding, from its state as sinfo(1) prints it."""
    return state.endswith("*") or state.lower().startswith(("down", "fail", "error", "power"))
