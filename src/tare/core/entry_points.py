"""Find what installed packages register under a group of entry points (importlib.metadata).

Plug-ins of other packages are found here, by name. A group is read once in a process::

    >>> installed("tare.launchers")["srun"].value
    'tare.plugins.launchers.srun:Srun'

It is in the lowest layer, so that all registries can use it, and it depends on none of them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from tare.core.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_T = TypeVar("_T")
GROUPS = {
    "tare.workloads": "workload",
    "tare.launchers": "launcher",
    "tare.runtimes": "runtime",
    "tare.backends": "backend",
    "tare.verdicts": "verdict",
    "tare.telemetry_sources": "telemetry source",
    "tare.transport_reports": "transport report",
    "tare.fact_sources": "source of facts",
    "tare.report_sections": "report section",
    "tare.report_charts": "chart of the report",
}
"""What each group of entry points holds, in words."""


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of `group` by name."""
    return _by_group()[group]


def load(plugin: EntryPoint) -> Any:  # the type follows from the group
    """Return the object that an entry point names. Raises UsageError where it cannot be imported."""
    try:
        return plugin.load()
    except Exception as error:  # a plug-in may raise anything
        raise UsageError(unusable(plugin, error)) from error


def load_all(group: str, kind: type[_T]) -> dict[str, _T]:
    """Return the objects that installed packages register under `group`, by name.

    Raises UsageError where one cannot be imported or is not a `kind`.
    """
    found: dict[str, _T] = {}
    for name, plugin in sorted(installed(group).items()):
        one = load(plugin)
        if not isinstance(one, kind):
            what = f"it names a {type(one).__name__}, not a {kind.__name__}"
            raise UsageError(unusable(plugin, TypeError(what)))
        found[name] = one
    return found


def modules(folder: str, group: str, needed: Iterable[str] = ()) -> dict[str, ModuleType]:
    """Return the modules of the package `folder`, and those that packages register under `group`, by name.

    So a new file in the folder is a new member, without a list to maintain. Raises UsageError where a
    package's module lacks one of the `needed` names.
    """
    registered = load_all(group, ModuleType)
    for name, module in registered.items():
        if lacking := [one for one in needed if not hasattr(module, one)]:
            raise UsageError(
                f"{kind_of(group)} {name} ({module.__name__}) has no {', '.join(lacking)}; "
                "mend or uninstall the package that it comes from"
            )
    own = pkgutil.iter_modules(importlib.import_module(folder).__path__)
    return {one.name: importlib.import_module(f"{folder}.{one.name}") for one in own} | registered


def kind_of(group: str) -> str:
    """Return what `group` holds, in words: ``launcher``."""
    return GROUPS[group]


def unusable(plugin: EntryPoint, error: Exception) -> str:
    """Return the message about a plug-in that raises `error`, with the cure."""
    return (
        f"{kind_of(plugin.group)} plug-in {plugin.name} ({plugin.value}) cannot be used: "
        f"{type(error).__name__}: {error}; mend or uninstall the package that it comes from"
    )


@functools.cache
def _by_group() -> dict[str, dict[str, EntryPoint]]:
    """Return the entry points of each group by name; sys.path is searched once in a process."""
    from importlib.metadata import entry_points  # a fifth of what a command's --help takes

    found = entry_points()
    return {group: {one.name: one for one in found.select(group=group)} for group in GROUPS}
