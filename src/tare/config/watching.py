"""Read the ``telemetry`` section of a site or study; each key of it overrides the earlier value."""

from __future__ import annotations

import msgspec

from tare.config.document import Node, child
from tare.config.faults import Faults
from tare.config.site_types import TelemetryFile
from tare.core.telemetry_options import LEAST_PERIOD_S, TelemetryOptions


def watching(file: TelemetryFile, before: TelemetryOptions, root: Node, faults: Faults) -> TelemetryOptions:
    """Return `before` with the changes in `file`, which is the section ``telemetry`` of `root`."""
    found = before
    if isinstance(file.period, str):
        found = msgspec.structs.replace(found, period_s=None)
    elif file.period is not None:
        if file.period < LEAST_PERIOD_S:
            node = child(child(root, "telemetry"), "period") or root
            message = f"{file.period:g} s is too often; use 10 ms or more, or off"
            faults.add(node, ("telemetry", "period"), message)
        found = msgspec.structs.replace(found, period_s=file.period)
    if file.packets is not None:
        found = msgspec.structs.replace(found, is_counting_packets=file.packets)
    return found
