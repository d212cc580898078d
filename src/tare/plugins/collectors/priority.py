"""CPU affinity and scheduling priority of a program: affinity, nice, autogroups (sched(7)).

``priority.may_boost`` is whether the user may give a session priority over all others. The script tries it.
"""

from __future__ import annotations

from tare.plugins.collectors.source import Answers, Facts, Source, whole

_ENABLED = "/proc/sys/kernel/sched_autogroup_enabled"


def _read(answers: Answers) -> Facts:
    facts: Facts = {}
    for line in answers.get("/proc/self/status", "").splitlines():
        key, _, value = line.partition(":")
        if key == "Cpus_allowed_list":
            facts["affinity.cpus"] = value.strip()
    if _ENABLED in answers:
        facts["priority.autogroups"] = "on" if whole(answers[_ENABLED]) == "1" else "off"
    if "nice" in answers:
        facts["priority.nice"] = whole(answers["nice"])
    if "may boost" in answers:
        facts["priority.may_boost"] = whole(answers["may boost"])
    return facts


SOURCE = Source(
    "priority",
    f"""
files {_ENABLED} /proc/self/status
told nice nice
command -v setsid >/dev/null && [ -e /proc/self/autogroup ] && {{
  record 'may boost'
  said=$(setsid sh -c '{{ echo -20 >/proc/self/autogroup; }} 2>/dev/null && echo yes')
  echo "${{said:-no}}"
}}
""",
    _read,
    order=60,
)
