"""What is loaded before a program, by real module systems."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from software.programs import run
from support.modules import environment_modules, lmod, write_module
from tare.core.software import Layers, Software
from tare.plugins.collectors.facts import collect_facts, facts_script
from tare.plugins.collectors.source import Subject
from tare.probes.records import read_records
from tare.probes.software import asking, faults_in

SYSTEMS = pytest.mark.parametrize("system", [lmod, environment_modules])
System = Callable[[], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree as hierarchies have it: MPIs are seen only when a compiler is loaded."""
    tree = tmp_path / "modules"
    write_module(tree / "core", "gcc/13", f"setenv COMPILER gcc-13\nprepend-path MODULEPATH {tree}/gcc13")
    write_module(tree / "core", "gcc/12", f"setenv COMPILER gcc-12\nprepend-path MODULEPATH {tree}/gcc12")
    write_module(tree / "gcc13", "openmpi/5.0", "prepend-path PATH /opt/mpi/bin\nsetenv OMP_NUM_THREADS 1")
    write_module(tree / "core", "loud/1", 'puts stderr "Welcome to loud"')
    write_module(tree / "core", "licence/1", 'puts stderr "no licence here"\nexit 1')
    write_module(tree / "core", "app/1", "module unload gcc/13\nmodule load gcc/12")
    write_module(tree / "core", "compiler/latest", "module load gcc/13")
    return tree


def using(system: System, tree: Path, *modules: str) -> Layers:
    setup = f". {system()}\nmodule use {tree}/core"
    return (Software(setup=setup), Software(modules=modules))


SHOW = ("sh", "-c", "echo $COMPILER $OMP_NUM_THREADS $PATH; cat")


@SYSTEMS
def test_a_hierarchy_is_loaded_in_its_order(system: System, work: Path, tree: Path) -> None:
    done = run(work, using(system, tree, "gcc/13", "openmpi/5.0"), *SHOW)
    assert done.stderr == ""
    assert done.stdout.startswith("gcc-13 1 ")
    assert "/opt/mpi/bin" in done.stdout.split()[2].split(":")


@SYSTEMS
def test_a_module_does_not_change_what_a_case_asks_for(system: System, work: Path, tree: Path) -> None:
    layers = using(system, tree, "gcc/13", "openmpi/5.0")
    assert run(work, layers, *SHOW, env={"OMP_NUM_THREADS": "4"}).stdout.startswith("gcc-13 4 ")


