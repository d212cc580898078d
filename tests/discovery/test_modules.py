"""MPIs of environment modules, as real module systems show them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from discovery.test_written_files import facts, partition, slurm_found
from support.modules import environment_modules, lmod, write_module
from tare.app.init.draft import Choice, make_draft
from tare.app.init.files import site_text
from tare.config.site_file import site_from_text
from tare.core.software import Software
from tare.discovery.facts import ModuleSystem, Mpi, NodeFacts
from tare.discovery.modules import MOST
from tare.discovery.node_probe import probe_script, read_node
from tare.plugins.backends.slurm.options import SlurmOptions

SYSTEMS = pytest.mark.parametrize("system", [lmod, environment_modules])
System = Callable[[], Path]
VERSIONS = {
    "openmpi": "mpirun (Open MPI) 5.0.3",
    "mpich": "HYDRA build details:\n    Version:   4.2.1",
    "strange": "strange 1.0",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A hierarchy: MPICH is seen at once, Open MPI behind a compiler. Doubles of mpirun print versions."""
    tree = tmp_path / "modules"
    for name, version in VERSIONS.items():
        programs = tmp_path / name / "bin"
        programs.mkdir(parents=True)
        (programs / "mpirun").write_text(f"#!/bin/sh\ncat <<'END'\n{version}\nEND\n")
        (programs / "mpirun").chmod(0o755)
    (tmp_path / "openmpi/bin/mpicc").symlink_to("/bin/true")
    path = f"prepend-path PATH {tmp_path}"
    banner = 'puts stderr "Welcome to our cluster"'
    write_module(tree / "core", "gcc/13", f"{banner}\nprepend-path MODULEPATH {tree}/gcc13")
    write_module(tree / "core", "mpich/4.2", f"{path}/mpich/bin")
    write_module(tree / "core", "mpi4py/3.1", "setenv NOT an-mpi")
    write_module(tree / "core", "hdf5-openmpi/1.12", "setenv NOT an-mpi")
    write_module(tree / "core", "mpi/strange", f"{path}/strange/bin")
    write_module(tree / "core", "impi/none", "setenv NO mpirun")
    write_module(tree / "core", "hpcx/broken", 'error "its licence has expired"')
    write_module(tree / "gcc13", "openmpi/5.0", f"{banner}\n{path}/openmpi/bin")
    return tree


def ask(system: System, tree: Path, **env: str) -> NodeFacts:
    """Ask this machine, where the shell finds the module system as a shell of a site does."""
    own = {"BASH_ENV": str(system()), "MODULEPATH": str(tree / "core"), **env}
    without = {name: value for name, value in os.environ.items() if not name.startswith(("LMOD", "__LMOD"))}
    done = subprocess.run(
        ["sh", "-c", probe_script(node="n1")], capture_output=True, text=True, check=False, env=without | own
    )
    found = read_node(done.stdout, {})
    assert found is not None, done.stdout
    return found


def of_modules(found: NodeFacts) -> dict[tuple[str, ...], Mpi]:
    return {one.modules: one for one in found.mpis if one.modules}


@SYSTEMS
def test_mpis_are_found_at_once_and_behind_a_compiler(system: System, tree: Path) -> None:
    found = ask(system, tree)
    mpis = of_modules(found)
    assert set(mpis) == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}
    one = mpis["gcc/13", "openmpi/5.0"]
    assert (one.family, one.version, one.launcher) == ("Open MPI", "5.0.3", "openmpi5")
    assert (one.prefix, one.programs) == (str(tree.parent / "openmpi"), ("mpicc",))
    assert one.origin == f"`module load gcc/13 openmpi/5.0` sets {one.prefix}/bin/mpirun"
    assert found.module_system is not None
    assert found.module_system.title == ("Lmod" if system is lmod else "Environment Modules")
    assert found.module_system.n_modules == 7


@SYSTEMS
def test_modules_that_give_no_platform_say_why(system: System, tree: Path) -> None:
    found = ask(system, tree).module_system
    assert found is not None
    said = "\n".join(found.notes)
    assert "Module impi/none gives no platform: it sets no mpirun." in said or "as without it" in said
    assert "Module hpcx/broken gives no platform: it cannot be loaded: " in said
    assert "/bin/mpirun --version` says strange 1.0." in said
    assert "mpi4py" not in said
    assert "hdf5" not in said


