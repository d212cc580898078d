"""Run a real node: containerd, kubelet and network plug-ins, in namespaces of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from kubelab import build, control_groups, fabric, images
from kubelab.control_plane import ControlPlane
from kubelab.plugins import ETC, lay_plugins, lay_whereabouts, pod_network
from kubelab.processes import Daemon, KubelabError

_CRI_O = Path(__file__).with_name("cri_o.py")
"""The program that runs containers of the RuntimeClass cri-o."""
_TUNED = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}
"""Parameters of the machine's kernel that a kubelet sets (container_manager_linux.go)."""
_SETTLE = """\
set -e
hostname {name}
mount --make-rshared /
mount -t tmpfs tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib
mkdir /var/lib/kubelet
mount --bind {folder}/log /var/log
mount --bind {folder}/hosts /etc/hosts
[ ! -d {folder}/cni ] || mount --bind {folder}/cni {etc_cni}
cd {folder}/sysctl
for file in */* */*/*; do [ ! -f $file ] || mount --bind $file /proc/sys/$file; done
cd /
mkdir /run/lock
: >/run/settled
exec sleep infinity
"""
_CONTAINERD = """\
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  stream_server_address = "127.0.0.1"
  restrict_oom_score_adj = true  # without CAP_SYS_RESOURCE no lower one can be set
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{folder}/plugins"
    conf_dir = "{folder}/networks"
    max_conf_num = 1
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.cri-o]
    runtime_type = "io.containerd.runc.v2"
    pod_annotations = ["kubelab/*"]
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.cri-o.options]
      SystemdCgroup = false
      BinaryName = "{folder}/cri-o"
"""


class Node:
    """The node `number` of `n_nodes`, with its state and logs in a folder below the cluster's.

    It sees the machine's files except /run, /var/lib, /var/log and /etc/hosts, so that all its programs may
    use their usual paths. Images and containers are in memory, 1 GiB, and are lost with the node. Its uplink
    sends at most at `rate`.
    """

    def __init__(self, cluster: ControlPlane, number: int, n_nodes: int, rate: str, group: str) -> None:
        self.name = f"node{number}"
        self._cluster = cluster
        self._number, self._n_nodes, self._rate = number, n_nodes, rate
        self._folder = cluster.folder / self.name
        self._group = f"{group}/{self.name}"
        holding = ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c"]
        script = _SETTLE.format(name=self.name, folder=self._folder, etc_cni=ETC)
        self._holder = Daemon(self.name, [*holding, script], cluster.folder / f"{self.name}.log")
        self._daemons: list[Daemon] = []

    def start(self) -> None:
        """Start all but the kubelet. The thread that calls this must outlive the node (see Daemon)."""
        self._lay_out()
        control_groups.make(self._group)
        self._holder.start()
        pid = self._pid
        self._holder.wait_until(Path(f"/proc/{pid}/root/run/settled").exists, "settled")
        reached_by = [pid, *control_groups.make_beside_pods(self._group)]
        text = "".join(f"{one}\n" for one in reached_by)
        (self._cluster.folder / f"{self.name}.reach").write_text(text)  # read by bin/kubelab-ssh
        fabric.plug_in(self._number, pid, self._n_nodes, self._rate)
        containerd = self._daemon("containerd", "containerd", "-c", str(self._folder / "containerd.toml"))
        containerd.start()
        containerd.wait_until(lambda: self._ctr("version").returncode == 0, "answering")

    def load(self, archives: Sequence[Path]) -> None:
        """Import images from archives."""
        for archive in archives:
            done = self._ctr("images", "import", str(archive))
            if done.returncode:
                raise KubelabError(f"{self.name}: {archive.name}: {done.stderr.strip()}")

    def join(self) -> None:
        """Start the kubelet, which registers it as a node of the cluster."""
        config = self._cluster.kubeconfig_for(f"system:node:{self.name}", ["system:nodes"])
        kubelet = self._daemon(
            "kubelet", *build.command("kubelet"), f"--config={self._folder / 'kubelet.yaml'}",
            f"--kubeconfig={config}", f"--hostname-override={self.name}",
            f"--node-ip={fabric.address(self._number)}",
        )  # fmt: skip
        kubelet.start()

    def wait_until_ready(self) -> None:
        """Wait until the cluster reports it as ready. Raises KubelabError."""
        self._daemons[-1].wait_until(self._is_ready, "ready")

    def stop(self) -> None:
        """Kill its daemons; their children end with the lab's PID namespace."""
        for daemon in reversed([self._holder, *self._daemons]):
            daemon.kill()

    @property
    def _pid(self) -> int:
        pid = self._holder.pid
        if pid is None:
            raise KubelabError(f"{self.name} is gone")
        return pid

    def _is_ready(self) -> bool:
        path = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
        select = f"--field-selector=metadata.name={self.name}"
        return self._cluster.kubectl("get", "nodes", select, "-o", path) == "True"

    def _ctr(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*self._inside(), "ctr", "-n", "k8s.io", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _inside(self) -> list[str]:
        return ["nsenter", "-t", str(self._pid), "--net", "--mount", "--uts", "--wd=/"]

    def _daemon(self, name: str, *command: str) -> Daemon:
        log = self._cluster.folder / f"{self.name}-{name}.log"
        daemon = Daemon(f"{name} of {self.name}", command, log, self._inside())
        self._daemons.append(daemon)
        return daemon

    def _lay_out(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)  # files of an earlier cluster
        for name in ("log", "networks", "sysctl"):
            (self._folder / name).mkdir(parents=True)
        for name, value in _TUNED.items():
            path = self._folder / "sysctl" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")
        (self._folder / "plugins").symlink_to(lay_plugins(self._cluster))
        lay_whereabouts(self._cluster, self._folder / "cni", self.name)
        pods = pod_network(self._cluster, fabric.pod_subnet(self._number))
        (self._folder / "networks/10-pods.conflist").write_text(json.dumps(pods))
        text = _CONTAINERD.format(pause=images.PAUSE, folder=self._folder)
        (self._folder / "containerd.toml").write_text(text)
        runtime = self._folder / "cri-o"
        runtime.write_text(f"#!{sys.executable}\n{_CRI_O.read_text()}")
        runtime.chmod(0o755)
        names = [f"{fabric.address(number)} node{number}" for number in range(self._n_nodes)]
        (self._folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        (self._folder / "resolv.conf").write_text(f"nameserver {fabric.HOST}\n")
        (self._folder / "kubelet.yaml").write_text(yaml.safe_dump(self._kubelet_config()))

    def _kubelet_config(self) -> dict[str, object]:
        own = fabric.address(self._number)
        names = [f"DNS:{self.name}", f"IP:{own}", "IP:127.0.0.1"]
        user = f"system:node:{self.name}"
        serving = self._cluster.authority.issue(f"{self.name}-serving", user, ["system:nodes"], names)
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": own,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self._cluster.authority.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._group}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "oomScoreAdj": 0,
            "clusterDNS": [fabric.HOST],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self._folder / "resolv.conf"),
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "imageMinimumGCAge": "24h",
            "evictionHard": {
                "memory.available": "100Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
            "serializeImagePulls": False,
        }
