"""Find out whose control group refused a process or thread because its limit was reached.

A kubelet's podPidsLimit holds for a pod (OpenShift's is 4096), CRI-O's pids_limit for a container (1024
before 1.24). fork(2) fails with EAGAIN then, which most programs print as "Resource temporarily unavailable".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tare.core.safe_folder import SafeFolder
from tare.core.scheduler import NodeFiles
from tare.core.units import whole_number

_PLACES = ("/sys/fs/cgroup", "/sys/fs/cgroup/pids")
"""Where pids.events and pids.max are (Linux, cgroup-v2.rst and cgroup-v1/pids.rst)."""


_MOST_BYTES, _MOST_LINE = 64 << 10, 200
_REFUSED = re.compile(r"fork|clone|spawn|[Tt]hread")
_EAGAIN = "Resource temporarily unavailable"


def said_refused(folder: Path, output: str) -> str:
    """Return the first line of `output` in `folder` about a refused process; empty if there is none.

    The reason may be a limit of the pod, whose counter containers cannot read (cgroup-v2.rst), or another
    limit.
    """
    try:
        with SafeFolder(folder, output).reader() as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
    for line in text.splitlines():
        short = "".join(one if one.isprintable() else "?" for one in line.strip()[:_MOST_LINE])
        if "Cannot fork" in short or (_EAGAIN in short and _REFUSED.search(short)):
            return f"{short} (perhaps a limit of processes: podPidsLimit of the kubelet, or the user's)"
    return ""


def why_refused(before: NodeFiles, after: NodeFiles) -> str:
    """Return a message about a pod that reached its limit of processes; empty if none is known to have.

    `before` and `after` are the files of its pods by node. A container may not be able to read the counter of
    its pod.
    """
    for node in sorted(after):
        refused = _refusals(after[node]) - _refusals(before.get(node, {}))
        if refused > 0:
            return _sentence(node, refused, _limit(after[node]))
    return ""


def _sentence(node: str, refused: int, limit: int | None) -> str:
    times = "once" if refused == 1 else f"{refused} times"
    most = (
        f"the container may have {limit}"
        if limit is not None
        else "the limit is the pod's, not the container's"
    )
    return (
        f"the kernel refused processes or threads to the pod on {node} {times}: {most} (pids.max of its "
        "control group; cure: raise podPidsLimit of the kubelet or pids_limit of CRI-O, or start fewer)"
    )


def _refusals(files: Mapping[str, str]) -> int:
    for place in _PLACES:
        for line in files.get(f"{place}/pids.events", "").splitlines():
            key, _, value = line.partition(" ")
            if key == "max":
                return whole_number(value) or 0
    return 0


def _limit(files: Mapping[str, str]) -> int | None:
    found = (whole_number(files.get(f"{place}/pids.max", "").strip()) for place in _PLACES)
    return next((one for one in found if one is not None), None)
