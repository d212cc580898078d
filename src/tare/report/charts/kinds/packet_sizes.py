"""The sizes of the packets that the hosts sent."""

from __future__ import annotations

from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.packets import packet_panels


def _made(facts: ChartFacts) -> ChartPart:
    return ChartPart(
        "Packets by size",
        "Shares of the packets that hosts sent through the network’s interface, by the power of two that "
        "they do not exceed, with their Ethernet header. The table below has exact sizes.",
        packet_panels([one for one in facts.packet_sizes if one.case in facts.cases], facts.variants),
    )


CHARTS = (ChartKind("packets", Style("share of packets", is_log=False, is_share=True), _made, 90),)
