"""One transport report: what one log line of an MPI library says about its transport."""

from __future__ import annotations

import msgspec


class TransportReport(msgspec.Struct, frozen=True, kw_only=True):
    """A transport, an interface that carries it, or both, as a library on `host` reported them.

    `is_local` says that the transport connects ranks of one node. libfabric reports an interface in two
    lines, which `address` joins: one line offers an interface with its address (`is_offered`), and another
    says that the address was chosen.
    """

    library: str
    host: str = ""
    transport: str | None = None
    interface: str | None = None
    address: str | None = None
    is_offered: bool = False
    is_local: bool = False
