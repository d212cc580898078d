"""Intel MPI with I_MPI_DEBUG, which writes to the program's own output: read where a site sets it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.execution.transport_reports.report import TransportReport

LIBRARY = "Intel MPI"
ASKED_BY: tuple[str, ...] = ()

_LINE = re.compile(r"\[\d+\] MPI startup\(\): (?P<text>.*)")
_PROVIDER = re.compile(r"libfabric provider: (?P<provider>[^\s;]+)")
# The table under "Rank    Thread id  Pin nic"; that of cores has a fourth column.
_CARD = re.compile(r"\d+ +\d+ +(?P<interface>[A-Za-z]\S*)\s*$")


def tell(line: str) -> Iterator[TransportReport]:
    """Yield what `line` says of a provider or of a card, if anything."""
    said = _LINE.match(line)
    if said is None:
        return
    if provider := _PROVIDER.match(said["text"]):
        yield TransportReport(library=LIBRARY, transport=provider["provider"])
    elif card := _CARD.match(said["text"]):
        yield TransportReport(library=LIBRARY, interface=card["interface"])


def is_chatter(line: str) -> bool:
    """Return False: what a site asked for itself stays where it is."""
    return False
