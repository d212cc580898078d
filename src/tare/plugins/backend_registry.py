"""Find the installed backends by the names that site files use for them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from tare.core.backend_plugin import BackendPlugin
from tare.core.entry_points import installed, load, unusable
from tare.core.errors import UsageError, nearest
from tare.core.site import PlatformFile

GROUP = "tare.backends"


def backend_names() -> tuple[str, ...]:
    """Return the names of the installed backends. Tare's own backends come first."""
    own = {name: one.value.startswith("tare.") for name, one in installed(GROUP).items()}
    return tuple(sorted(own, key=lambda name: (not own[name], name)))


@functools.cache
def backend(name: str) -> BackendPlugin[Any]:
    """Return the backend called `name`. Raises UsageError when there is none or when it cannot be used."""
    known = installed(GROUP)
    if name not in known:
        raise UsageError(f"no backend is called {name!r}; {nearest(name, backend_names())}")
    found = load(known[name])
    if not isinstance(found, BackendPlugin) or found.name != name:
        error = TypeError(f"it names no BackendPlugin called {name!r}")
        raise UsageError(unusable(known[name], error))
    if name in PlatformFile.__struct_fields__:
        taken = ValueError(f"{name!r} is a setting of every platform; give it another name")
        raise UsageError(unusable(known[name], taken))
    return found


def backends() -> Mapping[str, BackendPlugin[Any]]:
    """Return all usable backends by name.

    A broken backend is left out: only a request for it by name fails.
    """
    found = {}
    for name in backend_names():
        try:
            found[name] = backend(name)
        except UsageError:
            continue
    return found


def option_types() -> dict[str, type[msgspec.Struct]]:
    """Return the type of each backend's options in a site file, by the options' key in a platform."""
    return {name: one.file_type for name, one in backends().items() if one.file_type is not None}
