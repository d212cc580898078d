from __future__ import annotations

from pathlib import Path

from tare.app.planning import load
from tare.app.provenance import subject_of

SITE = """\
site: containers
nodes: [n1]
agent: [ssh]
networks: {host: {interface: eth0}}
platforms:
  bare: &bare {launcher: openmpi4, prefix: /opt/mpi}
  rank: {<<: *bare, runtime: podman, container: {image: app}}
  node: {<<: *bare, runtime: podman, container: {image: app, shape: node}}
"""
STUDY = """\
study: subjects
site: site.yaml
workloads:
  app: {command: [app], mpi: true, foms: [{name: t, unit: s, better: lower, regex: 't: (\\S+)'}]}
factors: {platform: [bare, rank, node], workload: [app]}
network: host
nodes: 1
ranks_per_node: 1
repeats: 1
"""


def test_a_host_is_asked_for_the_mpi_that_it_starts_containers_with_but_not_for_what_they_hold(
    tmp_path: Path,
) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    (tmp_path / "study.yaml").write_text(STUDY)
    loaded = load(tmp_path / "study.yaml")
    asked = {name: subject_of(loaded, name) for name in ("bare", "rank", "node")}
    assert {name: one.programs for name, one in asked.items()} == {"bare": ("app",), "rank": (), "node": ()}
    starter = "/opt/mpi/bin/mpirun"
    assert {name: one.starter for name, one in asked.items()} == {
        "bare": starter,
        "rank": starter,
        "node": "",
    }
    assert asked["rank"].prefix == "/opt/mpi"
