"""Find at which addresses Slurm reaches nodes (slurm.conf(5), NodeAddr): names of nodes need not resolve."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import msgspec

from tare.discovery.commands import Commands
from tare.discovery.facts import NodeFacts
from tare.discovery.slurm_nodes import read_addresses


def with_addresses(commands: Commands, nodes: Sequence[NodeFacts]) -> tuple[NodeFacts, ...]:
    """Return `nodes` with the addresses at which Slurm reaches them; none where it does not say.

    What ssh says is of another shell: that in which the job was started.
    """
    names = ",".join(one.node for one in nodes)
    done = commands.run(["scontrol", "--all", "show", "node", names, "--oneliner"]) if names else None
    known = read_addresses(done.out) if done and done.code == 0 else {}
    return tuple(
        msgspec.structs.replace(one, reached_at=_resolved(commands, known.get(one.node, ""))) for one in nodes
    )


def _resolved(commands: Commands, address: str) -> tuple[str, ...]:
    """Return an address as it is, and those of a name, by this machine's resolver (getent(1))."""
    try:
        return (str(ipaddress.ip_address(address)),)
    except ValueError:
        done = commands.run(["getent", "ahosts", address]) if address else None
    lines = done.out.splitlines() if done and done.code == 0 else []
    return tuple(dict.fromkeys(line.split()[0] for line in lines if line.strip()))
