"""Ask whether the namespace of runs is gone, or is being deleted."""

from __future__ import annotations

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.api.cluster import CONFIG_MAPS, Cluster, Refusal
from tare.plugins.backends.kubernetes.objects.merging import Json

_NOT_FOUND = 404


def namespace_end(cluster: Cluster) -> str:
    """Return why nothing can be created in the cluster's namespace any more; empty if something can.

    A dry run shows that: few users may read namespaces. The rights in a namespace vanish with it.
    """
    meta: Json = {"name": "tare-trial", "namespace": cluster.namespace}
    try:
        cluster.try_out({"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": meta})
    except Refusal as refusal:
        text = str(refusal)
        if refusal.status == _NOT_FOUND or "being terminated" in text:
            return text
        if refusal.is_missing_right:
            return f"{text}; was namespace {cluster.namespace}, or a RoleBinding in it, deleted?"
    except BackendError:
        return ""
    return ""
