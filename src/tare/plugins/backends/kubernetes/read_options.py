"""Check the options of a Kubernetes platform, and complete them from the environment."""

from __future__ import annotations

import re

import msgspec

from tare.core.backend_plugin import OptionsReader
from tare.core.errors import nearest, shown
from tare.plugins.backends.kubernetes.objects.merging import check_merge
from tare.plugins.backends.kubernetes.objects.naming import QUEUE
from tare.plugins.backends.kubernetes.options import KubernetesOptions, LauncherOptions, LauncherPlace

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_OWN = re.compile(r"tare/.*|app\.kubernetes\.io/managed-by|training\.kubeflow\.org/.*")
_PAGES = {"2Mi": 2**21, "1Gi": 2**30}


def read_options(written: KubernetesOptions, reader: OptionsReader) -> KubernetesOptions:
    """Return the options with variables expanded, and report every fault to `reader`."""
    work = written.work
    if work is not None:
        path = reader.expand(work.path, "work", "path").rstrip("/")
        written = msgspec.structs.replace(written, work=msgspec.structs.replace(work, path=path))
    _check_names(written, reader)
    _check_user(written, reader)
    _check_labels(written, reader)
    _check_launcher(written.launcher, written.nodes, reader)
    check_merge(written.merge, reader)
    for size, amount in written.hugepages.items():
        if amount % _PAGES[size]:
            message = f"{amount} bytes are no whole pages of {size}; write a multiple"
            reader.fault(message, "hugepages", size)
    return msgspec.structs.replace(
        written,
        image=reader.expand(written.image, "image"),
        kubeconfig=reader.expand(written.kubeconfig, "kubeconfig") if written.kubeconfig else None,
    )


def _check_names(written: KubernetesOptions, reader: OptionsReader) -> None:
    for key in ("namespace", "service_account", "runtime_class", "queue"):
        name = getattr(written, key)
        if name is not None and not _NAME.fullmatch(name):
            reader.fault(f"{shown(name)} is not a name of Kubernetes; use a-z, 0-9 and '-'", key)
    for name in written.storage:
        if name not in reader.storage:
            cure = nearest(name, list(reader.storage))
            reader.fault(f"{shown(name)} is not a storage path of this site; {cure}", "storage", name)
    work, isolation = written.work, written.isolation
    if work is not None and not work.path.startswith(("/", "${")):
        reader.fault(f"{shown(work.path)} is a relative path; write /…", "work", "path")
    if isolation is not None and "=" not in isolation:
        reader.fault(f"{shown(isolation)} has no value; write LABEL=VALUE: bench=only", "isolation")


def _check_user(written: KubernetesOptions, reader: OptionsReader) -> None:
    if written.user != 0 and written.ssh_port < 1024:
        fault = f"only root may listen on port {written.ssh_port}; use 2222, or user: 0"
        reader.fault(fault, "ssh_port")
    if written.user != 0 and written.capabilities:
        reader.fault("programs of other users have none; remove it, or add user: 0", "capabilities")
    if not written.home.startswith("/"):
        reader.fault(f"{shown(written.home)} is a relative path; write /home/…", "home")


def _check_launcher(launcher: LauncherOptions, nodes: tuple[str, ...], reader: OptionsReader) -> None:
    measured = [one for one in launcher.nodes if one in nodes]
    if measured and launcher.place is LauncherPlace.APART:
        fault = f"{shown(measured[0])} is a node of programs, from which it keeps apart"
        reader.fault(f"{fault}; name another, or add 'place: anywhere'", "launcher", "nodes")
    if launcher.place is LauncherPlace.BESIDE and (launcher.nodes or launcher.node_selector):
        key = "nodes" if launcher.nodes else "node_selector"
        fault = "beside its workers it is on their nodes; remove it, or 'place: beside'"
        reader.fault(fault, "launcher", key)


def _check_labels(written: KubernetesOptions, reader: OptionsReader) -> None:
    for option in ("labels", "annotations"):
        for name, value in getattr(written, option).items():
            if not _KEY.fullmatch(name):
                reader.fault(_no_key(name), option, name)
            elif _OWN.fullmatch(name):
                fault = f"by {shown(name)} Tare and the operator find their pods; use another name"
                reader.fault(fault, option, name)
            elif option == "labels" and name == QUEUE:
                fault = f"this label has an option of its own; write 'queue: {value}'"
                reader.fault(fault, option, name)
            elif option == "labels" and not _VALUE.fullmatch(value):
                fault = f"{shown(value)} is no value of a label; use 63 letters, digits and '-_.' at most"
                reader.fault(fault, option, name)
    for number, one in enumerate(written.topology_spread):
        if not _KEY.fullmatch(one.key):
            reader.fault(_no_key(one.key), "topology_spread", number, "key")


def _no_key(name: str) -> str:
    return f"{shown(name)} is no key of a label; write NAME or PREFIX/NAME"
