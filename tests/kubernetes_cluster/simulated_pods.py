"""What the pods of a task would have written, had they run: the record that task.sh leaves in the log."""

from __future__ import annotations

from pathlib import Path

import msgspec

from backends.kubernetes.simulated_api import packed, probe
from tare.backends.kubernetes import naming
from tare.backends.kubernetes.cluster import PODS, Cluster
from tare.backends.kubernetes.observed import SeenPod
from tare.model.kubernetes import KubernetesOptions

RANKS_PER_NODE = 2


class SimulatedPods:
    """Writes the logs of simulated pods. On which nodes they are it asks the cluster, as its administrator.

    In the place of task.sh, which has tests of its own. While it `is_silent`, no pod leaves a record.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(kubeconfig)))
        self.is_silent = False

    def write_log(self, namespace: str, name: str) -> bytes:
        content = self._cluster.get(PODS, name, namespace)
        if content is None:
            return b""
        pod = msgspec.json.decode(content, type=SeenPod)
        if self.is_silent or pod.role != naming.LAUNCHER:
            return b"sshd: listening\n"
        return packed(self._record(self._nodes(namespace, pod)))

    def _nodes(self, namespace: str, pod: SeenPod) -> list[str]:
        """Return the nodes of the workers; of a task that has none, that of its only pod."""
        inside = PODS._replace(group=f"api/v1/namespaces/{namespace}", is_namespaced=False)
        selector = f"{naming.TASK}={pod.metadata.task},{naming.ROLE}={naming.WORKER}"
        found = [
            msgspec.json.decode(one, type=SeenPod) for one in self._cluster.list_all(inside, selector)[0]
        ]
        workers = sorted(found, key=lambda one: one.metadata.name)
        return [one.spec.node_name for one in workers] or [pod.spec.node_name]

    def _record(self, nodes: list[str]) -> dict[str, str]:
        files = {"landed": "began 100.5\nstep run 0 101.0 103.5\n", "stdout": "value: 1.0\n"}
        for number, node in enumerate(nodes):
            ranks = {number * RANKS_PER_NODE + one: node for one in range(RANKS_PER_NODE)}
            files[f"before.{number}"] = probe(node)
            files[f"after.{number}"] = probe(node, ranks)
        return files
