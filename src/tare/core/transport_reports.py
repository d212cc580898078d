"""The MPI libraries that can be asked which transport they chose (execution.transport_reports.libraries)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType

from tare.core.entry_points import modules
from tare.core.errors import UsageError

_FOLDER, _GROUP = "tare.execution.transport_reports.libraries", "tare.transport_reports"
_NEEDED = ("LIBRARY", "ASKED_BY", "tell", "is_chatter")


@functools.cache
def libraries() -> dict[str, ModuleType]:
    """Return what reads the words of each library, by name. Raises UsageError where a package's is none."""
    found = modules(_FOLDER, _GROUP)
    for name, module in found.items():
        if lacking := [one for one in _NEEDED if not hasattr(module, one)]:
            raise UsageError(
                f"transport report {name} ({module.__name__}) has no {', '.join(lacking)}; "
                "mend or uninstall the package that it comes from"
            )
    return found


def asking() -> tuple[str, ...]:
    """Return the variables by which launchers ask, without which a library says nothing."""
    return tuple(dict.fromkeys(_variables()))


def _variables() -> Iterator[str]:
    for library in libraries().values():
        yield from library.ASKED_BY
