"""One thing that a library said of its transport."""

from __future__ import annotations

import msgspec


class TransportReport(msgspec.Struct, frozen=True, kw_only=True):
    """A transport, an interface that carries it, or both, as a library on `host` named them.

    `is_local` says that it is between ranks of one node. `address` joins the two lines by which libfabric
    tells an interface: one that is only `offered`, and one that the address was chosen.
    """

    library: str
    host: str = ""
    transport: str | None = None
    interface: str | None = None
    address: str | None = None
    is_offered: bool = False
    is_local: bool = False
