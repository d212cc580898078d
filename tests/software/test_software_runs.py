"""Campaigns with real module systems: over ssh to hosts that print banners, and in jobs of a lab's Slurm."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backends.real_ssh import sshd
from cli.batch.batch_systems import SLURM, Administrator
from cli.conftest import call_tare
from support.modules import environment_modules, lmod, write_module
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.lab import Lab, slurm
from tare.lab.mpi import is_installed, mpi_folder
from tare.storage.campaign import read_campaign

needs_mpis = pytest.mark.skipif(
    not all(is_installed(name, mpi_folder()) for name in ("openmpi", "mpich")),
    reason="no two MPIs here; run: tare lab setup",
)
SITE = """\
site: hosts
nodes: [n1, n2]
agent: {agent}
attest: false
setup: ['. {init}', module use {tree}/core]
platforms:
  plain: {{}}
  openmpi: {{launcher: openmpi5}}
  mpich: {{launcher: mpich}}
"""
STUDY = """\
study: software
site: site.yaml
workloads:
  app:
    command: [sh, -c, '{script}']
    foms: [{{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}]
    mpi: {mpi}
    needs_transport: false
workload: app
{more}
repeats: 1
retries: 0
timeout: 60 s
"""


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    with sshd(tmp_path_factory.mktemp("sshd")) as agent:
        yield agent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "modules"
    for version in ("12", "13"):
        write_module(
            tree / "core",
            f"gcc/{version}",
            f"setenv COMPILER gcc-{version}\nprepend-path MODULEPATH {tree}/gcc{version}\n"
            'puts stderr "a banner of a module"',
        )
        for name in ("openmpi", "mpich"):
            prefix = mpi_folder() / name
            body = f"prepend-path PATH {prefix}/bin\nprepend-path LD_LIBRARY_PATH {prefix}/lib\n"
            write_module(tree / f"gcc{version}", f"{name}/1", f"{body}setenv MPI_HOME {prefix}")
    return tree


def run(
    folder: Path, site: str, script: str, more: str, *options: str, mpi: bool = False
) -> tuple[int, str, Campaign | None]:
    (folder / "site.yaml").write_text(site)
    mpi_text = "true" if mpi else "false"
    (folder / "study.yaml").write_text(STUDY.format(script=script, more=more, mpi=mpi_text))
    done = call_tare("run", folder / "study.yaml", "--out", folder / "c", "--no-boost", *options)
    is_begun = (folder / "c/journal").exists() or (folder / "c/plan.json").exists()
    campaign = read_campaign(folder / "c") if is_begun else None
    return done.returncode, done.stdout + done.stderr, campaign


@pytest.mark.parametrize("system", [lmod, environment_modules])
def test_compilers_are_levels_over_ssh(
    system: Callable[[], Path], agent: tuple[str, ...], tree: Path, tmp_path: Path
) -> None:
    site = SITE.format(agent=json.dumps(agent), init=system(), tree=tree)
    more = "platform: plain\nfactors: {modules: [gcc/12, gcc/13]}"
    code, said, campaign = run(tmp_path, site, "echo value: ${{COMPILER#gcc-}}", more)
    assert code == 0, said
    assert campaign is not None
    found = {}
    for attempt in campaign.attempts:
        folder = tmp_path / "c" / attempt.folder
        case = next(one for one in campaign.plan.cases if one.id == attempt.case)
        facts = campaign.environments[attempt.environment or ""]["n1"]
        assert facts["software.modules"] == case.settings["modules"]
        assert "a banner of a module" in (folder / "software/run.log").read_text()
        assert (folder / "stderr").read_text() == ""
        found[case.settings["modules"]] = (folder / "stdout").read_text()
    assert found == {"gcc/12": "value: 12\n", "gcc/13": "value: 13\n"}


def test_a_missing_module_stops_the_campaign_before_its_first_run(
    agent: tuple[str, ...], tree: Path, tmp_path: Path
) -> None:
    site = SITE.format(agent=json.dumps(agent), init=lmod(), tree=tree)
    code, said, _ = run(tmp_path, site, "echo value: 1", "platform: plain\nmodules: gcc/99")
    assert code != 0
    assert "module load gcc/99 failed: The following module(s) are unknown" in said
    assert "on n1; correct modules, spack or setup" in said


def test_a_module_that_fails_is_a_fault_of_the_infrastructure(
    agent: tuple[str, ...], tree: Path, tmp_path: Path
) -> None:
    site = SITE.format(agent=json.dumps(agent), init=environment_modules(), tree=tree)
    more = "platform: plain\nmodules: [gcc/13, openmpi/9]"
    _, said, campaign = run(tmp_path, site, "echo value: 1", more, "--no-rehearsal")
    assert campaign is not None, said
    (attempt,) = campaign.attempts
    assert (attempt.state, attempt.is_infrastructure, attempt.check) == (State.FAILED, True, "software")
    assert attempt.reason.startswith("module load openmpi/9 failed on ")
    assert attempt.reason.endswith("Unable to locate a modulefile for 'openmpi/9'")


@needs_mpis
def test_two_mpis_of_modules_are_levels_on_two_nodes(
    agent: tuple[str, ...], tree: Path, tmp_path: Path
) -> None:
    site = SITE.format(agent=json.dumps(agent), init=lmod(), tree=tree)
    more = (
        "nodes: 2\nranks_per_node: 1\nmodules: gcc/13\nfactors:\n  mpi:\n"
        "    - {name: Open MPI, platform: openmpi, modules: openmpi/1}\n"
        "    - {name: MPICH, platform: mpich, modules: mpich/1}"
    )
    is_second = "[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 1 ]"
    script = f"echo $MPI_HOME $COMPILER; {is_second} || echo value: 1"
    code, said, campaign = run(tmp_path, site, script, more, mpi=True)
    assert code == 0, said
    assert campaign is not None
    for attempt in campaign.attempts:
        case = next(one for one in campaign.plan.cases if one.id == attempt.case)
        lines = (tmp_path / "c" / attempt.folder / "stdout").read_text().splitlines()
        assert lines.count(f"{mpi_folder()}/{case.platform} gcc-13") == 2, lines
        facts = campaign.environments[attempt.environment or ""]["n1"]
        assert facts["software.modules"] == f"gcc/13, {case.platform}/1"
        assert ("Open MPI" in facts["mpi.version"]) is (case.platform == "openmpi"), facts["mpi.version"]


@pytest.fixture(scope="module")
def shared_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with SLURM.lab(tmp_path_factory.mktemp("slurm")) as lab:
        yield lab


@pytest.fixture
def controller(shared_lab: Lab, tmp_path: Path) -> Iterator[Administrator]:
    with SLURM.administered(shared_lab, tmp_path) as administrator:
        yield administrator


@pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root")
@pytest.mark.skipif(bool(slurm.missing()), reason=f"no Slurm here; {slurm.CURE}")
@pytest.mark.parametrize("system", [lmod, environment_modules])
def test_jobs_of_slurm_load_modules(
    system: Callable[[], Path], controller: Administrator, tree: Path, tmp_path: Path
) -> None:
    setup = f"setup: ['. {system()}', module use {tree}/core]\n"
    more = "platform: packed\nnodes: 2\nranks_per_node: 1\nfactors: {modules: [gcc/13, [gcc/12, gcc/99]]}"
    script = '[ "$SLURM_PROCID" = 1 ] || echo value: ${{COMPILER#gcc-}}'
    site = SLURM.site.replace("site: queue\n", f"site: queue\n{setup}")
    _, said, campaign = run(tmp_path, site, script, more, mpi=True)
    assert campaign is not None, said
    found = {}
    for attempt in campaign.attempts:
        case = next(one for one in campaign.plan.cases if one.id == attempt.case)
        found[case.settings["modules"]] = attempt
    done, failed = found["gcc/13"], found["gcc/12 gcc/99"]
    assert done.state is State.DONE, done.reason
    facts = campaign.environments[done.environment or ""]
    assert {node["software.modules"] for node in facts.values()} == {"gcc/13"}
    assert (failed.state, failed.is_infrastructure) == (State.FAILED, True)
    assert failed.reason.startswith("module load gcc/99 failed on n1: ")
    assert controller.jobs() == []


def test_a_module_command_that_the_environment_defines_is_that_of_rehearsal_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login script may export it as a function of bash, which dash, as /bin/sh, does not pass on."""
    monkeypatch.setenv(
        "BASH_FUNC_module%%",
        '() { [ "$1" != load ] || export COMPILER="$2" LOADEDMODULES="$2"; }',
    )
    site = "site: here\nnodes: [localhost]\nplatforms: {plain: {}}\n"
    code, said, campaign = run(tmp_path, site, "echo value: ${{COMPILER#ours/}}", "modules: ours/1")
    assert code == 0, said
    assert campaign is not None
    (attempt,) = campaign.attempts
    assert (tmp_path / "c" / attempt.folder / "stdout").read_text() == "value: 1\n"
