"""Packets a second through the network's interface, against the number of nodes."""

from __future__ import annotations

from tare.analysis.answering_figures import with_shown
from tare.analysis.estimate import estimates
from tare.core.telemetry import PREFIX
from tare.report.charts.drawing import Style
from tare.report.charts.kind import ChartFacts, ChartKind, ChartPart
from tare.report.charts.panels import measured_panels

_FIGURE = "network_packet_rate"
_FOM = PREFIX + _FIGURE


def _made(facts: ChartFacts) -> ChartPart | None:
    if not any(_FIGURE in one.telemetry for one in facts.campaign.measured()):
        return None
    found = [one for one in estimates(facts.campaign, (_FOM,)) if one.fom == _FOM and one.case in facts.cases]
    return ChartPart(
        "Packets a second",
        "What all hosts together sent through the network’s interface, per second. Bands are the intervals.",
        measured_panels(found, with_shown(facts.campaign, (_FOM,)), facts.variants, None),
    )


CHARTS = (ChartKind("packets-rate", Style("packets a second", is_log=False), _made),)
