"""The jobs that `tare doctor --site` shows to an API server: each kind that campaigns would create there."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tare.app.platform_checks import plan_tasks
from tare.config.site_file import SiteSource, read_site
from tare.core.backend_plugin import CheckContext
from tare.plugins.backends.kubernetes.manifests.showing import small_jobs

SITE = """\
site: cluster
nodes: [{nodes}]
networks: {{{networks}}}
platforms:
  pods:
    backend: kubernetes
    launcher: {launcher}
    kubernetes: {{image: "quay.io/me/mpi:1"}}
"""
POD_NETWORK, FAST = "pod-network: {interface: eth0}", "fast: {interface: net1, pod: {attachment: hsn}}"


def kinds_of(folder: Path, nodes: str, launcher: str, *networks: str) -> dict[str, list[str]]:
    """Return the kinds of objects of each small job."""
    text = SITE.format(nodes=nodes, launcher=launcher, networks=", ".join(networks))
    (folder / "site.yaml").write_text(text)
    source: SiteSource = read_site(str(folder / "site.yaml"))
    plan = partial(plan_tasks, source)
    context = CheckContext(site=source.site, name="pods", env={}, folder=folder, plan=plan)
    jobs = small_jobs(context)
    return {
        name: sorted({str(one["kind"]) for one in objects if isinstance(one, dict)})
        for name, objects in jobs.items()
    }


def test_a_platform_with_mpi_shows_each_kind_of_job_on_each_network(tmp_path: Path) -> None:
    found = kinds_of(tmp_path, "w1, w2", "openmpi4", POD_NETWORK, FAST)
    kinds = ("a job", "a job of one node", "a server and a client")
    assert {*found} == {f"{kind} on {network}" for kind in kinds for network in ("pod-network", "fast")}
    assert "MPIJob" in found["a job on fast"]


@pytest.mark.parametrize(("nodes", "launcher"), [("w1", "openmpi4"), ("w1, w2", "none"), ("w1", "none")])
def test_what_a_platform_cannot_run_is_not_shown(tmp_path: Path, nodes: str, launcher: str) -> None:
    found = kinds_of(tmp_path, nodes, launcher)
    assert {*found} == {"a job of one node on the pod network", "a server and a client on the pod network"}
