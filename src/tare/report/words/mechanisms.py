"""Add the telemetry that is the mechanism of a cause to its words, and leave out what is not."""

from __future__ import annotations

from collections.abc import Sequence

from tare.analysis.causes.correlates import Reason
from tare.core.attribution import Cause, CauseKind
from tare.report.words.numbers import scaled

_MECHANISMS: dict[CauseKind, dict[str, tuple[int, str]]] = {
    CauseKind.COMPUTATION: {
        "cpu_softirq": (1, "packets cost the cores {contender} of their time, against {reference}"),
        "cpu_throttled": (1, "limits held threads back for {contender}, against {reference}"),
        "run_throttled": (1, "its CPU limit held it back in {contender} of periods, against {reference}"),
        "cpu_frequency": (-1, "cores ran at {contender}, against {reference}"),
        "cpu_steal": (1, "a hypervisor took {contender} of the time, against {reference}"),
        "cpu_others": (1, "other programs took {contender} of the cores, against {reference}"),
    },
    CauseKind.FUNCTION: {
        "tcp_retransmits": (1, "{contender} sent again by TCP, against {reference}"),
        "network_lost": (1, "{contender} lost, against {reference}"),
        "fabric_lost": (1, "{contender} lost on the fabric, against {reference}"),
        "cpu_softirq": (1, "packets cost the cores {contender} of their time, against {reference}"),
    },
    CauseKind.FILES: {
        "disk_busy": (1, "the busiest disk worked {contender} of the time, against {reference}"),
        "run_io_stall": (1, "the run stood still for I/O {contender} of the time, against {reference}"),
    },
}
"""For each kind of cause the figures of telemetry that can make it larger: in which direction, and in words.

Figures that only go with a slower run, such as fewer bytes a second, are no mechanism of anything.
"""


def mechanism(cause: Cause, contender: str, reasons: Sequence[Reason], used: set[str]) -> str:
    """Return the figure that differs for certain and in the direction that explains `cause`, in parentheses.

    `contender` is the contender's case. `used` are figures that the sentence names already; the one that is
    returned is added. Empty if there is none.
    """
    sign = 1 if cause.difference_s.value > 0 else -1
    known = _MECHANISMS.get(cause.kind, {})
    for reason in reasons:
        if reason.comparison.contender_case != contender or reason.figure not in known:
            continue
        direction, text = known[reason.figure]
        if (reason.contender - reason.reference) * direction * sign > 0 and reason.figure not in used:
            used.add(reason.figure)
            unit = reason.comparison.unit
            sides = (scaled(reason.contender, unit), scaled(reason.reference, unit))
            return f" ({text.format(contender=sides[0], reference=sides[1])})"
    return ""
