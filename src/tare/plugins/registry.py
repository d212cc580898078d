"""Find workloads, launchers and runtimes by their entry points, those of Tare like all others.

Groups, and what their entry points name:

- ``tare.workloads``: a tuple of workloads. The name of the entry point is the family, which is the part of
  the workloads' names before the first dot. `imb.pingpong`, for example, is looked up in `imb`, and no other
  module is imported.
- ``tare.launchers``, ``tare.runtimes``: a class that is called without arguments.

Backends are found by tare.plugins.backend_registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import cast

from tare.core.entry_points import GROUPS, installed, kind_of, load, unusable
from tare.core.errors import UsageError, nearest, nearest_name
from tare.core.launch import Launcher, Runtime
from tare.core.workload import InlineDefinition, Workload
from tare.plugins.backend_registry import GROUP as BACKENDS
from tare.plugins.backend_registry import backend


class UnknownName(UsageError, KeyError):
    """No plug-in has this name."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError puts its message in quotes


def launcher(name: str) -> Launcher:
    """Return the launcher called `name` in site files. Raises UsageError when there is none."""
    return cast(Launcher, load(_plugin("tare.launchers", name))())


def runtime(name: str) -> Runtime:
    """Return the runtime called `name` in site files. Raises UsageError when there is none."""
    return cast(Runtime, load(_plugin("tare.runtimes", name))())


def problems() -> tuple[str, ...]:
    """Return why each installed plug-in that cannot be used, of any kind, is of no use, and the cure."""
    found = []
    for group in GROUPS:
        for name, plugin in installed(group).items():
            try:
                backend(name) if group == BACKENDS else load(plugin)
            except UsageError as error:
                found.append(str(error))
    return tuple(found)


def workloads(inline: Sequence[InlineDefinition] = ()) -> Workloads:
    """Return every workload by its full name.

    A workload that a study declares `inline` replaces an installed one.
    """
    return Workloads(installed("tare.workloads"), dict(map(_declared, inline)))


def _declared(definition: InlineDefinition) -> tuple[str, Workload]:
    from tare.plugins.workloads.inline import InlineWorkload  # few studies declare workloads

    return definition.name, InlineWorkload(definition)


class Workloads(Mapping[str, Workload]):
    """Workloads by full name. A family's module is imported when one of its workloads is looked up.

    `problems` has one message for each plug-in that could not be imported. A broken plug-in causes an error
    only when one of its workloads is looked up.
    """

    def __init__(self, families: Mapping[str, EntryPoint], own: Mapping[str, Workload]) -> None:
        self._entry_points = families
        self._own = dict(own)
        self._families: dict[str, dict[str, Workload]] = {}
        self._problems: dict[str, str] = {}

    @property
    def families(self) -> tuple[str, ...]:
        """Return the names of the installed families."""
        return tuple(self._entry_points)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the import error of each plug-in that was tried so far and failed."""
        return tuple(self._problems.values())

    def __getitem__(self, name: str) -> Workload:
        if name in self._own:
            return self._own[name]
        family = name.partition(".")[0]
        if family in self._entry_points:
            members = self._load(family)
            if name in members:
                return members[name]
            if family in self._problems:
                raise UsageError(self._problems[family])
        raise _unknown("workload", name, self)

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        for family in self._entry_points:
            yield from (name for name in self._load(family) if name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _load(self, family: str) -> dict[str, Workload]:
        """Return the workloads of `family`.

        Return none, and record the error, when the family cannot be imported.
        """
        if family not in self._families:
            plugin, members = self._entry_points[family], {}
            try:
                members = {one.name: one for one in plugin.load()}
            except Exception as error:  # a plug-in may raise anything
                self._problems[family] = unusable(plugin, error)
            self._families[family] = members
        return self._families[family]


def _plugin(group: str, name: str) -> EntryPoint:
    known = installed(group)
    if name not in known:
        raise _unknown(kind_of(group), name, known)
    return known[name]


def _unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    names = sorted(known)
    if nearest_name(name, names) or any(one.startswith(f"{name}.") for one in names):
        cure = nearest(name, names)
    elif names:
        families = sorted({name.partition(".")[0] for name in names})  # not a hundred names
        cure = f"choose from {', '.join(families)}"
    else:
        cure = "none is installed"
    return UnknownName(f"no {kind} is called {name!r}; {cure}")
