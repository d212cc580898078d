"""Simulate nodes with kwok, which acts as their kubelets; the real scheduler binds pods to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from kubelab import build
from kubelab.control_plane import ControlPlane
from kubelab.processes import Daemon
from kubelab.simulated_logs import SimulatedLogs

_STAGES = Path(__file__).with_name("manifests") / "stages.yaml"
_MINE = "kwok.x-k8s.io/node"
_READY = '{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
_CPUS, _MEMORY, _PODS = "1024", "4Ti", "1000"


class SimulatedNodes:
    """`count` nodes with names from `prefix`-0 on, in a running cluster. Use it as a context manager.

    Their pods run nothing. `write_log` returns the log of a pod, given its namespace and name. The pod's
    annotations control its phases (manifests/stages.yaml). A node has a lease of `lease_s` seconds, which it
    renews in time.
    """

    def __init__(
        self,
        cluster: ControlPlane,
        count: int,
        write_log: Callable[[str, str], bytes],
        labels: Mapping[str, str] | None = None,
        is_running: Callable[[str, str], bool] = lambda namespace, pod: False,
        prefix: str = "sim",
        lease_s: int = 40,
    ) -> None:
        self._cluster = cluster
        self._prefix = prefix
        self.names = tuple(f"{prefix}-{number}" for number in range(count))
        self._labels = dict(labels or {})
        self._logs = SimulatedLogs(cluster.authority, write_log, is_running)
        command = [
            *build.command("kwok"), f"--kubeconfig={cluster.kubeconfig}", f"--config={_STAGES}",
            f"--manage-nodes-with-annotation-selector={_MINE}={prefix}",
            f"--node-lease-duration-seconds={lease_s}", "--cidr=10.99.0.0/16",
        ]  # fmt: skip
        self.port = self._logs.port
        self._kwok = Daemon(f"kwok {prefix}", command, cluster.folder / f"kwok-{prefix}.log", cluster.inside)

    def __enter__(self) -> SimulatedNodes:
        self._logs.start()
        self._kwok.start()
        self._cluster.apply("\n---\n".join(json.dumps(self._node(name)) for name in self.names))
        self._kwok.wait_until(self._are_ready, "ready with all its nodes", 600)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kwok.kill()
        self._logs.stop()

    def lose(self) -> None:
        """Stop all of them, as when their network is cut.

        Their leases, and the states of their pods, are no longer updated.
        """
        self._kwok.kill()

    def restart(self) -> None:
        """Start their kubelets again, which then look at all pods.

        kwok drops a change of a pod whose answer was cut off (pkg/kwok/controllers/utils.go, shouldRetry). It
        looks at the pod again only when that changes. A kubelet tries again. The thread that calls this must
        outlive the cluster (see Daemon).
        """
        self._kwok.kill()
        self._kwok.start()

    def _are_ready(self) -> bool:
        """Return whether all are ready, with one request.

        'kubectl wait' takes minutes for a thousand nodes, one after the other.
        """
        told = self._cluster.kubectl("get", "nodes", "-o", f"jsonpath={_READY}").splitlines()
        return {f"{name} True" for name in self.names} <= set(told)

    def _node(self, name: str) -> dict[str, object]:
        has = {"cpu": _CPUS, "memory": _MEMORY, "pods": _PODS}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "annotations": {_MINE: self._prefix},
                "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **self._labels},
            },
            "status": {
                "allocatable": has,
                "capacity": has,
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            },
        }
