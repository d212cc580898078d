"""Workloads made of two programs: a server on the first node and a client on the second.

A workload derives from `PeerBenchmark`, and makes its stage with `peer_stage`::

    peer_stage(case, ["iperf3", "-s", "-1"], ["iperf3", "-c", "{address0}", "-J"], port=5201)

Server and client run the script ``peer.sh`` and synchronise through files in the working folder, which all
nodes share. The script lists the folder instead of testing for a file, because a listing makes NFS refresh
its cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tare.core.case import Case
from tare.core.rank_variables import with_rank
from tare.core.workload import Parameter, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark


class PeerBenchmark(Benchmark, frozen=True, kw_only=True):
    """A workload with a server and a client, which `peer_stage` starts."""

    def faults(self, case: Case) -> Iterator[str]:
        """Yield a fault if the case has fewer than two ranks."""
        if case.layout.ranks < 2:
            yield f"{self.name} is a server and a client; set nodes: 2, or ranks: 2 for both on one node"


def peer_stage(
    case: Case, server: Sequence[str], client: Sequence[str], port: int, protocol: str = "tcp"
) -> Stage:
    """Return a stage in which rank 0 runs `server`, and rank 1 runs `client` once `port` is open on rank 0.

    The output of the stage is that of the client; the server's output goes to ``server.out``. The server is
    stopped after the client ends, so it need not end by itself. The client's words may contain
    ``{address0}``, the server's address. A word ``numeric:{address0}`` is replaced by its IPv4 address, for
    tools that do not resolve host names.
    """
    script = Path(__file__).with_name("peer.sh").read_text(encoding="utf-8")
    return Stage(
        argv=("sh", "{work}/peer.sh", f"{protocol}:{port}", *server, "--", *client),
        files={"peer.sh": with_rank(script)},
        layout=case.layout.pair(),
        is_pair=True,
        programs=tuple(dict.fromkeys((server[0], client[0]))),
    )


def port_parameter(port: int) -> Parameter:
    """Return the parameter for the port on which a server listens."""
    return declare.whole("port", port, "port on which the server listens", minimum=1)
