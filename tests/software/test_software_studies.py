"""How studies and sites say what is loaded, and what that makes of their cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tare.app.planning import Loaded, load
from tare.core.errors import FileFaults
from tare.core.software import Software, settings_of

SITE = """\
site: here
nodes: [n1, n2]
agent: ssh
setup: [module use /opt/modules]
platforms:
  bare: {launcher: mpich, modules: slurm}
  boxed: {runtime: podman, launcher: mpich, container: {shape: node, image: debian}}
networks: {eth: {interface: eth0}}
"""
STUDY = """\
study: software
site: site.yaml
workloads:
  app:
    command: app
    foms: [{name: value, unit: s, better: lower, regex: '(\\S+)'}]
    mpi: true
    modules: app/1
WITH
workload: app
nodes: 2
ranks_per_node: 1
"""


def read(folder: Path, more: str = "", site: str = SITE, study: str = STUDY) -> Loaded:
    (folder / "site.yaml").write_text(site)
    (folder / "study.yaml").write_text(study.replace("    modules: app/1\n", "").replace("WITH\n", more))
    return load(folder / "study.yaml")


def faults(folder: Path, more: str, site: str = SITE) -> list[str]:
    with pytest.raises(FileFaults) as raised:
        read(folder, more, site)
    return [str(one).removeprefix(f"{folder}/") for one in raised.value.faults]


def test_site_platform_study_levels_and_workload_add_up_in_this_order(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(SITE)
    more = "setup: [export A=1, export B=2]\nfactors:\n  compiler:\n    - {modules: [gcc/13, mkl]}\n"
    (tmp_path / "study.yaml").write_text(STUDY.replace("WITH\n", more))
    loaded = load(tmp_path / "study.yaml")
    (case,) = loaded.plan.cases
    assert loaded.composer.software(case) == (
        Software(setup="module use /opt/modules"),
        Software(modules=("slurm",)),
        Software(setup="export A=1\nexport B=2"),
        Software(modules=("gcc/13", "mkl")),
        Software(modules=("app/1",)),
    )
    assert settings_of(case.software) == {"setup": "export A=1\nexport B=2", "modules": "gcc/13 mkl app/1"}


def test_what_the_study_s_only_workload_loads_comes_last_and_is_added_to_what_the_study_loads(
    tmp_path: Path,
) -> None:
    """As `workload: {gromacs.water: {spack: gromacs}}` has it, beside factors of compilers and MPIs."""
    more = "modules: tools\nfactors:\n  modules: [gcc/12, gcc/13]\n  mpi: [{name: MPICH, modules: mpich/4}]\n"
    study = STUDY.replace("workload: app\n", "workload: {app: {modules: solver/2, setup: export A=1}}\n")
    found = [settings_of(one.software) for one in read(tmp_path, more, study=study).plan.cases]
    assert [one["modules"] for one in found] == [
        "tools gcc/12 mpich/4 solver/2",
        "tools gcc/13 mpich/4 solver/2",
    ]
    assert [one["setup"] for one in found] == ["export A=1"] * 2


def test_a_reference_may_name_a_level_of_each_factor_that_loads_software(tmp_path: Path) -> None:
    more = (
        "modules: tools\nfactors:\n"
        "  compiler: [{name: GNU 12, modules: gcc/12}, {name: GNU 13, modules: gcc/13}]\n"
        "  mpi: [{name: MPICH, modules: mpich/4}, {name: Open MPI, modules: openmpi/5}]\n"
        "reference: {compiler: GNU 12, mpi: Open MPI}\n"
    )
    plan = read(tmp_path, more).plan
    (reference,) = [one for one in plan.cases if plan.is_reference(one)]
    assert reference.names == {"compiler": "GNU 12", "mpi": "Open MPI"}
    assert plan.reference == {"modules": "tools gcc/12 openmpi/5"}
    assert [plan.reference_of(one) for one in plan.cases if one is not reference] == [reference] * 3


def test_a_reference_that_leaves_out_a_factor_that_loads_software_is_told_so(tmp_path: Path) -> None:
    more = (
        "factors:\n"
        "  compiler: [{name: GNU 12, modules: gcc/12}, {name: GNU 13, modules: gcc/13}]\n"
        "  mpi: [{name: MPICH, modules: mpich/4}, {name: Open MPI, modules: openmpi/5}]\n"
        "reference: {compiler: GNU 12}\n"
    )
    (fault,) = faults(tmp_path, more)
    assert fault.startswith(
        "study.yaml:11:12: reference: no case is the reference modules=gcc/12; modules is "
    )
    assert fault.endswith("; software adds up: name a level of mpi in the reference, too")


def test_only_what_the_study_writes_is_part_of_a_case(tmp_path: Path) -> None:
    (plain,) = read(tmp_path).plan.cases
    bare = SITE.replace("setup: [module use /opt/modules]\n", "").replace(", modules: slurm", "")
    assert [one.id for one in read(tmp_path, site=bare).plan.cases] == [plain.id]
    assert [one.id for one in read(tmp_path, "modules: gcc/13\n").plan.cases] != [plain.id]
    assert "modules" not in plain.settings


def test_levels_of_two_factors_make_all_pairs(tmp_path: Path) -> None:
    more = (
        "factors:\n"
        "  compiler: [{name: GNU 12, modules: gcc/12}, {name: GNU 13, modules: gcc/13}]\n"
        "  mpi: [{name: MPICH, modules: mpich/4, spack: fftw@3 +mpi}, {name: none, modules: ''}]\n"
    )
    found = [settings_of(one.software) for one in read(tmp_path, more).plan.cases]
    assert sorted(map(str, found)) == sorted(
        map(
            str,
            [
                {"modules": "gcc/12 mpich/4", "spack": "fftw@3 +mpi"},
                {"modules": "gcc/12"},
                {"modules": "gcc/13 mpich/4", "spack": "fftw@3 +mpi"},
                {"modules": "gcc/13"},
            ],
        )
    )


def test_a_factor_named_modules_has_texts_or_lists_as_levels(tmp_path: Path) -> None:
    more = "factors:\n  modules: [gcc/12 mpich/4, [gcc/13, mpich/4]]\nreference: {modules: gcc/12 mpich/4}\n"
    plan = read(tmp_path, more).plan
    assert [one.settings["modules"] for one in plan.cases] == ["gcc/12 mpich/4", "gcc/13 mpich/4"]
    assert plan.varied == ("modules",)
    assert plan.reference == {"modules": "gcc/12 mpich/4"}


def test_launcher_and_ranks_load_it(tmp_path: Path) -> None:
    loaded = read(tmp_path, "modules: gcc/13\n")
    ((stage, invocation),) = loaded.composer.compose(loaded.plan.cases[0])
    assert invocation.argv[:4] == ("/bin/bash", "-p", "{work}/software.sh", "launcher.run")
    at = invocation.argv.index("rank")
    assert invocation.argv[at - 3 : at] == ("/bin/bash", "-p", "{work}/software.sh")
    assert {"FI_PROVIDER", "OMP_NUM_THREADS"} <= set(invocation.argv[at + 2].split(","))
    assert "module load gcc/13\n" in stage.files["software.sh"]


def test_nothing_changes_where_nothing_is_loaded(tmp_path: Path) -> None:
    bare = SITE.replace("setup: [module use /opt/modules]\n", "").replace(", modules: slurm", "")
    loaded = read(tmp_path, site=bare)
    ((stage, invocation),) = loaded.composer.compose(loaded.plan.cases[0])
    assert Path(invocation.argv[0]).name == "mpiexec.hydra"
    assert "software.sh" not in stage.files


def test_containers_that_stay_are_refused_with_the_cure(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, "platform: boxed\n")
    assert fault.startswith("study.yaml:8:11: platform: ")
    assert "install it in the image, or use 'shape: rank'" in fault


@pytest.mark.parametrize(
    ("more", "site", "fault"),
    [
        ("modules: [gcc/13, -a]\n", SITE, "study.yaml:8:10: modules: '-a' is an option, not the name of a"),
        ('spack: gromacs "x\n', SITE, "study.yaml:8:8: spack: "),
        ("factors: {modules: [gcc/12, {modules: [--x]}]}\n", SITE, "study.yaml:8:39: factors.modules[1].mod"),
        ("", SITE.replace("modules: slurm", "modules: [a, -b]"), "site.yaml:6:40: platforms.bare.modules[1]"),
        ("module: gcc/13\n", SITE, "study.yaml:8:1: module: unknown key 'module'"),
        ("factors: {nodes: [[1, 2]]}\n", SITE, "study.yaml:8:19: factors.nodes[0]: a list is no level of"),
    ],
)
def test_a_fault_has_its_place_and_a_cure(tmp_path: Path, more: str, site: str, fault: str) -> None:
    found = faults(tmp_path, more, site)
    assert any(one.startswith(fault) for one in found), found
    assert all(";" in one for one in found), found
