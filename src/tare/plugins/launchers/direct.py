"""Launcher `none`: one rank, started without an MPI."""

from __future__ import annotations

from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.plugins.launchers.placing import rank_environment


class Direct:
    """Starts one process, without any MPI."""

    name = "none"

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return `program` with its environment (see core.launch.Launcher)."""
        ranks = placement.layout.ranks
        if ranks != 1:
            raise UsageError(
                f"launcher 'none' starts one rank, and the case has {ranks}; set ranks: 1, or give the "
                "platform an MPI as its launcher, such as 'launcher: openmpi5'"
            )
        return Invocation(argv=program.argv, env=rank_environment(self.name, program, placement, {}))
