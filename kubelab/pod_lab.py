"""Run a cluster with real nodes on this machine: namespaces, control plane, DNS, operator, nodes.

It runs in network, mount and PID namespaces. When it ends, for any reason, all its processes end, and it
cannot reach the machine's network. Needs root.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kubelab import build, control_groups, fabric, shared_claim
from kubelab.control_plane import ControlPlane
from kubelab.images import images
from kubelab.node import Node
from kubelab.operators import operator
from kubelab.processes import Daemon, KubelabError

NODES, RATE = 2, "200mbit"
PID = "kubelab.pid"
_INSIDE = "inside.pid"
_PATIENCE_S = 20
_CONSTRAINTS = Path(__file__).parent / "manifests" / "security-context-constraints.yaml"
_PROGRAMS = ("containerd", "runc", "ip", "tc", "nsenter", "unshare", "setpriv", "ssh-keygen")
_TRIAL = """\
ip link add name cable0 type veth peer name cable1
ip link add name switch0 type bridge
ip link add link cable0 name second0 type macvlan mode bridge
tc qdisc add dev cable0 root tbf rate 1mbit burst 16kb latency 50ms
mount -t tmpfs tmpfs /run
"""
"""Commands that nodes need; some kernels, and containers without privileges, refuse some of them."""
_COREFILE = """\
.:53 {{
  bind {host}
  errors
  cache 2
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {kubeconfig}
    pods insecure
    ttl 2
  }}
}}
"""


def isolated(command: list[str]) -> list[str]:
    """Return a command that runs `command` in new namespaces, and ends all processes in them with it."""
    kinds = ["--net", "--mount", "--pid", "--ipc"]
    ends = ["--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    return ["setpriv", "--pdeathsig", "KILL", "--", "unshare", *kinds, *ends, *command]


@contextmanager
def pod_lab(folder: Path, n_nodes: int = NODES, rate: str = RATE) -> Iterator[ControlPlane]:
    """Run a cluster with `n_nodes` real nodes in the current namespaces, which must be its own.

    Images and programs must be built already. Raises KubelabError.
    """
    group = control_groups.name_of(folder)
    with ExitStack() as stack:
        fabric.lay_switches()
        cluster = stack.enter_context(ControlPlane(folder, address=fabric.HOST))
        cluster.apply(_CONSTRAINTS.read_text())
        shared_claim.make(cluster)
        for daemon in (_dns(cluster), operator(cluster)):
            daemon.start()
            stack.callback(daemon.kill)
        nodes = [Node(cluster, number, n_nodes, rate, group) for number in range(n_nodes)]
        for node in nodes:
            stack.callback(node.stop)
            node.start()
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.load(images()), nodes))
        for node in nodes:
            node.join()
        for node in nodes:
            node.wait_until_ready()
        yield cluster


def hold(folder: Path, n_nodes: int, rate: str) -> int:
    """Run `python -m kubelab hold-pods` in new namespaces until it ends; return its exit code.

    Raises KubelabError where this machine lacks something.
    """
    check()
    build.check()
    images()
    words = [str(folder), "--nodes", str(n_nodes), "--rate", rate]
    command = isolated([sys.executable, "-m", "kubelab", "hold-pods", *words])
    control_groups.remove_dead()  # those of a lab that was killed
    process = subprocess.Popen(command)
    (folder / PID).write_text(str(os.getpid()))
    (folder / _INSIDE).write_text(str(process.pid))
    try:
        return process.wait()
    finally:
        if process.poll() is None:  # its end ends all other processes there, and waits for them
            first = _first_process(process.pid)
            os.kill(first, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_S)
        if process.poll() is None:
            os.kill(first, signal.SIGKILL)
            process.wait()
        (folder / PID).unlink(missing_ok=True)
        control_groups.remove_dead()


def has_real_nodes(folder: Path) -> bool:
    """Return whether the cluster in `folder` is or was one of `pods`, whose API only its namespaces reach."""
    return (folder / _INSIDE).exists()


def inside(folder: Path, command: list[str]) -> list[str]:
    """Return a command that runs `command` in the network of the cluster in `folder`. Raises KubelabError."""
    try:
        first = _first_process(int((folder / _INSIDE).read_text()))
    except (OSError, ValueError) as error:
        raise KubelabError(f"no cluster with real nodes is up in {folder}") from error
    return ["nsenter", "-t", str(first), "--net", "--", *command]


def environment(folder: Path) -> dict[str, str]:
    """Return the variables with which commands reach the API and the nodes of the cluster in `folder`."""
    programs = Path(__file__).with_name("bin")
    return {
        "KUBECONFIG": str(folder / "admin.kubeconfig"),
        "KUBELAB": str(folder),
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    }


def _first_process(outer: int) -> int:
    """Return the pid, in our namespace, of the first process in the PID namespace that `outer` created."""
    [child] = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
    return int(child)


def check() -> None:
    """Raise KubelabError, with the cure, if this machine cannot run real nodes."""
    if os.geteuid() != 0:
        raise KubelabError("real nodes need root")
    path = os.environ.get("PATH", os.defpath)
    missing = [one for one in _PROGRAMS if not any(Path(part, one).exists() for part in path.split(":"))]
    if missing:
        raise KubelabError(f"{', '.join(missing)} are missing; 'make programs' installs them")
    done = subprocess.run(isolated(["sh", "-ec", _TRIAL]), capture_output=True, text=True, check=False)
    if done.returncode:
        raise KubelabError(f"root cannot make what real nodes need here: {done.stderr.strip()}")


def _dns(cluster: ControlPlane) -> Daemon:
    path = cluster.folder / "Corefile"
    path.write_text(_COREFILE.format(host=fabric.HOST, kubeconfig=cluster.kubeconfig))
    return Daemon("coredns", [*build.command("coredns"), "-conf", str(path)], cluster.folder / "coredns.log")
