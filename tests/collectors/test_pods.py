"""Pods beside ranks that run over ssh, by the names that kubelets give to control groups."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tare.plugins.collectors.facts import probe_script
from tare.plugins.collectors.pods import SOURCE, UID
from tare.plugins.collectors.source import Subject
from tare.probes.records import read_records

CGROUPS = """\
0::/kubepods.slice/kubepods-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice/cri-containerd-ab.scope
0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6ba7b810_9dad_11d1_80b4_00c04fd430c8.slice/crio-1.scope
11:cpuset:/kubepods/besteffort/pod6ba7b811-9dad-11d1-80b4-00c04fd430c8/0f3e
0::/system.slice/podman-1b4e28ba.service
0::/user.slice/user-1000.slice
"""
"""In the forms of kubelets with the systemd and the cgroupfs driver; made by hand."""


def test_the_uids_of_pods_are_found_in_both_forms(tmp_path: Path) -> None:
    found = subprocess.run(["grep", "-o", UID], input=CGROUPS, capture_output=True, text=True, check=True)
    assert len(found.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    ("response", "facts"), [("3\n", {"kubernetes.pods_beside": "3"}), ("0\n", {}), ("", {}), ("x", {})]
)
def test_pods_are_counted_where_there_are_some(response: str, facts: dict[str, str]) -> None:
    assert SOURCE.read({"pods": response}) == facts


@pytest.mark.parametrize(("env", "is_asked"), [({}, True), ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, False)])
def test_a_node_is_asked_and_a_pod_is_not(env: dict[str, str], is_asked: bool) -> None:
    script = probe_script((SOURCE,), Subject())
    env = {"PATH": "/usr/bin:/bin", **env}
    output = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, env=env)
    assert output.stderr == b""
    records = read_records(output.stdout.decode())
    assert ("pods" in records) is is_asked
    assert not is_asked or records["pods"].strip().isdigit()
