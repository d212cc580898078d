"""Environment variables of jobs, and loaded modules, never secrets (see `secrets`).

The filter runs on the node in awk, whose ENVIRON also holds values of several lines. Values that may be
recorded pass through ``hide`` there. Without awk, nothing is recorded.
"""

from __future__ import annotations

from tare.plugins.collectors.secrets import ALLOWED, DENIED, VOLATILE, is_recordable
from tare.plugins.collectors.source import Facts, Records, Source, one_line

_AWK = f"""
BEGIN {{
  job = ENVIRON["SLURM_JOB_ID"]  # in paths, as in TMPDIR=/scratch/<id>, no fact: each job has its own
  for (name in ENVIRON) {{
    if (name ~ /{VOLATILE}/ || name !~ /^[A-Za-z_][A-Za-z0-9_]*$/) continue
    if (name !~ /{ALLOWED}/ || toupper(name) ~ /{DENIED}/) {{ print name; continue }}
    value = ENVIRON[name]
    gsub(/[\\001-\\037]/, " ", value)
    while (length(job) > 3 && index(value, "/") && match(value " ", "[^0-9]" job "[^0-9]"))
      value = substr(value, 1, RSTART) "JOB" substr(value, RSTART + RLENGTH - 1)
    print name "=" value
  }}
}}
"""
_NOT_THE_NODES = frozenset({"_", "PWD", "OLDPWD", "SHLVL", "TARE_LABEL", "TARE_LAB_DIR"})


def _read(records: Records) -> Facts:
    facts, hidden = {}, []
    for line in records.get("variables", "").splitlines():
        name, is_assigned, value = line.partition("=")
        if not is_assigned or not is_recordable(name):
            hidden += [name] if name not in _NOT_THE_NODES else []
        elif name == "LOADEDMODULES":
            facts["modules"] = " ".join(part for part in value.split(":") if part)
        else:
            facts[f"variable.{name}"] = one_line(value) or "(empty)"
    if hidden:
        facts["variables.not_recorded"] = " ".join(sorted(hidden))
    return facts


SOURCE = Source("variables", f"record variables\nawk '{_AWK}' | hide", _read, order=90)
