"""Turn the Kubernetes section of a site file into the options of a platform."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import msgspec

from tare.core.backend_plugin import OptionsReader
from tare.core.errors import KeyPath, nearest, shown
from tare.plugins.backends.kubernetes.file_types import KubernetesFile
from tare.plugins.backends.kubernetes.merge_check import check_merge
from tare.plugins.backends.kubernetes.options import SSHD_CONFIG, KubernetesOptions, PhaseTimeouts, WorkVolume
from tare.plugins.backends.kubernetes.placement_options import placement_options

Fault = Callable[[KeyPath, str], None]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SSHD = ("/usr/sbin/sshd", "-De")
_RENAMED = frozenset({"memory", "shm", "memlock", "results", "ephemeral_storage"})


def kubernetes_options(file: KubernetesFile, reader: OptionsReader) -> KubernetesOptions:
    """Return the options, and report every fault to `reader`."""

    def fault(path: KeyPath, message: str) -> None:
        reader.fault(message, *path)

    path: KeyPath = ()
    _check_names(file, path, reader.storage, fault)
    user = None if file.user == "cluster" else file.user
    _check_user(file, user, path, fault)
    sshd = tuple(file.sshd) or (_SSHD if user == 0 else (*_SSHD, "-f", SSHD_CONFIG))
    values = msgspec.structs.asdict(file) | {
        "image": reader.expand(file.image, "image"),
        "kubeconfig": reader.expand(file.kubeconfig, "kubeconfig") if file.kubeconfig else None,
        "memory_bytes": file.memory,
        "shm_bytes": file.shm,
        "results_bytes": file.results,
        "is_memlock_unlimited": file.memlock == "unlimited",
        "capabilities": tuple(file.capabilities),
        "user": user,
        "sshd": sshd,
        "pull_secrets": tuple(file.pull_secrets),
        "nodes": tuple(file.nodes),
        **placement_options(file, path, fault),
        "timeouts": PhaseTimeouts(**{f"{k}_s": v for k, v in msgspec.structs.asdict(file.timeouts).items()}),
        "work": WorkVolume(claim=file.work.claim, path=file.work.path.rstrip("/")) if file.work else None,
        "merge": msgspec.json.encode(file.merge, order="sorted").decode() if file.merge else "",
    }
    return KubernetesOptions(**{name: value for name, value in values.items() if name not in _RENAMED})


def _check_names(file: KubernetesFile, path: KeyPath, storage: Collection[str], fault: Fault) -> None:
    for key, name in (("namespace", file.namespace), ("service_account", file.service_account or "x")):
        if not _NAME.fullmatch(name):
            fault((*path, key), f"{shown(name)} is not a name of Kubernetes; use a-z, 0-9 and '-'")
    for name in file.storage:
        if name not in storage:
            fault(
                (*path, "storage", name),
                f"{shown(name)} is not a storage path of this site; {nearest(name, list(storage))}",
            )
    if file.work is not None and not file.work.path.startswith("/"):
        fault((*path, "work", "path"), f"{shown(file.work.path)} is relative, and to nothing; write /…")
    if file.isolation is not None and "=" not in file.isolation:
        fault((*path, "isolation"), f"{shown(file.isolation)} has no value; write LABEL=VALUE: bench=only")
    check_merge(file.merge, (*path, "merge"), fault)


def _check_user(file: KubernetesFile, user: int | None, path: KeyPath, fault: Fault) -> None:
    if user != 0 and file.ssh_port < 1024:
        fault((*path, "ssh_port"), f"only root may listen on port {file.ssh_port}; use 2222, or user: 0")
    if user != 0 and file.capabilities:
        fault((*path, "capabilities"), "programs of other users have none; remove it, or add user: 0")
    if not file.home.startswith("/"):
        fault((*path, "home"), f"{shown(file.home)} is relative, and to nothing; write /home/…")
