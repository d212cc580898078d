"""The phases of a job that Tare distinguishes. Each batch system maps its own states to these."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """What a job is doing, or why it ended. A state that a backend does not know is UNKNOWN."""

    QUEUED = enum.auto()
    ACTIVE = enum.auto()
    COMPLETING = enum.auto()
    """Its script has ended, but its nodes are not free yet."""
    SUSPENDED = enum.auto()
    """Its processes are stopped while the clocks continue."""
    ENDED = enum.auto()
    """It ended by itself, with success or not: its own record shows which."""
    CANCELLED = enum.auto()
    TIMED_OUT = enum.auto()
    OUT_OF_MEMORY = enum.auto()
    PREEMPTED = enum.auto()
    NODE_FAILED = enum.auto()
    UNKNOWN = enum.auto()


RUNNING = frozenset({Phase.ACTIVE, Phase.COMPLETING, Phase.SUSPENDED})
"""The phases of a job that has nodes."""
NOT_OVER = RUNNING | {Phase.QUEUED}
"""The phases of a job that may still do something."""
