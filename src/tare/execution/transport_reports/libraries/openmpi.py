"""Reports of Open MPI 4 and 5 with `btl_base_verbose` 20: opal_output(3)'s lines ``[host:pid] words``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.execution.transport_reports.report import TransportReport

LIBRARY = "Open MPI"
ASKED_BY: tuple[str, ...] = ("OMPI_MCA_btl_base_verbose",)

_LINE = re.compile(r"\[(?P<host>[^\s:\]]+):\d+\] (?P<text>.*)")
# opal/mca/btl, ompi/mca/bml/r2: the module that sends to a peer, logged with the first message to it.
_USING = re.compile(r"mca: bml: Using (?P<btl>\w+) btl for send to \S+ on node (?P<peer>\S+)")
# opal/mca/btl/tcp: at this verbosity, version 4 prints the first form, version 5 the second.
_INTERFACE = re.compile(r"btl: ?tcp: (?:Using interface: (?P<v4>\S+)|0x[0-9a-f]+: if (?P<v5>\S+) kidx )")
_CHATTER = re.compile(
    r"mca: base: (?:components_(?:register|open)|close): "
    r"|mca: bml: Using "
    r"|select: (?:initializing|init of component) "
    r"|btl: ?tcp: (?:Using interface|0x[0-9a-f]+: if |exchange: |path from |attempting to connect"
    r"|now connected|connect\(\) to \S+ completed|Searching for |Found match|Match incoming connection)"
)
_EXCLUDED = "sppp"
"""An entry of version 4's list of excluded interfaces, which it logs as if it used that interface."""

_WITHIN_NODE = frozenset({"self", "vader", "sm", "smcuda"})


def parse(line: str) -> Iterator[TransportReport]:
    """Yield the transport or the interface that `line` names, if any."""
    entry = _LINE.match(line)
    if entry is None:
        return
    host, text = entry["host"], entry["text"]
    if using := _USING.match(text):
        btl = using["btl"]
        is_local = btl in _WITHIN_NODE and _short(using["peer"]) == _short(host)
        yield TransportReport(library=LIBRARY, host=host, transport=btl, is_local=is_local)
    elif (named := _INTERFACE.match(text)) and named["v4"] != _EXCLUDED:
        yield TransportReport(library=LIBRARY, host=host, interface=named["v4"] or named["v5"])


def is_chatter(line: str) -> bool:
    """Return whether `line` was printed only because Open MPI was asked to be verbose."""
    entry = _LINE.match(line)
    return entry is not None and _CHATTER.match(entry["text"]) is not None


def _short(host: str) -> str:
    return host.partition(".")[0]
