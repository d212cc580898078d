"""Install the plug-ins of pod networks (CNI): Debian's, and Multus and whereabouts, as doubles or real."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kubelab.control_plane import ControlPlane
from kubelab.processes import KubelabError

ETC = Path("/etc/cni")
"""Where whereabouts reads settings that its network's configuration does not have."""
_DEBIAN = Path("/usr/lib/cni")
_DOUBLES = ("multus", "whereabouts")
_VERSION = "0.4.0"


def lay_plugins(cluster: ControlPlane) -> Path:
    """Install the plug-ins into a folder that all nodes share; return it."""
    plugins = cluster.folder / "plugins"
    if not _DEBIAN.is_dir():
        raise KubelabError(f"{_DEBIAN} is missing; on Debian: apt install containernetworking-plugins")
    plugins.mkdir(exist_ok=True)
    for program in _DEBIAN.iterdir():
        _link(plugins / program.name, program)
    for name in _DOUBLES:
        real = getattr(cluster.prebuilt, name)
        if real is not None:
            _link(plugins / name, real)
            continue
        (plugins / name).unlink(missing_ok=True)
        text = Path(__file__).with_name(f"{name}.py").read_text()
        (plugins / name).write_text(f"#!{sys.executable}\n{text}")
        (plugins / name).chmod(0o755)
    (plugins / "whereabouts.json").unlink(missing_ok=True)
    return plugins


def pod_network(cluster: ControlPlane, subnet: str) -> dict[str, object]:
    """Return the network of a node's pods, with addresses of `subnet`, inside a Multus configuration."""
    pods = {
        "cniVersion": _VERSION,
        "name": "pods",
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,
        "mtu": 1450,  # as where pods' packets are encapsulated (VXLAN)
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": subnet}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    multus = _double_of_multus(cluster, pods) if cluster.prebuilt.multus is None else _multus(cluster, pods)
    return {"cniVersion": _VERSION, "name": "pods", "plugins": [multus]}


def lay_whereabouts(cluster: ControlPlane, folder: Path, node: str) -> None:
    """Write into `folder` the files that the real whereabouts reads from `/etc/cni` on `node`.

    Its own image writes the same files.
    """
    if cluster.prebuilt.whereabouts is None:
        return
    if not ETC.is_dir():
        raise KubelabError(
            f"{ETC} is missing, over which nodes put whereabouts' configuration: mkdir -p {ETC}"
        )
    home = folder / "net.d/whereabouts.d"
    home.mkdir(parents=True)
    config = {
        "datastore": "kubernetes",
        "configuration_path": str(ETC / "net.d/whereabouts.d"),
        "kubernetes": {"kubeconfig": str(cluster.kubeconfig)},
    }
    (home / "whereabouts.conf").write_text(json.dumps(config))
    (home / "nodename").write_text(node)


def _double_of_multus(cluster: ControlPlane, pods: dict[str, object]) -> dict[str, object]:
    admin = cluster.authority.issue("admin", "admin", ["system:masters"])
    return {
        "type": "multus",
        "delegate": pods,
        "server": cluster.url,
        "ca": str(cluster.authority.certificate),
        "certificate": str(admin.certificate),
        "key": str(admin.key),
        "state": "/var/lib/multus",
    }


def _multus(cluster: ControlPlane, pods: dict[str, object]) -> dict[str, object]:
    return {
        "type": "multus",
        "delegates": [pods],
        "kubeconfig": str(cluster.kubeconfig),
        "binDir": str(cluster.folder / "plugins"),
        "logToStderr": True,
        "logLevel": "error",
    }


def _link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)