def test_only_so_many_modules_are_loaded_and_the_others_are_named(tree: Path) -> None:
    for number in range(MOST):
        write_module(tree / "core", f"openmpi/6.{number}", f"setenv LOADED {number}")
    found = ask(lmod, tree).module_system
    assert found is not None
    skipped = [one for one in found.notes if one.startswith(f"Only the first {MOST} modules")]
    assert skipped, found.notes
    assert "gcc/13 openmpi/5.0" in skipped[0], "those that are seen at once come first"


def test_modules_of_hostile_names_run_nothing(tree: Path, tmp_path: Path) -> None:
    write_module(tree / "core", "openmpi/$(touch harm)", "setenv A b")
    write_module(tree / "core", "openmpi/;touch harm", "setenv A b")
    assert set(of_modules(ask(lmod, tree))) == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}
    assert not Path("harm").exists()
    assert not (tmp_path / "harm").exists()


def test_each_mpi_of_modules_is_a_platform_that_loads_them() -> None:
    modules = ("gcc/13", "openmpi/5.0")
    mpi = Mpi(
        family="Open MPI", version="5.0.3", launcher="openmpi5", prefix="/opt/m", modules=modules, origin="o"
    )
    system = ModuleSystem(title="Lmod", version="8.6", n_modules=7, notes=("Module x\nsite: forged.",))
    nodes = tuple(msgspec.structs.replace(facts(i), mpis=(mpi,), module_system=system) for i in (1, 2))
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    text = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    site = site_from_text(text, "site.yaml")
    assert list(site.platforms) == ["gcc-13-openmpi-5.0", "gcc-13-openmpi-5.0-srun", "bare"]
    assert site.platforms["gcc-13-openmpi-5.0"].software == Software(modules=modules)
    assert site.name == "venus"
    assert "# - Lmod 8.6: 7 modules are seen on n1 (`module -t avail`)" in text


def test_a_module_of_one_node_only_is_no_platform() -> None:
    mpi = Mpi(
        family="MPICH", version="4", launcher="mpich", prefix="/opt/m", modules=("mpich/4",), origin="o"
    )
    first = msgspec.structs.replace(facts(1), mpis=(mpi,))
    found = msgspec.structs.replace(slurm_found(), nodes=(first, facts(2)))
    text = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    assert list(site_from_text(text, "site.yaml").platforms) == ["bare"]
    assert "Not on all asked nodes, or not the same there: modules mpich/4." in text


def test_an_intel_mpi_of_a_module_without_mpicc_takes_that_of_an_mpich() -> None:
    """As Intel's runtime without its development package: another mpicc on the PATH would be Open MPI's."""
    intel, mpich = (
        Mpi(
            family=family, version="1", launcher="l", prefix=prefix, modules=(name,), programs=own, origin="o"
        )
        for family, prefix, name, own in (
            ("Intel MPI", "/opt/i", "impi/1", ("IMB-MPI1",)),
            ("MPICH", "/opt/m", "mpich/1", ("mpicc",)),
        )
    )
    nodes = tuple(msgspec.structs.replace(facts(i), mpis=(intel, mpich)) for i in (1, 2))
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    text = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    site = site_from_text(text, "site.yaml")
    assert site.platforms["impi-1"].path == ("/opt/m/bin",)
    assert site.platforms["impi-1"].software == Software(modules=("impi/1",))
    assert site.platforms["mpich-1"].path == ()
    assert "mpicc of MPICH 1, which has the same ABI" in " ".join(text.replace("\n#", " ").split())


@pytest.fixture
def cray(tree: Path) -> Path:
    """The folder of a double of Cray's MPI, whose module sets what Cray's own sets."""
    own = tree.parent / "mpich/8.1.29/ofi/gnu/12.3"
    (own / "bin").mkdir(parents=True)
    (own / "bin/mpicc").symlink_to("/bin/true")
    names = f"setenv CRAY_MPICH_VERSION 8.1.29\nsetenv CRAY_MPICH_DIR {own}\nprepend-path PATH {own}/bin"
    write_module(tree / "core", "cray-mpich/8.1.29", names)
    write_module(tree / "core", "cray-mpich-abi/8.1.29", names)
    return own


