"""Commands of batch systems that are not here: doubles that keep what PSI/J hands them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_COMMAND = Path(__file__).with_name("batch_system_double")


class BatchSystemDouble:
    """Stands for the commands of a batch system, on the path."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, *commands: str) -> None:
        self._folder = folder / "batch system"
        (self._folder / "bin").mkdir(parents=True)
        for name in commands:
            (self._folder / "bin" / name).symlink_to(_COMMAND)
        patch.setenv("PATH", f"{self._folder / 'bin'}:{os.environ['PATH']}")
        patch.setenv("DOUBLE_FOLDER", str(self._folder))

    def says(self, name: str, text: str, *, complains: str = "", code: int = 0) -> None:
        """Let a command print this, and exit so."""
        (self._folder / f"{name}.says").write_text(text)
        (self._folder / f"{name}.complains").write_text(complains)
        (self._folder / f"{name}.exits").write_text(str(code))

    @property
    def calls(self) -> list[str]:
        """Return the commands that were called, with their words."""
        return (self._folder / "calls").read_text().splitlines()

    @property
    def directives(self) -> list[str]:
        """Return the lines of the submitted script that are for the batch system."""
        lines = (self._folder / "script").read_text().splitlines()
        return [line for line in lines if line.startswith("#") and not line.startswith("#!")]
