"""The MPI libraries that can report which transport they chose.

Each is a module of tare.execution.transport_reports.libraries.
"""

from __future__ import annotations

import functools
from types import ModuleType

from tare.core.entry_points import modules

_FOLDER, _GROUP = "tare.execution.transport_reports.libraries", "tare.transport_reports"
_NEEDED = ("LIBRARY", "ASKED_BY", "parse", "is_chatter")


@functools.cache
def libraries() -> dict[str, ModuleType]:
    """Return the module that reads the reports of each library, by name.

    Raises UsageError if a package's module lacks something.
    """
    return modules(_FOLDER, _GROUP, _NEEDED)


def asking() -> tuple[str, ...]:
    """Return the variables with which launchers ask for reports; without them, a library reports nothing."""
    return tuple(dict.fromkeys(name for library in libraries().values() for name in library.ASKED_BY))
