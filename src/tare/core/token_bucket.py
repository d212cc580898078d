"""The token bucket of a shaped link (tc-tbf(8)): so many bytes pass at once, faster than the link's rate."""

from __future__ import annotations

_BURSTS = ((0.1e9, 32 << 10), (1e9, 256 << 10), (2.5e9, 512 << 10), (5e9, 1 << 20))
"""Pairs of a rate in bit/s and a bucket size in bytes: up to the rate, measured rates were accurate."""
_LARGEST_BURST = 2 << 20


def burst_bytes(rate_bits_per_s: float) -> int:
    """Return the size in bytes of the lab's bucket: enough to reach the rate, and to limit to it."""
    return next((burst for rate, burst in _BURSTS if rate_bits_per_s <= rate), _LARGEST_BURST)