@SYSTEMS
@pytest.mark.parametrize(
    ("modules", "fault", "words"),
    [
        (("gcc/13", "openmpi/9"), "module load openmpi/9 failed on ", "openmpi/9"),
        (("openmpi/5.0",), "module load openmpi/5.0 failed on ", "openmpi/5.0"),
        (("$(touch pwned)", "x'y"), "module load '$(touch pwned)' failed on ", "touch"),
    ],
)
def test_a_module_that_fails_is_a_fault_with_its_own_words(
    system: System, work: Path, tree: Path, modules: tuple[str, ...], fault: str, words: str
) -> None:
    done = run(work, using(system, tree, *modules), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert found.describe().startswith(fault.replace("'", "")), found.describe()
    said = found.describe().partition(": ")[2]
    own = "Unable to locate a modulefile" if system is environment_modules else "module(s) are unknown"
    assert own in said or "cannot be loaded as requested" in said
    assert words in said
    assert not list(work.parents[2].rglob("pwned"))
    assert not Path("pwned").exists()


def test_a_module_that_makes_another_inactive_is_a_fault(work: Path, tree: Path) -> None:
    """The level loads another compiler, for which there is no such MPI: another one would run."""
    done = run(work, using(lmod, tree, "gcc/13", "openmpi/5.0", "gcc/12"), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert "module load gcc/12" in found.describe()
    assert "Inactive Modules" in found.describe()
    assert "openmpi/5.0" in found.describe()


@pytest.mark.parametrize("verbosity", ["silent", "normal"])
def test_words_of_a_module_that_ends_itself_are_kept_whatever_its_user_wants_to_see(
    work: Path, tree: Path, verbosity: str
) -> None:
    env = {"MODULES_VERBOSITY": verbosity}
    run(work, using(environment_modules, tree, "licence/1"), "echo", "never", env=env)
    (found,) = faults_in(work)
    assert "no licence here" in found.describe()
    shown = run(
        work, using(environment_modules, tree, "gcc/13"), "sh", "-c", "echo $MODULES_VERBOSITY", env=env
    )
    assert shown.stdout == f"{verbosity}\n", "the program has what the user has set"


@SYSTEMS
def test_a_module_file_that_exits_is_a_fault(system: System, work: Path, tree: Path) -> None:
    """Lmod returns 0 then, without a word, and has loaded nothing."""
    done = run(work, using(system, tree, "licence/1"), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert found.describe().startswith("module load licence/1 failed on ")
    if system is lmod:
        words = "it reported no error, but licence/1 is not loaded; it had printed: no licence here"
        assert found.sentence == f"module load licence/1 failed: {words}"


@SYSTEMS
def test_a_module_that_unloads_another_one_is_a_fault(system: System, work: Path, tree: Path) -> None:
    """The level is a compiler, and the application's module replaces it by another one."""
    done = run(work, using(system, tree, "gcc/13", "app/1"), "echo", "never")
    assert (done.stdout, done.returncode) == ("", 1)
    (found,) = faults_in(work)
    assert found.sentence == (
        "module load app/1 failed: it unloaded gcc/13, which was asked for before it; leave one of them out"
    )


@SYSTEMS
@pytest.mark.parametrize(
    "modules", [("gcc/12", "gcc/13"), ("gcc",), ("gcc/",), ("compiler/latest", "gcc/13"), ("gcc/13", "gcc")]
)
def test_a_module_may_be_named_again(
    system: System, work: Path, tree: Path, modules: tuple[str, ...]
) -> None:
    done = run(work, using(system, tree, *modules), *SHOW)
    assert done.stdout.startswith("gcc-13"), [one.describe() for one in faults_in(work)]


def test_a_warning_of_lmod_is_no_fault(work: Path, tree: Path) -> None:
    """`module load` returns 1 with it, and loads the module."""
    (tree / "core/old").mkdir()
    (tree / "core/old/1.lua").write_text('LmodWarning("deprecated")\nsetenv("COMPILER", "old")\n')
    done = run(work, using(lmod, tree, "old/1"), *SHOW)
    assert done.stdout.startswith("old"), [one.describe() for one in faults_in(work)]
    assert "deprecated" in (work / "software/run.log").read_text()


def test_what_lmod_says_of_its_files_is_left_out_of_a_fault(work: Path, tree: Path) -> None:
    write_module(tree / "core", "wrong/1", 'error "not on this host"')
    run(work, using(lmod, tree, "wrong/1"), "true")
    (found,) = faults_in(work)
    assert found.describe().endswith("not on this host")


@SYSTEMS
def test_what_is_printed_meanwhile_is_kept_apart(system: System, work: Path, tree: Path) -> None:
    layers = (*using(system, tree, "loud/1"), Software(setup="echo banner; echo warning >&2"))
    done = run(work, layers, "echo", "42")
    assert (done.stdout, done.stderr) == ("42\n", "")
    log = (work / "software/run.log").read_text()
    assert all(one in log for one in ("Welcome to loud", "banner", "warning"))


@SYSTEMS
def test_what_was_loaded_is_recorded(system: System, tree: Path) -> None:
    script = asking(facts_script(Subject()), using(system, tree, "gcc/13", "openmpi/5.0"))
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert collect_facts(read_records(done.stdout))["software.modules"] == "gcc/13, openmpi/5.0"


def test_without_a_module_system_the_fault_says_so(work: Path) -> None:
    (work / "etc").mkdir(parents=True)
    layers = (
        Software(setup="tare_find_module() { echo 'no module command' && return 127; }", modules=("a",)),
    )
    run(work, layers, "true")
    (found,) = faults_in(work)
    assert "no module command" in found.describe()
