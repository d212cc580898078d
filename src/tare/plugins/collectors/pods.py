"""Pods of a kubelet that have processes on a node, beside which ranks run over ssh.

A kubelet names a pod's control group by its uid: ``kubepods-pod<uid>.slice``, with underscores, under
systemd, ``kubepods/pod<uid>`` under cgroupfs. Whose pods they are only the cluster knows.
"""

from __future__ import annotations

from tare.core.units import whole_number
from tare.plugins.collectors.source import Answers, Facts, Source

UID = r"pod[0-9a-f]\{8\}\([-_][0-9a-f]\{4\}\)\{3\}[-_][0-9a-f]\{12\}"
"""A pod's part in the path of a control group, as a basic regular expression."""
_NAME = "pods"
_COUNT = f"cat /proc/[0-9]*/cgroup 2>/dev/null | grep -o '{UID}' | tr _ - | sort -u | wc -l"


def _read(answers: Answers) -> Facts:
    count = whole_number(answers.get(_NAME, "").strip())
    return {"kubernetes.pods_beside": str(count)} if count else {}


SOURCE = Source(
    "pods",
    # In a pod others are not to be seen, and its own is no neighbour.
    f'[ -n "$KUBERNETES_SERVICE_HOST" ] || told {_NAME} sh -c "{_COUNT}"',
    _read,
    order=80,
)
