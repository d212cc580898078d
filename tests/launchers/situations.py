"""Placements that launchers are tested in."""

from __future__ import annotations

from tare.core.case import Binding, Layout
from tare.core.entry_points import installed
from tare.core.launch import Invocation, Placement
from tare.core.site import Network, Platform
from tare.plugins.backends.slurm.options import SlurmOptions

LAUNCHERS = tuple(sorted(installed("tare.launchers")))
"""All that are installed: one without goldens fails."""

PROGRAM = Invocation(argv=("/apps/imb", "-npmin", "2", "a b"), env={"APP_MODE": "fast, 'safe'"})

TWO_NODES = Placement(
    hosts=("n1", "n2"),
    layout=Layout(nodes=2, ranks=4, ranks_per_node=2),
    platform=Platform(prefix="/opt/mpi"),
    network=Network(interface="fab0"),
    network_name="host",
    agent=("/opt/tare/agent",),
    management=("mgmt0",),
    slots_per_node=2,
)

SITUATIONS: dict[str, Placement] = {
    "two-nodes": TWO_NODES,
    "this-machine": Placement(
        hosts=("laptop",), layout=Layout(nodes=1, ranks=1), platform=Platform(prefix=None), slots_per_node=4
    ),
    "threads-on-cores": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=4, ranks_per_node=2, threads=4, bind=Binding.CORE),
        platform=Platform(prefix="/opt/mpi", env={"LD_LIBRARY_PATH": "/opt/app/lib"}),
        network=Network(interface="fab0"),
        agent=("ssh", "-p", "2222"),
        slots_per_node=8,
    ),
    "sockets-and-more-ranks-than-slots": Placement(
        hosts=("n1",),
        layout=Layout(nodes=1, ranks=8, ranks_per_node=8, bind=Binding.SOCKET),
        platform=Platform(),
        slots_per_node=4,
    ),
    "infiniband": Placement(
        hosts=("n1-pod", "n2-pod", "n3-pod"),
        layout=Layout(nodes=3, ranks=5, ranks_per_node=2),
        platform=Platform(),
        network=Network(
            interface="ib0",
            provider="verbs",
            options={
                name: {"UCX_NET_DEVICES": "mlx5_0:1"}
                for name in ("intelmpi", "mpich", "openmpi4", "openmpi5")
            },
        ),
        slots_per_node=2,
    ),
    "distribution": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(prefix="/usr"),
        network=Network(interface="fab0"),
    ),
    "libraries-are-asked": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(env={"UCX_LOG_LEVEL": "debug"}),
        network=Network(interface="fab0"),
        reports_folder="/c/attempts/1/transport/run",
    ),
    "libraries-are-asked-about-infiniband": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(),
        network=Network(interface="ib0", provider="verbs"),
        reports_folder="/c/attempts/1/transport/run",
    ),
    "openib": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=4, ranks_per_node=2),
        platform=Platform(),
        network=Network(interface="ib0", provider="openib", devices=("mlx5_0:1",)),
        slots_per_node=2,
    ),
    "psm": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(),
        network=Network(interface="ib0", provider="psm"),
    ),
    "psm3": Placement(
        hosts=("n1", "n2"),
        layout=Layout(nodes=2, ranks=2),
        platform=Platform(),
        network=Network(interface="eth0", provider="psm3"),
    ),
    "allocated": Placement(
        hosts=(),
        layout=Layout(nodes=2, ranks=4, ranks_per_node=2, threads=4, bind=Binding.CORE),
        platform=Platform(backend="slurm", options=SlurmOptions(mpi="pmix")),
        network=Network(interface="fab0", options={"srun": {"UCX_TLS": "all"}}),
        is_allocated=True,
        reports_folder="/c/attempts/1/transport/run",
    ),
}
