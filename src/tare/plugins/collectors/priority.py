"""CPU affinity and scheduling priority of a program: affinity, nice, autogroups (sched(7)).

``priority.may_boost`` is whether the user may give a session priority over all others. The script tries it.
"""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, one_line

_ENABLED = "/proc/sys/kernel/sched_autogroup_enabled"


def _read(records: Records) -> Facts:
    facts: Facts = {}
    for line in records.get("/proc/self/status", "").splitlines():
        key, _, value = line.partition(":")
        if key == "Cpus_allowed_list":
            facts["affinity.cpus"] = value.strip()
    if _ENABLED in records:
        facts["priority.autogroups"] = "on" if one_line(records[_ENABLED]) == "1" else "off"
    if "nice" in records:
        facts["priority.nice"] = one_line(records["nice"])
    if "may boost" in records:
        facts["priority.may_boost"] = one_line(records["may boost"])
    return facts


SOURCE = Source(
    "priority",
    f"""
files {_ENABLED} /proc/self/status
capture nice nice
command -v setsid >/dev/null && [ -e /proc/self/autogroup ] && {{
  record 'may boost'
  boosted=$(setsid sh -c '{{ echo -20 >/proc/self/autogroup; }} 2>/dev/null && echo yes')
  echo "${{boosted:-no}}"
}}
""",
    _read,
    order=60,
)
