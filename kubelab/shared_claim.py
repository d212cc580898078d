"""Create a claim that pods of all nodes share with this machine: a folder of the cluster."""

from __future__ import annotations

import json

from kubelab.control_plane import ControlPlane

CLAIM, FOLDER = "campaigns", "shared"
_SIZE = "10Gi"


def make(cluster: ControlPlane) -> None:
    """Create the claim in the namespace `default`; its folder has the same path here and on all nodes."""
    path = cluster.folder / FOLDER
    path.mkdir(exist_ok=True)
    path.chmod(0o1777)  # pods run as different users
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
