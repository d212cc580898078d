"""Reports of Intel MPI with I_MPI_DEBUG.

They go to the program's standard output. So Tare does not ask for them, and reads them only if a site does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.execution.transport_reports.report import TransportReport

LIBRARY = "Intel MPI"
ASKED_BY: tuple[str, ...] = ()

_LINE = re.compile(r"\[\d+\] MPI startup\(\): (?P<text>.*)")
_PROVIDER = re.compile(r"libfabric provider: (?P<provider>[^\s;]+)")
# A row of the table "Rank    Thread id  Pin nic"; the table of cores has a fourth column.
_CARD = re.compile(r"\d+ +\d+ +(?P<interface>[A-Za-z]\S*)\s*$")


def parse(line: str) -> Iterator[TransportReport]:
    """Yield the provider or the network card that `line` names, if any."""
    entry = _LINE.match(line)
    if entry is None:
        return
    if provider := _PROVIDER.match(entry["text"]):
        yield TransportReport(library=LIBRARY, transport=provider["provider"])
    elif card := _CARD.match(entry["text"]):
        yield TransportReport(library=LIBRARY, interface=card["interface"])


def is_chatter(line: str) -> bool:
    """Return False: the lines that a site itself asked for stay in the output."""
    return False
