"""The sizes of the packets of each case, if they were counted."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from tare.core.campaign import Campaign
from tare.core.packets import Counted, by_power_of_two, peaks, read
from tare.report.charts.panels import Panel, Point, lines_of
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import coordinate, percent, visible

PACKET_AXIS = "packet_bytes"
_LEAST_OF_LARGEST = 0.001


@dataclasses.dataclass(frozen=True)
class PacketSizes:
    """The packets that the hosts of a case sent through its network's interface, over all its runs.

    `shares` groups the sizes by the power of two that they do not exceed. `peaks` has the most frequent exact
    sizes, with Ethernet headers. Both are shares of the counted packets. `lost` is the share of packets that
    came too fast to be counted. `largest` is the largest size that at least one packet in a thousand has. If
    messages fill the packets, it shows the MTU in whole segments.
    """

    case: str
    interface: str
    n_packets: int
    shares: tuple[tuple[int, float], ...]
    peaks: tuple[tuple[int, float], ...]
    lost: float
    fault: str = ""
    largest: int | None = None


def packet_sizes(campaign: Campaign) -> list[PacketSizes]:
    """Return the packet sizes for each case that has counts, in the plan's order."""
    by_case: dict[str, list[Counted]] = {case: [] for case in campaign.cases}
    for attempt in campaign.measured():
        found = read(campaign.folder, attempt.folder)
        by_case.setdefault(attempt.case, []).extend(found.values())
    return [_sizes(case, counted) for case, counted in by_case.items() if counted]


def _sizes(case: str, counted: Sequence[Counted]) -> PacketSizes:
    sizes = Counter[int]()
    for one in counted:
        sizes.update(dict(one.sent))
    total = sizes.total()
    n_seen = sum(one.n_packets for one in counted)
    n_lost = sum(one.n_dropped for one in counted)
    pairs = list(sizes.items())
    return PacketSizes(
        case=case,
        interface=visible(max(one.interface for one in counted)),
        n_packets=total,
        shares=tuple((size, n / total) for size, n in by_power_of_two(pairs).items()),
        peaks=tuple((size, n / total) for size, n in peaks(pairs)),
        lost=n_lost / (n_seen + n_lost) if n_lost else 0.0,
        fault=visible(next((one.fault for one in counted if one.fault), "")),
        largest=max((size for size, n in pairs if n >= _LEAST_OF_LARGEST * total), default=None),
    )


def packet_panels(found: Sequence[PacketSizes], variants: Variants) -> list[Panel]:
    """Return panels with the shares by power of two, one per configuration."""
    by_configuration: dict[str, dict[Variant, list[Point]]] = {}
    for one in found:
        if len(one.shares) > 1:
            lines = by_configuration.setdefault(variants.configuration_of[one.case].label, {})
            points = [_point(size, share, one.n_packets) for size, share in one.shares]
            lines[variants.variant_of[one.case]] = points
    return [
        Panel(configuration, "share of the packets sent", lines_of(lines), PACKET_AXIS, is_size=True)
        for configuration, lines in by_configuration.items()
    ]


def _point(size: int, share: float, n_packets: int) -> Point:
    at = f"up to {coordinate('bytes', size)}"
    return Point(size, share, None, None, at, percent(share, is_signed=False), "", n_packets)
