"""The limits of a process (getrlimit(2)) and of its control groups (cgroups(7)), version 1 and 2.

A control group is bound by the limits of the groups above it, too. Batch systems and containers often set
limits there.
"""

from __future__ import annotations

import re

from tare.plugins.collectors.source import Facts, Records, Source, one_line

_LIMITS = {
    "Max locked memory": "limit.locked_memory",
    "Max stack size": "limit.stack",
    "Max open files": "limit.open_files",
}
_CGROUP = ("cpu.max", "memory.max", "memory.high", "cpuset.cpus.effective", "cpuset.mems.effective")
_V1_UNLIMITED = 2**62  # bytes; the kernel has the last page of a signed long (cgroup-v1/memory.txt)


def _read(records: Records) -> Facts:
    facts = {}
    for line in records.get("/proc/self/limits", "").splitlines():
        columns = re.split(r"\s{2,}", line.strip())
        if columns[0] in _LIMITS:
            facts[_LIMITS[columns[0]]] = columns[1]  # the soft limit, which is the effective one
    for name in _CGROUP:
        upwards = [one_line(text) for record, text in records.items() if record.partition(" ")[0] == name]
        if upwards and name.startswith("cpuset."):
            facts[f"cgroup.{name}"] = upwards[0]
        elif upwards:  # the smallest limit is the effective one
            facts[f"cgroup.{name}"] = min(map(_as_version_2, upwards), key=_size)
    return facts


def _as_version_2(limit: str) -> str:
    """Return a limit in the form of version 2: ``200000 100000``, ``1073741824`` or ``max``."""
    words = limit.split()
    if words and re.fullmatch(r"-?\d+", words[0]) and not 0 <= int(words[0]) < _V1_UNLIMITED:
        words[0] = "max"
    return " ".join(words)


def _size(limit: str) -> float:
    share, *period = limit.split() or ["max"]
    return float("inf") if share == "max" else float(share) / float(period[0] if period else 1)


SOURCE = Source(
    "limits",
    f"""
files /proc/self/limits
upwards() {{ # upwards TOP GROUP NAME FILE…: record what a control group's files hold, and of those above it
  top=$1 group=${{2%/}} name=$3
  shift 3
  while :; do
    [ -r "$top$group/$1" ] && {{ record "$name $group"; (cd "$top$group" && cat "$@"); }}
    [ -n "$group" ] || return
    group=${{group%/*}}
  done
}}
while IFS=: read -r _ controllers own; do
  case $controllers in
    "") for file in {" ".join(_CGROUP)}; do upwards /sys/fs/cgroup "$own" "$file" "$file"; done ;;
    cpu | cpu,* | *,cpu) upwards /sys/fs/cgroup/cpu "$own" cpu.max cpu.cfs_quota_us cpu.cfs_period_us ;;
    memory) upwards /sys/fs/cgroup/memory "$own" memory.max memory.limit_in_bytes ;;
    cpuset)
      upwards /sys/fs/cgroup/cpuset "$own" cpuset.cpus.effective cpuset.effective_cpus
      upwards /sys/fs/cgroup/cpuset "$own" cpuset.mems.effective cpuset.effective_mems
      ;;
  esac
done </proc/self/cgroup
""",
    _read,
    order=50,
)
