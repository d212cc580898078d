"""The names of a task's objects, and the labels by which they are found."""

from __future__ import annotations

import re

from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.options import KubernetesOptions

CAMPAIGN, CASE, RUN, TASK, ROLE = "tare/campaign", "tare/case", "tare/run", "tare/task", "tare/role"
FOLDER, HOST, SESSION, FILES = "tare/folder", "tare/host", "tare/session", "tare/files"
NODE = "tare/node"
"""The annotation of a Lease with the name of its node."""
KEPT = "tare/kept"
MANAGED_BY = {"app.kubernetes.io/managed-by": "tare"}
QUEUE = "kueue.x-k8s.io/queue-name"
"""The label that names a job's queue (Kueue, LocalQueue)."""
OPERATOR_ROLE = "training.kubeflow.org/job-role"
LAUNCHER, WORKER, SERVER, CLIENT = "launcher", "worker", "server", "client"
TRIAL = "trial"
"""The container of a pod that tries an image out."""
CONTAINERS = frozenset({LAUNCHER, WORKER, SERVER, CLIENT, TRIAL})
"""The names of Tare's own containers. A cluster may add others to a pod, as service meshes do."""
INTERFACE_PORT = "ssh"

_MOST = 63 - len("-worker-9999")  # the name of a pod is also its host name, a DNS label (RFC 1123)


def object_name(task: Task) -> str:
    """Return the name of a task's objects: a DNS label, short enough for the operator's suffix.

    Raises ValueError when it is too long; no name that Tare makes is.
    """
    name = re.sub(r"[^a-z0-9-]", "-", task.name.lower())
    if len(name) > _MOST:
        raise ValueError(f"{name} is longer than {_MOST} characters")
    return name


def origin(task: Task) -> dict[str, str]:
    """Return the annotations with an object's creator (see ownership).

    They are the campaign's folder and host, the numbers of the folder's files, and the session.
    """
    keys = {FOLDER: "folder", HOST: "host", SESSION: "session", FILES: "files"}
    known = ((annotation, task.labels.get(name)) for annotation, name in keys.items())
    return {annotation: value for annotation, value in known if value}


def queue(options: KubernetesOptions) -> dict[str, str]:
    """Return the label by which Kueue holds a job back until its queue has quota for it."""
    return {QUEUE: options.queue} if options.queue else {}


def labels(task: Task) -> dict[str, str]:
    """Return the labels of all objects of a task."""
    keys = {CAMPAIGN: "campaign", CASE: "case", RUN: "run"}
    known = {label: task.labels[name] for label, name in keys.items() if name in task.labels}
    return MANAGED_BY | known | {TASK: object_name(task)}
