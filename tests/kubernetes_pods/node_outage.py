"""A real node that goes away with all its pods, and comes back."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kubelab import control_groups
from kubernetes_pods.conftest import PodLab


class NodeOutage:
    """Kills the kubelet of a node, and what runs in its pods; later starts the kubelet again."""

    def __init__(self, pods: PodLab, node: str) -> None:
        self._pods, self._node = pods, node
        self._kubelet: list[str] = []
        self._containerd = 0

    def begin(self) -> None:
        """Let the node go: nobody is left to tell of its pods."""
        kubelet, self._kubelet = self._find(f"--hostname-override={self._node}")
        self._containerd, _ = self._find(str(self._pods.folder / self._node / "containerd.toml"))
        os.kill(kubelet, signal.SIGKILL)
        for pid in self._in_pods():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """Let it come back, as after a reboot: with its images, and without the pods that it had."""
        spaces = ["nsenter", "-t", str(self._containerd), "--net", "--mount", "--uts", "--pid", "--wd=/"]
        with (self._pods.folder / f"{self._node}-kubelet-again.log").open("ab") as log:
            kubelet = subprocess.Popen([*spaces, *self._kubelet], stdout=log, stderr=log)
        self._pods.started.append(kubelet)

    def _find(self, word: str) -> tuple[int, list[str]]:
        for pid, argv in _processes():
            is_wrapped = argv[:1] == ["nsenter"]  # by which `end` has started it
            if word in argv and not is_wrapped and any(str(self._pods.folder) in one for one in argv):
                return pid, argv
        raise AssertionError(f"no process of {self._node} has {word}")

    def _in_pods(self) -> list[int]:
        group = f"/{control_groups.name_of(self._pods.folder)}/{self._node}/"
        found = []
        for pid, _ in _processes():
            with suppress(OSError):
                if group in Path(f"/proc/{pid}/cgroup").read_text():
                    found.append(pid)
        return found


def _processes() -> Iterator[tuple[int, list[str]]]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield int(process.name), (process / "cmdline").read_text().split("\0")[:-1]
