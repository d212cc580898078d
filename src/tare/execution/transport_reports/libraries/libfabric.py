"""Reports of libfabric with FI_LOG_LEVEL=info: lines ``libfabric:pid:…:function():line<level> words``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.execution.transport_reports.report import TransportReport

LIBRARY = "libfabric"
ASKED_BY: tuple[str, ...] = ("FI_LOG_LEVEL",)

_LINE = re.compile(r"libfabric:\d+:.*?\w+\(\):\d+<(?P<level>\w+)> (?P<text>.*)")
# src/fabric.c logs the provider whose fabric is opened (not in version 1.17, whose log is then not enough);
# prov/util/src/util_attr.c logs the address that it chooses.
_USING = re.compile(r"Using (?P<provider>\S+) provider\b")
_OFFERED = re.compile(r"Available addr: (?P<address>\S+), iface name: (?P<interface>[^\s,]+)")
_CHOSEN = re.compile(r"Chosen addr for using: (?P<address>[^\s,]+)")
_UTILITIES = re.compile(r"(?:ofi_|off_|lnx)")
_INFORMATIONAL = frozenset({"info", "trace", "debug"})


def parse(line: str) -> Iterator[TransportReport]:
    """Yield the provider or the interface that `line` names, if any."""
    entry = _LINE.match(line)
    if entry is None:
        return
    text = entry["text"]
    if using := _USING.match(text):
        core = [one for one in using["provider"].split(";") if not _UTILITIES.match(one)]
        for provider in core[:1]:
            yield TransportReport(library=LIBRARY, transport=provider, is_local=provider == "shm")
    elif offered := _OFFERED.match(text):
        address, interface = offered["address"], offered["interface"]
        yield TransportReport(library=LIBRARY, address=address, interface=interface, is_offered=True)
    elif chosen := _CHOSEN.match(text):
        yield TransportReport(library=LIBRARY, address=chosen["address"])


def is_chatter(line: str) -> bool:
    """Return whether `line` was printed only because libfabric was asked to be verbose."""
    entry = _LINE.match(line)
    return entry is not None and entry["level"] in _INFORMATIONAL
