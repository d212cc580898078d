"""Reports of UCX with UCX_LOG_LEVEL=info: the lanes of each endpoint configuration, ``tag(tcp/eth0)``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.execution.transport_reports.report import TransportReport

LIBRARY = "UCX"
ASKED_BY: tuple[str, ...] = ("UCX_LOG_LEVEL", "UCX_LOG_FILE")

_LINE = re.compile(
    r"\[\d+\.\d+\] \[(?P<host>[^\s:\]]+):\d+\s*:\d+\]\s+\S+\s+UCX\s+(?P<level>\w+)\s+(?P<text>.*)"
)
# ucp_worker.c: "ep_cfg[1]: …" to version 1.13, "ucp_context_0 inter-node cfg#1 …" since.
_LANES = re.compile(
    r"(?:\S+ )?(?P<reach>self|intra-node|inter-node)? ?(?:ep_)?cfg[\[#]\d+\]?:? (?P<lanes>\w+\(.*)"
)
_LANE = re.compile(r"\w+\(([^)]*)\)")
_WITHIN_NODE = frozenset({"self", "sysv", "posix", "cma", "knem", "xpmem"})
_INFORMATIONAL = frozenset({"INFO", "DIAG", "DEBUG", "TRACE"})


def parse(line: str) -> Iterator[TransportReport]:
    """Yield each lane that `line` names."""
    entry = _LINE.match(line)
    found = _LANES.match(entry["text"]) if entry else None
    if entry and found:
        for lane in dict.fromkeys(_lanes(found["lanes"])):
            yield _word(entry["host"], *lane, found["reach"])


def is_chatter(line: str) -> bool:
    """Return whether `line` was printed only because UCX was asked to be verbose."""
    entry = _LINE.match(line)
    return entry is not None and entry["level"] in _INFORMATIONAL


def _lanes(text: str) -> Iterator[tuple[str, str]]:
    """Yield the transport and the device of each lane."""
    for lane in _LANE.findall(text):
        for one in lane.split():
            transport, _, device = one.partition("/")
            yield transport, device


def _word(host: str, transport: str, device: str, reach: str | None) -> TransportReport:
    is_local = reach in {"self", "intra-node"} or (reach is None and transport in _WITHIN_NODE)
    return TransportReport(
        library=LIBRARY,
        host=host,
        transport=transport,
        interface=None if transport in _WITHIN_NODE else device,
        is_local=is_local,
    )
