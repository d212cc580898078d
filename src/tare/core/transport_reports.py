"""The MPI libraries that can report which transport they chose.

Each is a module of tare.execution.transport_reports.libraries.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType

from tare.core.entry_points import modules
from tare.core.errors import UsageError

_FOLDER, _GROUP = "tare.execution.transport_reports.libraries", "tare.transport_reports"
_NEEDED = ("LIBRARY", "ASKED_BY", "parse", "is_chatter")


@functools.cache
def libraries() -> dict[str, ModuleType]:
    """Return the module that reads the reports of each library, by name.

    Raises UsageError if a package's module lacks something.
    """
    found = modules(_FOLDER, _GROUP)
    for name, module in found.items():
        if lacking := [one for one in _NEEDED if not hasattr(module, one)]:
            raise UsageError(
                f"transport report {name} ({module.__name__}) has no {', '.join(lacking)}; "
                "mend or uninstall the package that it comes from"
            )
    return found


def asking() -> tuple[str, ...]:
    """Return the variables with which launchers ask for reports; without them, a library reports nothing."""
    return tuple(dict.fromkeys(_variables()))


def _variables() -> Iterator[str]:
    for library in libraries().values():
        yield from library.ASKED_BY
