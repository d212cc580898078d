"""Parse lists of CPUs as Linux prints them: ``0-3,8`` (cpuset(7), List format). Pure."""

from __future__ import annotations

from tare.core.units import whole_number

_MOST_CPUS = 1 << 16  # eight times what Linux can be built for (NR_CPUS_RANGE_END of x86)


def parse_cpus(text: str) -> frozenset[int]:
    """Return the CPUs that a list names, each once; invalid parts are skipped."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        begin, end = whole_number(first), whole_number(last or first)
        if begin is not None and end is not None and end < _MOST_CPUS:
            found.update(range(begin, end + 1))
    return frozenset(found)
