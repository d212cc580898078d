"""The environment variables that carry a job's mark. Standard library only: the guard imports this alone."""

from __future__ import annotations

VARIABLE = "TARE_JOB"
"""Every process of a job inherits it; its value is the job's mark (see backends.marks)."""

KEEPER_VARIABLE = f"LC_{VARIABLE}"
"""The mark of conmon, which watches a container: podman hands on to it only LC_* of the environment."""
