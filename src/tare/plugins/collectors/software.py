"""The software that a case has loaded: its modules, its Spack packages with their hashes, and its fault."""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, one_line
from tare.probes.software import read_fault

_HEADERS = ("Currently Loaded", "No modules loaded", "No Modulefiles", "None found", "==>", "--")


def _read(records: Records) -> Facts:
    facts = {
        f"software.{name}": ", ".join(_lines(records.get(f"software.{name}", "")))
        for name in ("modules", "spack")
    }
    facts["software.programs"] = ", ".join(_lines(records.get("software.programs", "")))
    if fault := records.get("software.fault", ""):
        facts["software.fault"] = read_fault(fault).describe()
    return facts


def _lines(text: str) -> list[str]:
    lines = (one_line(line) for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(_HEADERS)]


SOURCE = Source(
    "software",
    """
if [ -n "$TARE_SOFTWARE" ]; then
  [ -z "$LOADEDMODULES" ] || { record software.modules; module -t list 2>&1 </dev/null; }
  [ -z "$SPACK_ROOT" ] || capture software.spack "$SPACK_ROOT/bin/spack" find --loaded --long
  [ -z "$tare_fault_text" ] || { record software.fault; printf '%s\n' "$tare_fault_text"; }
  record software.programs
  for name in mpirun mpiexec cc gcc; do command -v "$name"; done
fi
""",
    _read,
    order=110,
)