@SYSTEMS
def test_an_mpi_without_mpirun_is_found_by_what_its_module_sets(
    system: System, tree: Path, cray: Path
) -> None:
    one = of_modules(ask(system, tree))["cray-mpich/8.1.29",]
    assert (one.family, one.version, one.launcher) == ("Cray MPICH", "8.1.29", "srun")
    assert (one.prefix, one.path, one.programs) == (str(cray), (f"{cray}/bin",), ("mpicc",))
    assert ("mpich/4.2",) in of_modules(ask_with_loaded(system, tree, "cray-mpich/8.1.29"))


def _with_cray(types: tuple[str, ...], choice: Choice | None = None) -> str:
    """Return the site file of two nodes with Cray's MPI, and of a Slurm with these types of MPI."""
    mpi = Mpi(
        family="Cray MPICH",
        version="8.1.29",
        launcher="srun",
        prefix="/opt/cray/m",
        path=("/opt/cray/m/bin",),
        programs=("mpicc",),
        modules=("cray-mpich/8.1.29",),
        origin="o",
    )
    found = slurm_found()
    assert found.slurm is not None
    nodes = tuple(msgspec.structs.replace(facts(i), mpis=(mpi,)) for i in (1, 2))
    slurm = msgspec.structs.replace(found.slurm, mpi_types=types)
    found = msgspec.structs.replace(found, nodes=nodes, slurm=slurm)
    return site_text(make_draft(found, choice or Choice(partition=partition())), "login1", "")


@pytest.mark.parametrize(
    ("types", "expected"),
    [(("none", "cray_shasta", "pmi2"), "cray_shasta"), (("pmix", "pmi2"), "pmi2")],
)
def test_slurm_starts_the_ranks_of_an_mpi_without_mpirun(types: tuple[str, ...], expected: str) -> None:
    site = site_from_text(_with_cray(types), "site.yaml")
    assert list(site.platforms) == ["cray-mpich-8.1.29", "bare"]
    platform = site.platforms["cray-mpich-8.1.29"]
    assert platform.launcher == "srun"
    assert platform.software == Software(modules=("cray-mpich/8.1.29",))
    assert isinstance(platform.options, SlurmOptions)
    assert platform.options.mpi == expected


@pytest.mark.parametrize(
    ("types", "choice", "why"),
    [
        (("none",), Choice(partition=partition()), "`srun --mpi=list` names none of cray_shasta, cray"),
        (("cray_shasta",), Choice(), "these runs are no jobs of Slurm"),
    ],
)
def test_an_mpi_whose_ranks_nothing_starts_is_no_platform_and_says_why(
    types: tuple[str, ...], choice: Choice, why: str
) -> None:
    text = _with_cray(types, choice)
    assert list(site_from_text(text, "site.yaml").platforms) == ["bare"]
    flat = " ".join(text.replace("\n#", " ").split())
    assert "Modules cray-mpich/8.1.29 give no platform: Tare starts the ranks of Cray's MPI by srun" in flat
    assert why in flat


@pytest.fixture
def eessi(tree: Path) -> Path:
    """A double of EESSI's repository: files that its documentation names, with Debian's Lmod behind them."""
    root = tree.parent / "cvmfs"
    own = tree / "eessi"
    path = f"prepend-path PATH {tree.parent}"
    write_module(own, "OpenMPI/5.0.3-GCC-13.3.0", f"{path}/openmpi/bin")
    write_module(own, "GCC/13.3.0", "setenv A compiler")
    write_module(own, "GROMACS/2024.4-foss-2023b", "setenv A program")
    for version in ("2023.06", "2025.06"):
        init = root / "versions" / version / "init/lmod/bash"
        init.parent.mkdir(parents=True)
        init.write_text(f"echo 'Initializing EESSI {version}'\n. {lmod()}\nexport MODULEPATH={own}\n")
    return root


def test_the_newest_eessi_is_found_beside_the_modules_of_the_site(tree: Path, eessi: Path) -> None:
    found = ask(lmod, tree, EESSI_CVMFS_REPO=str(eessi))
    assert ("mpich/4.2",) in of_modules(found), "the site's own"
    one = of_modules(found)["OpenMPI/5.0.3-GCC-13.3.0",]
    init = f"{eessi}/versions/2025.06/init/lmod/bash"
    assert (one.version, one.launcher, one.setup) == ("5.0.3", "openmpi5", f". {init}")
    assert one.origin.startswith("EESSI 2025.06: `module load OpenMPI/5.0.3-GCC-13.3.0` sets ")
    assert found.eessi is not None
    assert (found.eessi.title, found.eessi.n_modules) == ("EESSI 2025.06", 3)
    assert found.eessi.programs == ("GROMACS/2024.4-foss-2023b",)
    assert found.module_system is not None
    assert found.module_system.n_modules == 7


