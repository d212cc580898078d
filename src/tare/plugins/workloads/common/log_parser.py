"""The base class of parsers that read an output line by line and report at its end.

A workload uses one as follows::

    return _Log(self.foms).parse(lines)
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from tare.core.workload import Fom, Parsed
from tare.plugins.workloads.common.benchmark import Banner, Findings
from tare.plugins.workloads.common.text import Sieve


class LogParser(abc.ABC):
    """A parser of one output. `banner`, `sieve` and `finds_aborts` are those of `Findings.lines`."""

    banner: ClassVar[Banner | None] = None
    sieve: ClassVar[Sieve | None] = None
    finds_aborts: ClassVar[bool] = False

    def __init__(self, foms: Iterable[Fom]) -> None:
        self._findings = Findings(foms)

    def parse(self, lines: Iterable[str]) -> Parsed:
        """Read all lines of an output, and return what they hold (see core.workload.Workload.parse)."""
        read = self.read
        for line in self._findings.lines(
            lines,
            self.read_torn,
            sieve=self.sieve,
            banner=self.banner,
            finds_aborts=self.finds_aborts,
        ):
            read(line)
        return self.parsed()

    @abc.abstractmethod
    def read(self, line: str) -> None:
        """Read one line."""

    def read_torn(self, line: str) -> None:  # noqa: B027  # most formats do not show whether a line is whole
        """Read a last line without a line end. It is left out, unless a subclass finds it whole."""

    @abc.abstractmethod
    def parsed(self) -> Parsed:
        """Return everything that the lines held."""
