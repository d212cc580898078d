"""Certificates that a plug-in gives, and names of certificates, before a real API server over TLS."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kubernetes_cluster.conftest import Lab
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, Outage
from tare.plugins.backends.kubernetes.options import KubernetesOptions

V1 = "client.authentication.k8s.io/v1"
Connect = Callable[..., Cluster]


@pytest.fixture
def connect(lab: Lab, namespace: str, tmp_path: Path) -> Connect:
    """Return a function that connects with a certificate that a plug-in prints."""
    config = yaml.safe_load(lab.kubeconfig.read_text())
    user = config["users"][0]["user"]
    status = {
        name: base64.b64decode(user[key]).decode()
        for name, key in (
            ("clientCertificateData", "client-certificate-data"),
            ("clientKeyData", "client-key-data"),
        )
    }
    (tmp_path / "printed").write_text(json.dumps({"apiVersion": V1, "status": status}))
    plug_in = {"apiVersion": V1, "command": "cat", "args": [str(tmp_path / "printed")]}
    config["users"][0]["user"] = {"exec": plug_in}

    def make(**fields: str) -> Cluster:
        config["clusters"][0]["cluster"] |= fields
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        options = KubernetesOptions(image="", namespace=namespace, kubeconfig=str(tmp_path / "kubeconfig"))
        return Cluster.connect(options)

    return make


def test_a_certificate_of_a_plug_in_is_who_we_are(connect: Connect) -> None:
    cluster = connect()
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


def test_the_certificate_of_the_server_must_have_the_name_that_the_kubeconfig_says(connect: Connect) -> None:
    cluster = connect(**{"tls-server-name": "other.example.org"})
    with pytest.raises(Outage, match=r"not valid for 'other\.example\.org'"):
        cluster.list_all(PODS)
    cluster.close()
