"""Where software environments are loaded: before launchers and ranks on hosts, and nowhere else. Pure."""

from __future__ import annotations

from collections.abc import Callable

from tare.core.errors import UsageError
from tare.core.launch import Invocation
from tare.core.site import Platform
from tare.core.software import Layers
from tare.core.workload import Stage
from tare.probes.software import loaded, variables_of

_NAMES = "modules, spack and setup"


def require_host(layers: Layers, platform: Platform) -> None:
    """Raise UsageError if programs of `platform` start where `layers` cannot be loaded."""
    if not layers:
        return
    if platform.options.pods is not None:
        raise UsageError(
            f"{_NAMES} load what is installed on hosts, and pods see only their image; install it in the "
            "image, and give these keys to other platforms alone"
        )
    if platform.has_node_containers:
        raise UsageError(
            f"{_NAMES} load what is installed on hosts, and the launcher is inside containers that stay; "
            "install it in the image, or use 'shape: rank'"
        )


def started_with(
    layers: Layers,
    program: Invocation,
    stage: Stage,
    folder: str,
    launch: Callable[[Invocation], Invocation] | None,
) -> Invocation:
    """Return the command that starts `program` where `layers` are loaded: by `launch`, if it has ranks.

    The launcher loads them, and so do ranks: those on other nodes do not inherit what the launcher has.
    """
    if not layers:
        return launch(program) if launch else program
    if launch is None:
        return loaded(program, stage.name, folder)
    ranks = loaded(program, "rank", folder, variables_of(launch(program)))
    return loaded(launch(ranks), f"launcher.{stage.name}", folder)
