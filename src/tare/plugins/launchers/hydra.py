"""Hydra, the process manager of MPICH and of the MPIs derived from it (mpiexec.hydra -help)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tare.core.errors import UsageError
from tare.core.launch import Invocation, Placement
from tare.plugins.launchers.placing import executable, plain_agent, rank_environment, remote_hosts

_FOR_HYDRA_ITSELF = frozenset({"I_MPI_ROOT", "LD_LIBRARY_PATH"})


def hydra_command(
    launcher: str,
    program: Invocation,
    placement: Placement,
    *,
    own: Mapping[str, str],
    options: Sequence[str] = (),
    agent_options_variable: str,
) -> Invocation:
    """Return hydra's command line with `options`, and `own` variables in the environment of every rank.

    Hydra sends the environment over its own sockets, so any value is allowed. The agent may have options,
    which hydra reads from `agent_options_variable`. Raises UsageError for an agent of any other kind.
    """
    layout = placement.layout
    env = rank_environment(launcher, program, placement, own)
    hosts = remote_hosts(launcher, placement)
    argv = [executable(placement, "mpiexec.hydra")]
    launcher_env = {name: value for name, value in env.items() if name in _FOR_HYDRA_ITSELF}
    if placement.is_allocated:
        argv += ["-bootstrap", placement.platform.options.allocator]
    if hosts or placement.hostfile:
        agent = plain_agent(launcher, placement.agent)
        if agent:
            argv += ["-bootstrap", "ssh", "-bootstrap-exec", agent[0]]
        if len(agent) > 1:
            launcher_env[agent_options_variable] = " ".join(_agent_options(launcher, agent))
        if placement.management:
            argv += ["-iface", placement.management[0]]
        argv += ["-f", placement.hostfile] if placement.hostfile else ["-hosts", ",".join(hosts)]
    argv += ["-ppn", str(layout.ranks_per_node), *options]
    for name, value in env.items():
        argv += ["-genv", name, value]
    argv += ["-n", str(layout.ranks), *program.argv]
    return Invocation(argv=tuple(argv), env=launcher_env)


def _agent_options(launcher: str, agent: tuple[str, ...]) -> tuple[str, ...]:
    """Return the agent's words after its program. Hydra mixes them with its own options for ssh."""
    if not agent[1].startswith("-"):
        raise UsageError(
            f"{launcher} calls its agent as 'PROGRAM -x OPTIONS… HOST COMMAND…', which {' '.join(agent)!r} "
            "does not fit; write the agent as a small script that takes ssh's options, and name that"
        )
    return agent[1:]