def test_an_mpi_of_eessi_is_a_platform_whose_setup_reads_its_file(tree: Path, eessi: Path) -> None:
    asked = ask(lmod, tree, EESSI_CVMFS_REPO=str(eessi))
    nodes = tuple(msgspec.structs.replace(facts(i), mpis=asked.mpis, eessi=asked.eessi) for i in (1, 2))
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    text = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    site = site_from_text(text, "site.yaml")
    software = site.platforms["eessi-2025.06-OpenMPI-5.0.3-GCC-13.3.0"].software
    assert software.modules == ("OpenMPI/5.0.3-GCC-13.3.0",)
    assert software.setup == f". {eessi}/versions/2025.06/init/lmod/bash"
    flat = " ".join(text.replace("\n#", " ").split())
    assert "Programs of EESSI 2025.06 that Tare can measure: GROMACS/2024.4-foss-2023b." in flat


def test_an_eessi_that_is_loaded_already_is_not_looked_at_twice(tree: Path, eessi: Path) -> None:
    found = ask(lmod, tree, EESSI_CVMFS_REPO=str(eessi), MODULEPATH=f"{tree / 'core'}:{eessi}/versions/x")
    assert found.eessi is None


def ask_with_loaded(system: System, tree: Path, *names: str, **env: str) -> NodeFacts:
    """Ask from a shell in which modules are loaded."""
    own = {"BASH_ENV": str(system()), "MODULEPATH": str(tree / "core"), **env}
    without = {name: value for name, value in os.environ.items() if not name.startswith(("LMOD", "__LMOD"))}
    script = "".join(f"module load {name} 2>/dev/null\n" for name in names) + 'exec sh -c "$0"'
    command = ["bash", "-c", script, probe_script(node="n1")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=without | own)
    found = read_node(done.stdout, {})
    assert found is not None, done.stdout
    return found


@SYSTEMS
def test_the_loaded_module_that_brings_mpirun_is_named_with_the_compiler_that_it_needs(
    system: System, tree: Path
) -> None:
    write_module(tree / "core", "hdf5/1.14", "setenv A library")
    found = ask_with_loaded(system, tree, "gcc/13", "openmpi/5.0", "hdf5/1.14")
    assert found.loaded == ("gcc/13", "openmpi/5.0", "hdf5/1.14")
    one = of_modules(found)["gcc/13", "openmpi/5.0"]
    mpirun = f"{tree.parent}/openmpi/bin/mpirun"
    assert one.origin == f"{mpirun} is on the PATH by `module load gcc/13 openmpi/5.0` in this shell"
    assert (one.version, one.programs) == ("5.0.3", ("mpicc",))
    assert found.module_system is not None
    assert not [note for note in found.module_system.notes if "openmpi/5.0" in note]


@pytest.fixture
def two_compilers(tree: Path) -> Path:
    """The tree with more compilers: one with an Open MPI of the same name, and one without any."""
    intel = tree.parent / "intel/bin"
    intel.mkdir(parents=True)
    (intel / "mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.6'\n")
    (intel / "mpirun").chmod(0o755)
    for name, folder in (("gcc/13", "gcc13"), ("intel/2024", "intel24"), ("llvm/18", "llvm18")):
        write_module(tree / "core", name, f"family compiler\nprepend-path MODULEPATH {tree}/{folder}")
    write_module(tree / "intel24", "openmpi/5.0", f"prepend-path PATH {intel}")
    write_module(tree / "llvm18", "mpich/4.3", f"prepend-path PATH {tree.parent}/mpich/bin")
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [(), ("gcc/13",), ("gcc/13", "openmpi/5.0")])
def test_mpis_behind_each_compiler_are_found_whichever_is_loaded(
    two_compilers: Path, loaded: tuple[str, ...]
) -> None:
    mpis = of_modules(ask_with_loaded(lmod, two_compilers, *loaded))
    assert {modules: one.version for modules, one in mpis.items()} == {
        ("mpich/4.2",): "4.2.1",
        ("gcc/13", "openmpi/5.0"): "5.0.3",
        ("intel/2024", "openmpi/5.0"): "4.1.6",
        ("llvm/18", "mpich/4.3"): "4.2.1",
    }


