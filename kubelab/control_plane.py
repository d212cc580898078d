"""Run the control plane of a cluster as ordinary processes: etcd, API server, controllers, scheduler."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from kubelab import build
from kubelab.definitions import definitions
from kubelab.pki import Authority
from kubelab.prebuilt import Prebuilt
from kubelab.processes import Daemon, KubelabError

SERVICE_NETWORK, FIRST_SERVICE = "10.96.0.0/16", "10.96.0.1"
_PORTS = range(20_000, 30_000)  # below the kernel's range for outgoing ports: a restart finds its own free


class ControlPlane:
    """A cluster without nodes, whose state and logs are in `folder`. Use it as a context manager.

    It listens at `address`, on free ports. `inside` is put before each command, such as the nsenter of a
    network namespace that has this address. MPIJobs and NetworkAttachmentDefinitions are defined unless it
    `is_bare`; prebuilt programs from environment variables have their own definitions. Requests of the users
    `audited` are written to `audit_log`. `out` are names of controllers that are not started. A node that is
    silent for `grace_s` is not ready; the default is that of Kubernetes.

    Raises KubelabError if it is not built, or does not start.
    """

    def __init__(
        self,
        folder: Path,
        *,
        address: str = "127.0.0.1",
        inside: Sequence[str] = (),
        audited: Sequence[str] = (),
        is_bare: bool = False,
        out: Sequence[str] = (),
        grace_s: int | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.address = address
        self.inside = tuple(inside)
        self._is_bare = is_bare
        self.authority = Authority(self.folder / "pki")
        self.prebuilt = Prebuilt.of(os.environ)
        build.check()
        etcd_port, peer_port, self.port = _free_ports(3)
        self.url = f"https://{address}:{self.port}"
        self.audit_log = self.folder / "audit.log"
        (self.folder / "audit-policy.yaml").write_text(_audit_policy(audited))
        self.kubeconfig = self.kubeconfig_for("admin", ["system:masters"])
        self._etcd = self._daemon("etcd", *self._etcd_options(etcd_port, peer_port))
        self._api_server = self._daemon("kube-apiserver", *self._api_server_options(etcd_port))
        self._followers = (
            self._daemon("kube-controller-manager", *self._controller_options(out, grace_s)),
            self._daemon("kube-scheduler", *self._follower_options("scheduler")),
        )

    def __enter__(self) -> ControlPlane:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill all processes; the state needs no orderly end."""
        for daemon in (*self._followers, self._api_server, self._etcd):
            daemon.kill()

    @property
    def api_server_pid(self) -> int | None:
        """Return the process id of the API server; None while it does not run."""
        return self._api_server.pid

    def kill_api_server(self) -> None:
        """Kill the API server, as a crash would. Its data stay in etcd."""
        self._api_server.kill()

    def restart_api_server(self) -> None:
        """Start the API server again at the same address, and wait until it is ready.

        The thread that calls this must outlive the cluster (see Daemon).
        """
        self._api_server.start()
        self._api_server.wait_until(self.is_ready, "ready")

    def is_ready(self) -> bool:
        """Return whether the API server reports that it is ready."""
        if self.inside:
            return self._kubectl("get", "--raw", "/readyz").returncode == 0
        admin = self.authority.issue("admin", "admin", ["system:masters"])
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        context.load_cert_chain(admin.certificate, admin.key)
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5, context=context):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Return the kubeconfig file with which kubectl and Tare act as `user` of `groups`."""
        name = user.replace(":", "-")
        identity = self.authority.issue(name, user, groups)
        return self.authority.write_kubeconfig(self.folder / f"{name}.kubeconfig", self.url, identity)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Return the output of kubectl, as the administrator. Raises KubelabError when it fails."""
        done = self._kubectl(*arguments, stdin=stdin)
        if done.returncode:
            raise KubelabError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def apply(self, text: str) -> None:
        """Apply manifests in YAML. Raises KubelabError."""
        self.kubectl("apply", "--server-side", "-f", "-", stdin=text)

    def _start(self) -> None:
        self._etcd.start()
        self.restart_api_server()
        if not self._is_bare:  # before the controllers, whose garbage collector seldom looks for new kinds
            self._define()
        for follower in self._followers:
            follower.start()
        # Pods are refused until the controller manager has created this account in their namespace.
        self._followers[0].wait_until(self._has_account, "making accounts")

    def _define(self) -> None:
        """Define the kinds that are no part of Kubernetes, and wait until the API server serves them."""
        for manifest in definitions(self.kubectl("get", "--raw", "/openapi/v3/api/v1"), self.prebuilt):
            self.apply(manifest)
        self._api_server.wait_until(self._has_definitions, "serving what was defined")

    def _has_account(self) -> bool:
        return self._kubectl("get", "serviceaccount", "default").returncode == 0

    def _has_definitions(self) -> bool:
        kinds = ("mpijobs.kubeflow.org", "network-attachment-definitions.k8s.cni.cncf.io")
        return all(self._kubectl("get", kind).returncode == 0 for kind in kinds)

    def _kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [*self.inside, *build.command("kubectl"), f"--kubeconfig={self.kubeconfig}"]
        command += [f"--cache-dir={self.folder / 'kubectl'}", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def _daemon(self, name: str, *options: str) -> Daemon:
        return Daemon(name, [*build.command(name), *options], self.folder / f"{name}.log", self.inside)

    def _etcd_options(self, port: int, peer_port: int) -> list[str]:
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)  # files of an earlier cluster
        own, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
        return [
            f"--data-dir={self.folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn",
            f"--listen-client-urls={own}", f"--advertise-client-urls={own}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
        ]  # fmt: skip

    def _api_server_options(self, etcd_port: int) -> list[str]:
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        hosts = [f"IP:{one}" for one in dict.fromkeys(("127.0.0.1", self.address, FIRST_SERVICE))]
        hosts += [f"DNS:{name}" for name in names]
        serving = self.authority.issue("apiserver", "kube-apiserver", hosts=hosts)
        admin = self.authority.issue("admin", "admin", ["system:masters"])
        accounts, ca = self.authority.service_accounts, self.authority.certificate
        return [
            f"--etcd-servers=http://127.0.0.1:{etcd_port}", f"--secure-port={self.port}",
            "--bind-address=0.0.0.0" if self.inside else f"--bind-address={self.address}",
            f"--advertise-address={self.address}",
            f"--tls-cert-file={serving.certificate}", f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={ca}", f"--kubelet-certificate-authority={ca}",
            f"--kubelet-client-certificate={admin.certificate}", f"--kubelet-client-key={admin.key}",
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts.certificate}",
            f"--service-account-signing-key-file={accounts.key}",
            f"--service-cluster-ip-range={SERVICE_NETWORK}", "--authorization-mode=Node,RBAC",
            "--allow-privileged=true", "--enable-priority-and-fairness=false",
            "--feature-gates=MutatingAdmissionPolicy=true",
            "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
            f"--audit-policy-file={self.folder / 'audit-policy.yaml'}", f"--audit-log-path={self.audit_log}",
        ]  # fmt: skip

    def _controller_options(self, out: Sequence[str], grace_s: int | None) -> list[str]:
        grace = [] if grace_s is None else [f"--node-monitor-grace-period={grace_s}s"]
        return [
            *self._follower_options("controller-manager"), "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.authority.service_accounts.key}",
            f"--root-ca-file={self.authority.certificate}",
            f"--controllers={','.join(['*', *(f'-{name}' for name in out)])}", *grace,
        ]  # fmt: skip

    def _follower_options(self, name: str) -> list[str]:
        config = self.kubeconfig_for(f"system:kube-{name}")
        return [
            f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0",
            "--kube-api-qps=500", "--kube-api-burst=1000",
        ]  # fmt: skip


def _audit_policy(users: Sequence[str]) -> str:
    watched = [{"level": "Metadata", "users": list(users)}] if users else []
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [*watched, {"level": "None"}],
    }
    return json.dumps(policy)


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_PORTS)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
