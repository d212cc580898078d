"""Where the ranks of a job go whose nodes a batch system or a cluster chooses, as its scripts know them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tare.core.backend_options import PodPlacement
from tare.core.launch import Placement


def in_pods(placement: Placement, pods: PodPlacement, n_nodes: int, management: Sequence[str]) -> Placement:
    """Return the placement of ranks in pods: by the hostfile of the pods, or in the only pod.

    `n_nodes` is that of the widest stage, `management` the management interfaces of the nodes. Start-up
    traffic uses the cluster's own network. If pods use the network of their host, it uses the management
    network of the nodes. The pod that starts the ranks need not be on any other network.
    """
    if n_nodes == 1:
        return msgspec.structs.replace(placement, is_allocated=False, hosts=("localhost",), management=())
    network = placement.network
    if network is not None and network.pod.is_host:
        start = tuple(management) or (network.interface,)
    else:
        start = (pods.interface,)
    return msgspec.structs.replace(
        placement, is_allocated=False, hostfile=pods.hostfile, agent=pods.agent, management=start
    )


def by_hostfile(placement: Placement, agent: tuple[str, ...], folder: str) -> Placement:
    """Return the placement of ranks in a job whose hostfile in `folder` lists its nodes (batch/job.sh)."""
    if placement.layout.nodes == 1:
        return msgspec.structs.replace(placement, is_allocated=False, hosts=("localhost",), agent=())
    return msgspec.structs.replace(placement, is_allocated=False, hostfile=f"{folder}/hostfile", agent=agent)
