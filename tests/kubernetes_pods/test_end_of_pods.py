"""What is left of a cluster with real nodes that was killed: nothing that runs."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from kubelab import control_groups, pod_lab
from kubelab.processes import Daemon
from kubernetes_pods.conftest import UP, PodLab

_PATIENCE_S = 20


def test_a_killed_cluster_ends_with_all_that_it_started(pods: PodLab, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kubelab", "pods", str(tmp_path), "--nodes", "1"]
    daemon = Daemon("pods", command, tmp_path / "pods.log")
    daemon.start()
    daemon.wait_until(lambda: UP in daemon.log.read_text(), "up", 180)
    inside = pod_lab.inside(tmp_path, ["true"])[2]
    space = Path("/proc", inside, "ns/pid").readlink()
    assert len(_members(space)) > 5
    assert daemon.pid is not None
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.stop()

    end = time.monotonic() + _PATIENCE_S
    while _members(space):
        assert time.monotonic() < end
        time.sleep(0.1)
    control_groups.remove_dead()
    assert not Path("/sys/fs/cgroup/cpu", control_groups.name_of(tmp_path)).exists()


def _members(space: Path) -> list[str]:
    """Return the processes in a namespace of processes."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/pid").readlink() == space:
                found.append(process.name)
        except OSError:  # it has just ended
            continue
    return found
