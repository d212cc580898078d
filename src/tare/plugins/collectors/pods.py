"""Count a kubelet's pods with processes on a node on which ranks run over ssh.

A kubelet names a pod's control group by its uid: ``kubepods-pod<uid>.slice``, with underscores, under
systemd, and ``kubepods/pod<uid>`` under cgroupfs. Only the cluster knows who owns the pods.
"""

from __future__ import annotations

from tare.core.units import whole_number
from tare.plugins.collectors.source import Facts, Records, Source

UID = r"pod[0-9a-f]\{8\}\([-_][0-9a-f]\{4\}\)\{3\}[-_][0-9a-f]\{12\}"
"""A pod's part in the path of a control group, as a basic regular expression."""
_NAME = "pods"
_COUNT = f"cat /proc/[0-9]*/cgroup 2>/dev/null | grep -o '{UID}' | tr _ - | sort -u | wc -l"


def _read(records: Records) -> Facts:
    count = whole_number(records.get(_NAME, "").strip())
    return {"kubernetes.pods_beside": str(count)} if count else {}


SOURCE = Source(
    "pods",
    # Inside a pod, other pods are invisible, and its own does not count.
    f'[ -n "$KUBERNETES_SERVICE_HOST" ] || capture {_NAME} sh -c "{_COUNT}"',
    _read,
    order=80,
)
