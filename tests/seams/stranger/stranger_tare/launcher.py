"""A launcher of a stranger's: it starts ranks on this machine, beside each other, and numbers them."""

from __future__ import annotations

from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement

_START = """\
n=$1; shift; i=0
while [ "$i" -lt "$n" ]; do STRANGER_RANK=$i STRANGER_SIZE=$n "$@" & i=$((i + 1)); done
[ -z "$STRANGER_VERBOSE" ] || echo "stranger: way=tcp" >&2
wait"""


class Together:
    """Starts the ranks of one node with a shell."""

    name = "together"
    rank_variables = ("STRANGER_RANK",)

    def launch(self, program: Invocation, placement: Placement) -> Invocation:
        """Return the command that starts `program` (see model.Launcher)."""
        if placement.layout.nodes > 1:
            raise UsageError("launcher 'together' starts ranks on one node; set nodes: 1")
        asking = {"STRANGER_VERBOSE": "1"} if placement.reports_folder else {}
        argv = ("/bin/sh", "-c", _START, "together", str(placement.layout.ranks), *program.argv)
        return Invocation(argv=argv, env={**asking, **placement.platform.env, **program.env})
