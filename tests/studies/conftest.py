"""Studies are planned and run as the tests of the commands do."""

from __future__ import annotations

from cli.conftest import tare, tare_here

__all__ = ["tare", "tare_here"]
