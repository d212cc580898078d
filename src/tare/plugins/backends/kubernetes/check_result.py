"""The result type of cluster checks, and a common cure."""

from __future__ import annotations

from tare.core.checks import Finding as Finding  # a check module needs no other import

ROLE = "apply deploy/kubernetes, or ask for a Role with that right"
"""The cure for a right that is missing."""
