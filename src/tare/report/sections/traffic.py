"""The traffic through the nodes' interfaces for each variant, which may explain differences."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping

from tare.analysis.pairs import Pair
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.job import own_counters
from tare.report.variants import Variant, Variants
from tare.report.words.numbers import number, ratio, visible

_LEAST_SHARE = 0.01


@dataclasses.dataclass(frozen=True)
class Crossing:
    """The traffic of one run of a case through the interfaces of one name, over all hosts.

    The values are medians over runs. `transmitted_bytes` and `packets` count only what hosts sent, so that
    nothing is counted twice. `against_reference` is the ratio of the bytes to those of the reference's
    busiest interface.
    """

    case: str
    interface: str
    transmitted_bytes: float
    packets: float
    n_runs: int
    against_reference: float | None

    @property
    def bytes_per_packet(self) -> float | None:
        """Return the mean size of a packet, in bytes; segmentation offload makes it exceed the MTU."""
        return self.transmitted_bytes / self.packets if self.packets else None


def crossings(campaign: Campaign, pairs: Iterable[Pair]) -> list[Crossing]:
    """Return the traffic of each interface with at least one percent of that of its case's busiest interface.

    Traffic of an interface that lies on another one is counted once, for example IPoIB on a port, or a VLAN
    on an interface.
    """
    by_case: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in campaign.measured():
        if attempt.traffic:
            by_case[attempt.case].append(attempt)
    sums = {case: _medians(attempts) for case, attempts in by_case.items()}
    references = {one.contender_case.id: one.reference_case.id for one in pairs}
    found = []
    for case in campaign.cases:
        if case in sums:
            found += _case_crossings(case, sums, references, len(by_case[case]))
    return found


def summaries(found: list[Crossing], variants: Variants) -> list[tuple[Variant, str]]:
    """Return a text for each variant on its busiest interface's traffic, compared with the reference's."""
    busiest: dict[str, Crossing] = {}
    for one in found:
        busiest.setdefault(one.case, one)
    by_variant: dict[Variant, list[Crossing]] = {}
    for case, one in busiest.items():
        by_variant.setdefault(variants.variant_of[case], []).append(one)
    return [(variant, _summary(by_variant[variant])) for variant in variants.all if variant in by_variant]


def _summary(mine: list[Crossing]) -> str:
    names = " and ".join(dict.fromkeys(visible(one.interface) for one in mine))
    packets = [one.bytes_per_packet for one in mine if one.bytes_per_packet]
    against = [one.against_reference for one in mine if one.against_reference]
    text = f"most bytes leave through {names}, {_span([*map(number, packets)], packets)} bytes a packet"
    return f"{text}; {_span([*map(ratio, against)], against)} the reference’s bytes" if against else text


def _span(texts: list[str], values: list[float]) -> str:
    """Return the texts of the least and the largest of `values`."""
    low, high = (texts[values.index(end)] for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


_Totals = Mapping[str, tuple[float, float]]


def _case_crossings(
    case: str, sums: Mapping[str, _Totals], references: Mapping[str, str], n_runs: int
) -> list[Crossing]:
    busiest = max(sent for sent, _ in sums[case].values())
    reference = sums.get(references.get(case, ""), {})
    base = max((sent for sent, _ in reference.values()), default=0.0)
    return [
        Crossing(case, interface, sent, packets, n_runs, sent / base if base else None)
        for interface, (sent, packets) in sorted(sums[case].items(), key=lambda item: -item[1][0])
        if sent and sent >= _LEAST_SHARE * busiest
    ]


def _medians(attempts: list[Attempt]) -> _Totals:
    runs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for attempt in attempts:
        totals: dict[str, tuple[int, int]] = {}
        for interfaces in attempt.traffic.values():
            for name in interfaces:
                counters = own_counters(interfaces, name)
                if counters.is_unknown:
                    continue
                sent, packets = totals.get(name, (0, 0))
                totals[name] = (sent + counters.tx_bytes, packets + counters.tx_packets)
        for name, total in totals.items():
            runs[name].append(total)
    return {
        name: (
            statistics.median(sent for sent, _ in totals),
            statistics.median(packets for _, packets in totals),
        )
        for name, totals in runs.items()
    }
