"""What one check of a cluster found."""

from __future__ import annotations

from tare.core.checks import Finding as Finding  # who checks a cluster needs no other module

ROLE = "apply deploy/kubernetes, or ask for a Role with that right"
"""The cure for a right that is missing."""
