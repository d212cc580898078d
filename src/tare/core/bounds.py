"""Bounds: the most that the hardware can give, and the resources that limit figures.

A speedup does not show how good the base is. So a figure is also compared with the bound of its resource
(Hoefler and Belli 2015, Scientific Benchmarking of Parallel Computing Systems, rule 11).
"""

from __future__ import annotations

import enum

import msgspec


class Resource(enum.StrEnum):
    """The resource that limits a figure of merit."""

    LINK = "link"
    """One direction of the link of one node: a figure of a pair of nodes, or of one node."""
    LINK_BOTH_WAYS = "link, both directions"
    """Both directions of that link together, as a bidirectional test counts them."""
    MEMORY = "memory bandwidth"
    """The memory bandwidth of all nodes that a case uses."""
    FLOPS = "floating-point peak"
    """The double-precision peak of all nodes that a case uses."""


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """The interface that carries a network, and its rate in one direction where the site gives it.

    Where a token bucket shapes the link, `burst_bytes` pass at once, faster than the rate.
    """

    interface: str
    rate_bits_per_s: float | None = None
    burst_bytes: int | None = None


class Peaks(msgspec.Struct, frozen=True, kw_only=True):
    """The most that one node can give in a second, where the site gives it."""

    memory_bytes_per_s: float | None = None
    flops: float | None = None


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a figure can reach: `value` in the figure's own `unit`; `source` says who states it."""

    resource: Resource
    value: float
    unit: str
    source: str
