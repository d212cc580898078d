"""Refuse fractions of a second for programs that drop them: tables would record times that nobody ran."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tare.core.case import Case
from tare.core.units import write_number


def whole_seconds_faults(case: Case, program: str, *names: str) -> Iterator[str]:
    """Yield a fault for each of the times `names` of `case` that `program` would cut to whole seconds."""
    for name in names:
        seconds = float(case.parameters[name])
        if not seconds.is_integer():
            near = max(1, math.floor(seconds + 0.5))
            asked = f"{name} is {write_number(seconds)} s"
            yield f"{asked}, and {program} takes whole seconds; set {name}: {near} s"
