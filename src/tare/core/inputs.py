"""The names and paths of input files: what a run's working folder can hold, and placeholders. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import msgspec

from tare.core.errors import path_fault, shown
from tare.core.templates import fill, template_faults
from tare.core.values import Settings
from tare.core.workload import Input

_OWN = (
    *("command.json", "stdout", "stderr", "prologue-*", "epilogue-*", "SHA256SUMS*"),
    *("software.sh", "software", "bind.sh", "placement_probe.sh", "ranks", "transport"),
    *("telemetry.*", "packets.*", "profile", "profile.json", "profile-build*", "libtare_profile.*"),
    *(
        "job",
        "job.*",
        "hostfile",
        "progress",
        "landed",
        "before.*",
        "after.*",
        "storage.left",
        "manifests.yaml",
    ),
)
"""Patterns of what Tare, or a job of a batch system, writes into the folder of a run.

An input or a file of the same name would be overwritten.
"""


def name_fault(name: str) -> str | None:
    """Return why no file of a working folder can have this name, with the cure; None if one can."""
    path = PurePosixPath(name)
    if fault := path_fault(name):
        return f"{shown(name)}: {fault}"
    if not name.isprintable():
        return f"{shown(name)} has characters that do not print; leave them out"
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return f"{shown(name)} is outside the working folder; use a relative name inside it"
    return None


def own_name_fault(name: str) -> str | None:
    """Return why a run would overwrite a file of this name, with the cure; None if it would not."""
    first = _parts(name)[0]
    if any(fnmatchcase(first, pattern) for pattern in _OWN):
        return f"{shown(name)} is a file of the run itself; use another name"
    return None


def input_name_fault(name: str, others: Iterable[str]) -> str | None:
    """Return why an input cannot have this name beside the files `others`, with the cure; None if it can."""
    if fault := name_fault(name):
        return fault
    parts = _parts(name)
    if fault := own_name_fault(name):
        return fault
    for other in others:
        theirs = _parts(other)
        n_both = min(len(parts), len(theirs))
        if parts == theirs:
            return f"another file is called {shown(name)} already; use another name"
        if parts[:n_both] == theirs[:n_both]:
            return f"{shown(name)} and {shown(other)} cannot both be there; use another name"
    return None


def input_faults(inputs: Iterable[Input], names: Collection[str]) -> Iterator[str]:
    """Yield why placeholders in the paths of `inputs` cannot be filled from the settings `names`."""
    for one in inputs:
        yield from template_faults(f"inputs.{one.name}", one.path, names, ())


def filled(inputs: Iterable[Input], settings: Settings) -> tuple[Input, ...]:
    """Return `inputs` with the placeholders of their paths filled from the settings of a case."""
    return tuple([msgspec.structs.replace(one, path=fill(one.path, settings)) for one in inputs])


def _parts(name: str) -> tuple[str, ...]:
    return PurePosixPath(posixpath.normpath(name)).parts
