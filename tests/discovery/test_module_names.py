"""Modules by other names, that end themselves, that login scripts load, and as users have them shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from discovery.test_modules import SYSTEMS, System, ask, of_modules
from discovery.test_modules import tree as tree  # the fixture
from support.modules import environment_modules, lmod, write_module
from tare.discovery.node_probe import probe_script, read_node


@SYSTEMS
def test_other_names_of_a_module_are_no_platforms_of_their_own(system: System, tree: Path) -> None:
    write_module(tree / "core", ".modulerc", ALIASES)
    found = ask(system, tree)
    assert set(of_modules(found)) == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}
    assert found.module_system is not None
    assert found.module_system.n_modules == 7, "a name that stands for another module is none"
    said = "\n".join(found.module_system.notes)
    if system is lmod:  # the other system shows these beside the module
        assert re.search(r"Module mpich/(stable|latest) is another name of mpich/4.2\.", said)
    assert "Module mpi/best is another name of mpich/4.2." in said


ALIASES = "module-version mpich/4.2 stable latest\nmodule-alias mpi/best mpich/4.2"


@SYSTEMS
def test_a_module_whose_file_ends_early_says_why_in_its_own_words(system: System, tree: Path) -> None:
    write_module(tree / "core", "hpcx/lapsed", 'puts stderr "the contract of hpcx has lapsed"\nexit 1')
    found = ask(system, tree).module_system
    assert found is not None
    (note,) = (one for one in found.notes if "hpcx/lapsed" in one)
    assert note.startswith("Module hpcx/lapsed gives no platform: it cannot be loaded: ")
    assert "the contract of hpcx has lapsed" in note


@pytest.mark.parametrize(
    "setting", ["MODULES_AVAIL_INDEPTH=0", "MODULES_COLOR=always", "MODULES_VERBOSITY=silent"]
)
def test_how_a_user_wants_modules_to_be_shown_hides_none(setting: str, tree: Path) -> None:
    name, _, value = setting.partition("=")
    write_module(tree / "core", "mpich/.version", "set ModulesVersion 4.2")
    found = ask(environment_modules, tree, **{name: value})
    assert set(of_modules(found)) == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}
    assert found.module_system is not None
    assert found.module_system.n_modules == 7
    assert "its licence has expired" in "\n".join(found.module_system.notes)


def test_what_login_scripts_load_is_not_said_to_be_of_another_module(tree: Path) -> None:
    """A shell over ssh reads no login scripts; those that define `module` may load an MPI as well."""
    profile = f"tare_find_module() {{ . {lmod()}; module load mpich/4.2; }}\n"
    script = probe_script(node="n1").replace("tare_most=", f"{profile}tare_most=", 1)
    env = {"PATH": "/usr/bin:/bin", "MODULEPATH": str(tree / "core"), "HOME": str(tree)}
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env=env)
    found = read_node(done.stdout, {})
    assert found is not None, done.stdout
    mpis = of_modules(found)
    assert set(mpis) == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}
    assert mpis["mpich/4.2",].setup == "", "jobs whose scripts load it have it as well"
    assert found.module_system is not None
    assert "Module impi/none gives no platform: " in "\n".join(found.module_system.notes)


@SYSTEMS
def test_modules_whose_names_hold_other_characters_are_named(system: System, tree: Path) -> None:
    for name in ("openmpi/5.0'test", 'mpich/4"q', "mvapich/4,1", "openmpi/5~rc1"):
        write_module(tree / "core", name, f"prepend-path PATH {tree.parent}/openmpi/bin")
    found = ask(system, tree)
    assert set(of_modules(found)) == {("mpich/4.2",), ("gcc/13", "openmpi/5.0")}
    assert found.module_system is not None
    (note,) = (one for one in found.module_system.notes if one.startswith("Not loaded"))
    for name in ("openmpi/5.0'test", 'mpich/4"q', "mvapich/4,1", "openmpi/5~rc1"):
        assert name in note
    assert "modules" not in note.partition(": ")[2], "headings are no modules"


def test_a_module_that_unloads_its_compiler_gives_no_platform(tree: Path) -> None:
    """The run would refuse it, as the compiler was asked for."""
    body = f"module unload gcc\nprepend-path PATH {tree.parent}/openmpi/bin"
    write_module(tree / "gcc13", "openmpi/5.0", body)
    found = ask(environment_modules, tree)
    assert set(of_modules(found)) == {("mpich/4.2",)}
    assert found.module_system is not None
    said = "Module gcc/13 openmpi/5.0 gives no platform: it cannot be loaded: "
    assert f"{said}it unloads gcc/13, which is loaded before it." in found.module_system.notes


def test_a_name_server_that_does_not_answer_costs_one_look_up(tmp_path: Path) -> None:
    """Each look-up of a name may take 20 s (resolv.conf(5)), and a node may have ten interfaces."""
    (tmp_path / "getent").write_text(f"#!/bin/sh\necho $1 >>{tmp_path}/asked\nsleep 60\n")
    (tmp_path / "getent").chmod(0o755)
    script = probe_script(node="n1").replace("timeout -k 2 10", "timeout -k 2 0.2")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "MODULEPATH": str(tmp_path)}
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env=env)
    assert read_node(done.stdout, {}) is not None
    asked = (tmp_path / "asked").read_text().split() if (tmp_path / "asked").exists() else []
    assert asked.count("hosts") <= 1
    assert asked.count("ahostsv4") == 1


def test_a_module_command_that_only_this_shell_exports_is_used(tree: Path, tmp_path: Path) -> None:
    """Debian's sh drops functions that bash exports."""
    text = f"module() {{ echo VERSION=9.9 >&2; echo $* >>{tmp_path}/called; }}; export -f module\n"
    (tmp_path / "tell").write_text(f"{text}exec {sys.executable} ask.py\n")
    (tmp_path / "ask.py").write_text(ASK_THIS_MACHINE)
    subprocess.run(["bash", tmp_path / "tell"], check=True, cwd=tmp_path)
    assert "-t avail" in (tmp_path / "called").read_text()


ASK_THIS_MACHINE = """\
from tare.discovery.commands import OwnCommands
from tare.discovery.node_probe import probe_script
from tare.discovery.nodes import ask_this_machine
(node,) = ask_this_machine(OwnCommands(), probe_script(), {}, print)
assert node.module_system.version == "9.9", node.module_system
"""
