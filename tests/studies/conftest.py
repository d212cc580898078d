"""Studies are run with the real command, as the tests of the commands do."""

from __future__ import annotations

from cli.conftest import tare

__all__ = ["tare"]
