"""How the nodes of a run are watched."""

from __future__ import annotations

import msgspec

LEAST_PERIOD_S = 0.01
"""The shortest time between samples; below it, the sampler itself would disturb the measurement."""


class TelemetryOptions(msgspec.Struct, frozen=True):
    """How nodes are watched: a sample every `period_s`; None for no samples.

    The packets of a case's network are counted by size if `is_counting_packets`. Platforms in `unwatched` are
    not watched at all, so that the cost of watching can be measured.
    """

    period_s: float | None = 1.0
    unwatched: tuple[str, ...] = ()
    is_counting_packets: bool = False

    def period_of(self, platform: str) -> float | None:
        """Return the seconds between samples on a platform; None where it is not watched."""
        return None if platform in self.unwatched else self.period_s

    def counts_packets(self, platform: str) -> bool:
        """Return whether packets are counted by size on a platform."""
        return self.is_counting_packets and platform not in self.unwatched
