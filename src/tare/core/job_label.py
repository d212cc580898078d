"""The environment variables that carry a job's label. Standard library only: the guard imports this alone."""

from __future__ import annotations

VARIABLE = "TARE_JOB"
"""Every process of a job inherits it; its value is the job's label (see backends.process_labels)."""

KEEPER_VARIABLE = f"LC_{VARIABLE}"
"""The label of conmon, which watches a container: podman passes only LC_* of the environment on to it."""
