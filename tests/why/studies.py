"""Studies of programs whose difference has a known cause, in a lab of two nodes with one rank each."""

from __future__ import annotations

_SITE = """\
site: truths
lab:
  nodes: 2
  networks:
    near: {kind: bridge, delay: 1 us}      # through the same switch as far
    slow: {kind: bridge, rate: 20 Mbit/s}
    far: {kind: bridge, delay: 20 ms}
@STORAGE@slots_per_node: 1
platforms:
  debian: {launcher: openmpi4, prefix: /usr, env: {OMPI_MCA_orte_leave_session_attached: "1"}}
  late:
    launcher: openmpi4
    prefix: /usr
    env: {OMPI_MCA_orte_leave_session_attached: "1", TRUTH_SLOW_MS: "100"}
  packets:
    launcher: openmpi4
    prefix: /usr
    env: {OMPI_MCA_orte_leave_session_attached: "1", TRUTH_PACKETS: "1"}
"""
_STORAGE = """\
  storage:
    direct: {rate: 800 Mbit/s}
    gateway: {rate: 80 Mbit/s}
"""
_STUDY = """\
study: {name}
site: {site}
profile: true
nodes: 2
ranks_per_node: 1
repeats: 4
timeout: 60 s
telemetry: {{period: 1 s}}
{settings}
workloads:
  c:
    command: [{folder}/truths-c, "{{what}}", "{{times}}"]
    parameters: {{what: "", times: 1}}
    foms: [{{name: time, unit: s, better: lower, regex: 'took (\\S+) s'}}]
    mpi: true
  fortran:
    command: [{folder}/truths-fortran, "{{what}}", "{{times}}"]
    parameters: {{what: "", times: 1}}
    foms: [{{name: time, unit: s, better: lower, regex: 'took (\\S+) s'}}]
    mpi: true
  files:
    command: [{folder}/truths-c, writes, "{{times}}", "{{storage}}"]
    parameters: {{times: 1}}
    foms: [{{name: time, unit: s, better: lower, regex: 'took (\\S+) s'}}]
    mpi: true
    needs_transport: false
factors:
{factors}
"""

NETWORKS = (
    "reference: {network: near}\nplatform: debian",
    """\
  network: [near, slow, far]
  workload:
    - c: {what: allreduces, times: 50}
    - fortran: {what: allreduces, times: 50}
    - c: {what: sends, times: 2}
    - fortran: {what: sends, times: 2}
    - c: {what: hidden, times: 25}
    - c: {what: exposed, times: 25}
exclude:
  - what == 'sends' and network == 'far'
  - what != 'sends' and network == 'slow'
""",
)
PLATFORMS = (
    "reference: {platform: debian}\nnetwork: near",
    """\
  platform: [debian, late, packets]
  workload:
    - c: {what: steps, times: 10}
    - c: {what: work, times: 40}
exclude:
  - what == 'steps' and platform == 'packets'
  - what == 'work' and platform == 'late'
""",
)
PATHS = (
    "reference: {storage: direct}\nnetwork: near\nplatform: debian",
    """\
  storage: [direct, gateway]
  workload:
    - files: {times: 5}
""",
)


def study(name: str, site: str, folder: str, parts: tuple[str, str]) -> str:
    """Return the text of a study of `parts`: its settings and its factors."""
    settings, factors = parts
    return _STUDY.format(name=name, site=site, folder=folder, settings=settings, factors=factors)


def site(*, has_storage: bool = False) -> str:
    """Return the text of the site; its storage paths need sshfs."""
    return _SITE.replace("@STORAGE@", _STORAGE if has_storage else "")
