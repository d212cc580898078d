"""A study whose jobs a batch system would not admit is refused when it is planned, at the line to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.app import planning
from tare.config import load_site
from tare.core.errors import FileFaults
from tare.core.site import Site
from tare.plan import profiled_plan
from tare.plan.job_limits import job_faults

SITE = """\
site: venus
nodes: ["n[1-8]"]
platforms:
  bare: {launcher: none}
  queued: {backend: slurm, launcher: none, slurm: {SLURM}}
"""
STUDY = """\
study: s
site: site.yaml
workloads:
  echo:
    command: [sh, -c, "echo {size} {nodes} value: 1"]
    parameters: {size: 1}
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
workload: echo
factors:
  platform: [bare, queued]
  nodes: [1, 2, 4]
  size: [1, 2, 3]
REST
"""


def site_of(folder: Path, slurm: str) -> Site:
    (folder / "site.yaml").write_text(SITE.replace("{SLURM}", slurm))
    return load_site(str(folder / "site.yaml"))


def faults(folder: Path, slurm: str, rest: str = "") -> list[str]:
    """Return the faults of the study at a site with these options of Slurm."""
    (folder / "site.yaml").write_text(SITE.replace("{SLURM}", slurm))
    (folder / "study.yaml").write_text(STUDY.replace("REST", rest))
    try:
        planning.load(folder / "study.yaml")
    except FileFaults as error:
        return [str(one).removeprefix(f"{folder}/") for one in error.faults]
    return []


def test_a_case_on_more_nodes_than_a_job_may_have_is_refused_at_its_nodes(tmp_path: Path) -> None:
    assert faults(tmp_path, "{max_nodes: 2}") == [
        "study.yaml:11:17: factors.nodes[2]: echo on 4 nodes, and a job of platform queued at site venus "
        "has 2 at most (max_nodes); use 2 or fewer, or leave these cases out: "
        "'exclude: {platform: queued, nodes: 4}'"
    ]


def test_its_cure_is_one(tmp_path: Path) -> None:
    assert faults(tmp_path, "{max_nodes: 2}", "exclude: {platform: queued, nodes: 4}") == []
    assert faults(tmp_path, "{max_nodes: 4, min_nodes: 2, max_minutes: 11}") == [], (
        "jobs have two nodes or more"
    )


def test_a_job_that_would_be_longer_than_the_queue_takes_is_refused_at_its_time_out(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "{max_minutes: 5}", "timeout: 10 min")
    assert fault == (
        "study.yaml:13:10: timeout: with time-outs of 600 s, a job on platform queued has a time limit of 11 "
        "min, and site venus takes 5 at most (max_minutes); write 'timeout: 240 s' or less"
    )
    assert faults(tmp_path, "{max_minutes: 5}", "timeout: 240 s") == []
    (fault,) = faults(tmp_path, "{max_minutes: 5}")
    assert fault.startswith("study.yaml:2:7: site: with time-outs of 600 s"), "the default time-out"


def test_a_packed_block_is_one_job_whose_time_limit_counts(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "{mode: packed, max_minutes: 60}", "timeout: 10 min")
    assert "a job of the 9 runs of a block on platform queued has a time limit of 99 min" in fault
    assert fault.endswith("write 'timeout: 340 s' or less, or 'mode: job' in the site")
    assert faults(tmp_path, "{mode: packed, max_minutes: 60}", "timeout: 340 s") == []
    assert "use fewer cases" in faults(tmp_path, "{mode: packed, max_minutes: 8}")[0]


def test_profiled_runs_that_only_an_option_asks_for_count_in_the_time_limit_of_a_packed_block(
    tmp_path: Path,
) -> None:
    site = SITE.replace("launcher: none", "launcher: openmpi5")
    (tmp_path / "site.yaml").write_text(site.replace("{SLURM}", "{mode: packed, max_minutes: 60}"))
    mpi = STUDY.replace("    foms:", "    mpi: true\n    foms:")
    (tmp_path / "study.yaml").write_text(mpi.replace("REST", "timeout: 340 s"))
    loaded = planning.load(tmp_path / "study.yaml")
    with pytest.raises(FileFaults, match="a job of the 18 runs of a block on platform queued has a time"):
        loaded.with_profile()
    begun = profiled_plan(loaded.plan, loaded.composer.workloads)
    assert loaded.with_profile(begun.profiled).plan == begun, "a campaign that has them goes on"


@pytest.mark.parametrize(("line", "is_set"), [("--time=5", True), ("-t 5", True), ("--time-min=1", False)])
def test_a_time_limit_that_the_site_itself_sets_is_its_own_matter(
    tmp_path: Path, line: str, is_set: bool
) -> None:
    assert (faults(tmp_path, f'{{max_minutes: 5, lines: ["{line}"]}}') == []) is is_set


def test_a_campaign_that_was_begun_goes_on_and_only_what_is_new_in_it_is_checked(tmp_path: Path) -> None:
    assert faults(tmp_path, "{max_nodes: 4}") == []
    loaded = planning.load(tmp_path / "study.yaml")
    (tmp_path / "site.yaml").write_text(SITE.replace("{SLURM}", "{max_nodes: 2}"))
    with pytest.raises(FileFaults):
        planning.load(tmp_path / "study.yaml")
    begun = {case.id for case in loaded.plan.cases}
    study, plan, site = loaded.study, loaded.plan, site_of(tmp_path, "{max_nodes: 2}")
    assert job_faults(plan, study, site, begun) == []
    assert len(job_faults(plan, study, site, begun - {plan.cases[-1].id})) == 1


def test_limits_that_contradict_each_other_are_a_fault_of_the_site(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "{min_nodes: 4, max_nodes: 2}")
    assert fault.startswith(
        "site.yaml:5:63: platforms.queued.slurm.min_nodes: jobs of 4 nodes or more, and of 2 or"
    )