@pytest.mark.slow
def test_a_compiler_that_makes_a_loaded_mpi_inactive_is_loaded_after_the_others_are_unloaded(
    two_compilers: Path,
) -> None:
    """Lmod unloads the Open MPI that was loaded, for which llvm/18 has none: a run would fail there."""
    mpis = of_modules(ask_with_loaded(lmod, two_compilers, "gcc/13", "openmpi/5.0"))
    assert mpis["llvm/18", "mpich/4.3"].setup == "module purge"
    assert mpis["intel/2024", "openmpi/5.0"].setup == ""
    assert mpis["gcc/13", "openmpi/5.0"].setup == ""
    unloaded = of_modules(ask(lmod, two_compilers))
    assert unloaded["llvm/18", "mpich/4.3"].setup == ""


def test_mpis_that_only_a_loaded_module_shows_are_found(tree: Path) -> None:
    """As at sites whose standard environment sets the MODULEPATH: without it, there is nothing to load."""
    write_module(tree / "site", "StdEnv/1", f"prepend-path MODULEPATH {tree}/core")
    mpis = of_modules(ask_with_loaded(lmod, tree, "StdEnv/1", MODULEPATH=str(tree / "site")))
    assert {one[-2:] for one in mpis} == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}


@SYSTEMS
def test_a_module_that_needs_no_other_is_named_alone(system: System, tree: Path) -> None:
    found = ask_with_loaded(system, tree, "gcc/13", "mpich/4.2")
    assert f"{tree.parent}/mpich/bin/mpirun is on the PATH by `module load mpich/4.2` in this shell" in [
        one.origin for one in found.mpis
    ]


def test_an_mpi_on_the_path_that_no_module_brings_is_said_to_be_so(tree: Path) -> None:
    path = f"{tree.parent}/openmpi/bin:{os.environ['PATH']}"
    found = ask_with_loaded(lmod, tree, "gcc/13", PATH=path)
    (one,) = [one for one in found.mpis if not one.modules]
    assert one.origin.endswith("is on the PATH; loaded modules, none of which is known to bring it: gcc/13")


def test_loaded_modules_are_named_in_the_file() -> None:
    nodes = tuple(msgspec.structs.replace(facts(i), loaded=("gcc/13", "openmpi/5.0")) for i in (1, 2))
    found = msgspec.structs.replace(slurm_found(), nodes=nodes)
    text = site_text(make_draft(found, Choice(partition=partition())), "login1", "")
    assert "Modules loaded in the shell of `tare init`: gcc/13, openmpi/5.0." in " ".join(
        text.replace("\n#", " ").split()
    )


@pytest.fixture
def eessi_mpi(tree: Path, eessi: Path) -> Path:
    """The folder of modules that EESSI adds to the MODULEPATH; its Open MPI is within EESSI."""
    version = eessi / "versions/2025.06"
    programs, own = version / "software/OpenMPI/bin", version / "software/modules/all"
    programs.mkdir(parents=True)
    (programs / "mpirun").symlink_to(tree.parent / "openmpi/bin/mpirun")
    write_module(own, "OpenMPI/5.0.3-GCC-13.3.0", f"prepend-path PATH {programs}")
    return own


def test_an_eessi_that_is_loaded_already_is_read_in_jobs_too(
    tree: Path, eessi: Path, eessi_mpi: Path
) -> None:
    path = f"{tree / 'core'}:{eessi_mpi}"
    init = f". {eessi}/versions/2025.06/init/lmod/bash"
    found = ask(lmod, tree, EESSI_CVMFS_REPO=str(eessi), MODULEPATH=path)
    assert of_modules(found)["OpenMPI/5.0.3-GCC-13.3.0",].setup == init
    assert of_modules(found)["mpich/4.2",].setup == "", "the site's own needs no EESSI"
    found = ask_with_loaded(
        lmod, tree, "OpenMPI/5.0.3-GCC-13.3.0", EESSI_CVMFS_REPO=str(eessi), MODULEPATH=path
    )
    assert of_modules(found)["OpenMPI/5.0.3-GCC-13.3.0",].setup == init


def test_an_eessi_whose_modules_are_only_made_visible_is_looked_at(tree: Path, eessi: Path) -> None:
    """`module use /cvmfs/software.eessi.io/init/modules` shows the module EESSI, and no MPI."""
    path = f"{tree / 'core'}:{eessi}/init/modules"
    assert ask(lmod, tree, EESSI_CVMFS_REPO=str(eessi), MODULEPATH=path).eessi is not None
