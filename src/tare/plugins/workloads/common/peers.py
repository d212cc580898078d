"""Workloads made of two programs: a server on the first node and a client on the second.

A workload derives from `PeerBenchmark`, and makes its stage with `peer_stage`::

    peer_stage(case, ["iperf3", "-s", "-1"], ["iperf3", "-c", "{address0}", "-J"], port=5201)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.case import Case
from tare.core.rank_variables import with_rank
from tare.core.workload import Parameter, Stage
from tare.plugins.workloads.common import declare
from tare.plugins.workloads.common.benchmark import Benchmark

_SCRIPT = """\
# Start a server on rank 0 and, once it listens, a client on rank 1; end the server when the client has ended.
# Usage: sh peer.sh PROTOCOL:PORT SERVER ... -- CLIENT ...
find_rank
work=${0%/*}
protocol=${1%%:*}
port=$(printf %04X "${1##*:}")
shift

n_server=0
for word; do
    [ "$word" = -- ] && break
    n_server=$((n_server + 1))
done

listens() { # proc(5): 0A is a TCP socket that listens, 07 an open UDP socket
    cat "/proc/net/$protocol" "/proc/net/${protocol}6" 2>/dev/null | grep -q ":$port [0-9A-F]*:0000 0[7A]"
}

serve() {
    "$@" >"$work/server.out" 2>&1 &
    server=$!
    trap 'kill "$server" 2>/dev/null; wait "$server"' EXIT
    until listens; do
        sleep 0.05
        if ! kill -0 "$server" 2>/dev/null; then
            trap - EXIT
            : >"$work/failed"
            echo "the server ended before it listened:" >&2
            cat "$work/server.out" >&2
            exit 1
        fi
    done
    : >"$work/ready"
    until ls "$work" | grep -qx done; do sleep 0.1; done
}

case $rank in
0)
    n_client=$(($# - n_server))
    while [ "$n_server" -gt 0 ]; do # move the server's words behind the client's
        set -- "$@" "$1"
        shift
        n_server=$((n_server - 1))
    done
    shift "$n_client"
    serve "$@"
    ;;
1)
    shift $((n_server + 1))
    until ls "$work" | grep -qx ready; do
        ls "$work" | grep -qx failed && exit 1
        sleep 0.1
    done
    for word; do
        case $word in
        numeric:*) word=$(getent ahostsv4 "${word#*:}" | sed -n '1s/ .*//p') ;;
        esac
        set -- "$@" "$word"
        shift
    done
    "$@"
    status=$?
    : >"$work/done"
    [ "$status" -ne 255 ] || status=1 # by 255, ssh means that it could not reach the host
    exit "$status"
    ;;
*)
    echo "peer.sh needs a launcher that gives it rank 0 or 1, not rank '$rank'" >&2
    exit 1
    ;;
esac
"""
"""Server and client synchronise through files in the working folder, which all nodes share. The script lists
the folder instead of testing for a file, because a listing makes NFS refresh its cache."""


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
    return Stage(
        argv=("sh", "{work}/peer.sh", f"{protocol}:{port}", *server, "--", *client),
        files={"peer.sh": with_rank(_SCRIPT)},
        layout=case.layout.pair(),
        is_pair=True,
        programs=tuple(dict.fromkeys((server[0], client[0]))),
    )


def port_parameter(port: int) -> Parameter:
    """Return the parameter for the port on which a server listens."""
    return declare.whole("port", port, "port on which the server listens", minimum=1)
