"""What the stranger's launcher says of its transport: ``stranger: way=tcp``."""

from __future__ import annotations

from collections.abc import Iterator

from tare.execution.transport_reports.report import TransportReport

LIBRARY = "stranger"
ASKED_BY = ("STRANGER_VERBOSE",)
_MARK = "stranger: way="


def parse(line: str) -> Iterator[TransportReport]:
    """Yield the transport that `line` names."""
    if line.startswith(_MARK):
        yield TransportReport(library=LIBRARY, transport=line.removeprefix(_MARK).strip())


def is_chatter(line: str) -> bool:
    """Return whether `line` is there only because the launcher was asked."""
    return line.startswith(_MARK)
