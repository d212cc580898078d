"""A claim that pods of all nodes share with this machine: its files are a folder of the cluster's."""

from __future__ import annotations

import json

from kubelab.control_plane import ControlPlane

CLAIM, FOLDER = "campaigns", "shared"
_SIZE = "10Gi"


def make(cluster: ControlPlane) -> None:
    """Make the claim in the namespace `default`; its folder is named alike here and on all nodes."""
    path = cluster.folder / FOLDER
    path.mkdir(exist_ok=True)
    path.chmod(0o1777)  # pods have users of their own
    access = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": CLAIM},
        "spec": {
            **access,
            "capacity": {"storage": _SIZE},
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(path), "type": "Directory"},
        },
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "namespace": "default"},
        "spec": {**access, "volumeName": CLAIM, "resources": {"requests": {"storage": _SIZE}}},
    }
    for one in (volume, claim):
        cluster.apply(json.dumps(one))
