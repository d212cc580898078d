"""What the pods of a task would have written, had they run: the record that task.sh leaves in the log."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from pathlib import Path

import msgspec

from backends.kubernetes.sent_results import packed, probe
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster
from tare.plugins.backends.kubernetes.api.watching import Change, News, ObjectWatch, Snapshot
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenPod
from tare.plugins.backends.kubernetes.options import KubernetesOptions

RANKS_PER_NODE = 2


class SimulatedPods:
    """Writes the logs of simulated pods, in the place of task.sh, which has tests of its own.

    Where pods are it watches, as the cluster's administrator. While it `is_silent`, none leaves a record.
    `answers` are the logs of pods by how their names begin.
    """

    def __init__(self, kubeconfig: Path) -> None:
        cluster = Cluster.connect(KubernetesOptions(image="", kubeconfig=str(kubeconfig)))
        everywhere = PODS._replace(is_namespaced=False)
        self._news: queue.Queue[News] = queue.Queue()
        self._watch = ObjectWatch(cluster, everywhere, naming.ROLE, self._news)
        self._nodes: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._workers: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._tasks: dict[tuple[str, str], str] = {}
        self._running: set[tuple[str, str]] = set()
        self._killed: set[tuple[str, str]] = set()
        self.is_silent = False
        self.answers: dict[str, bytes] = {}

    def start(self) -> None:
        """Begin to watch; the threads end with the process."""
        self._watch.start()
        threading.Thread(target=self._listen, daemon=True).start()

    def write_log(self, namespace: str, name: str) -> bytes:
        for beginning, answer in self.answers.items():
            if name.startswith(beginning):
                return answer
        task = self._tasks.get((namespace, name))
        if task is None or self.is_silent or (namespace, name) in self._killed:
            return b"words\n"
        nodes = self._nodes[namespace, task]
        if name.endswith((naming.CLIENT, naming.SERVER)):
            return packed(_record([nodes[name]], ranks_per_node=1))
        workers = [node for _, node in sorted(self._workers[namespace, task].items())]
        return packed(_record(workers or [nodes[name]]))

    def is_running(self, namespace: str, name: str) -> bool:
        """Return whether a pod's container runs, for whoever follows its log."""
        return (namespace, name) in self._running

    def _listen(self) -> None:
        while True:
            match self._news.get():
                case Change(_, is_deleted, content):
                    pod = msgspec.json.decode(content, type=SeenPod)
                    self._note(pod)
                    if is_deleted:
                        self._running.discard((pod.metadata.namespace, pod.metadata.name))
                case Snapshot(_, items):
                    for item in items:
                        self._note(msgspec.json.decode(item, type=SeenPod))

    def _note(self, pod: SeenPod) -> None:
        meta = pod.metadata
        self._nodes[meta.namespace, meta.task][meta.name] = pod.spec.node_name
        key = meta.namespace, meta.name
        self._running.discard(key) if pod.is_over else self._running.add(key)
        if meta.deletion_timestamp is not None and not pod.is_over:  # its program ends before its record does
            self._killed.add(key)
        if pod.role == naming.WORKER:
            self._workers[meta.namespace, meta.task][meta.name] = pod.spec.node_name
        else:  # after an outage, a controller may make a second launcher, and delete one
            self._tasks[meta.namespace, meta.name] = meta.task


def _record(nodes: list[str], ranks_per_node: int = RANKS_PER_NODE) -> dict[str, str]:
    files = {"landed": "began 100.5\nstep run 0 101.0 103.5\n", "stdout": "value: 1.0\n"}
    for number, node in enumerate(nodes):
        ranks = {number * ranks_per_node + one: node for one in range(ranks_per_node)}
        files[f"before.{number}"] = probe(node)
        files[f"after.{number}"] = probe(node, ranks)
    return files
