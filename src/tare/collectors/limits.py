"""What a process may use: its limits (getrlimit(2)) and its control group's (cgroups(7))."""

from __future__ import annotations

import re

from tare.collectors.source import Answers, Facts, Source, whole

_LIMITS = {
    "Max locked memory": "limit.locked_memory",
    "Max stack size": "limit.stack",
    "Max open files": "limit.open_files",
}
_CGROUP = ("cpu.max", "memory.max", "memory.high", "cpuset.cpus.effective", "cpuset.mems.effective")


def _read(answers: Answers) -> Facts:
    facts = {}
    for line in answers.get("/proc/self/limits", "").splitlines():
        columns = re.split(r"\s{2,}", line.strip())
        if columns[0] in _LIMITS:
            facts[_LIMITS[columns[0]]] = columns[1]  # the soft limit, which is the one that holds
    facts |= {f"cgroup.{name}": whole(answers[name]) for name in _CGROUP if name in answers}
    return facts


SOURCE = Source(
    "limits",
    f"""
files /proc/self/limits
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
for name in {" ".join(_CGROUP)}; do
  [ -r "/sys/fs/cgroup$own/$name" ] && {{ record "$name"; cat "/sys/fs/cgroup$own/$name"; }}
done
""",
    _read,
)
