"""The recipes for images, Spack and conda ask for what pyproject.toml asks for, at its version."""

from __future__ import annotations

import ast
import re
import runpy
import sys
import tomllib
import types
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tare import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
SPACK = ast.parse((ROOT / "deploy" / "spack" / "package.py").read_text())
CONDA = yaml.safe_load((ROOT / "deploy" / "conda" / "recipe.yaml").read_text())
IMAGE = (ROOT / "deploy" / "Containerfile").read_text()


def lowest(names: list[str]) -> dict[str, str]:
    """Return the lowest version of each requirement, each of which is `name>=version`."""
    found = {one.name: str(one.specifier) for one in map(Requirement, names)}
    assert all(re.fullmatch(r">=[\d.]+", one) for one in found.values())
    return {name: one.removeprefix(">=") for name, one in found.items()}


def calls(name: str) -> list[ast.Call]:
    """Return the calls of a directive in the recipe for Spack."""
    return [one for one in ast.walk(SPACK) if isinstance(one, ast.Call) and ast.unparse(one.func) == name]


def spack(when: str | None, kind: str = "('build', 'run')") -> dict[str, str]:
    """Return the Python packages that Spack needs with a variant, each with its lowest version."""
    found = {}
    for one in calls("depends_on"):
        given = {str(keyword.arg): ast.unparse(keyword.value) for keyword in one.keywords}
        if given.get("when") == (repr(when) if when else None) and given["type"] == kind:
            name, _, version = ast.literal_eval(one.args[0]).partition("@")
            found[name.removeprefix("py-")] = version.removesuffix(":")
    return found


def test_spack_builds_and_runs_with_what_the_project_asks_for() -> None:
    python = {"python": PROJECT["requires-python"].removeprefix(">=")}
    assert spack(None) == python | lowest(PROJECT["dependencies"])
    assert spack(None, "'build'") == lowest(BUILD)


def test_each_extra_is_a_variant_of_spack() -> None:
    extras = {
        name: lowest(asked) for name, asked in PROJECT["optional-dependencies"].items() if name != "dev"
    }
    assert {str(ast.literal_eval(one.args[0])) for one in calls("variant")} == {*extras}
    for name, asked in extras.items():
        assert spack(f"+{name}") == asked


def test_spack_has_this_version_and_the_name_of_the_sdist() -> None:
    assert [ast.literal_eval(one.args[0]) for one in calls("version")] == [__version__]
    assert f"/tare_hpc-{__version__}.tar.gz" in ast.unparse(SPACK)


def test_conda_has_this_version_and_what_the_project_asks_for() -> None:
    context = CONDA["context"]
    assert context == {"version": __version__, "python_min": PROJECT["requires-python"].removeprefix(">=")}
    run = {"__linux", "python >=${{ python_min }}"}
    run |= {f"{name} >={version}" for name, version in lowest(PROJECT["dependencies"]).items()}
    assert {*CONDA["requirements"]["run"]} == run
    host = {
        "python ${{ python_min }}.*",
        "pip",
        *(f"{name} >={version}" for name, version in lowest(BUILD).items()),
    }
    assert {*CONDA["requirements"]["host"]} == host


def test_conda_has_the_commands_and_the_licence_of_the_project() -> None:
    commands = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert CONDA["build"]["python"]["entry_points"] == commands
    assert CONDA["about"]["license"] == PROJECT["license"]
    assert (ROOT / CONDA["about"]["license_file"]).is_file()
    assert (ROOT / "deploy" / "conda" / CONDA["source"]["path"] / "pyproject.toml").is_file()


def test_the_image_copies_files_that_are_there_and_has_this_version() -> None:
    copied = [
        source
        for one in re.findall(r"^COPY (?!--from)(.+)$", IMAGE, re.MULTILINE)
        for source in one.split()[:-1]
    ]
    assert {"pyproject.toml", "src", "deploy/share", "README.md", "LICENSE"} <= {*copied}
    assert not [one for one in copied if not (ROOT / one).exists()]
    assert f'image.version="{__version__}"' in IMAGE
    assert f"tare:{__version__}" in IMAGE


def test_the_image_installs_locked_versions_of_all_dependencies() -> None:
    """Its `sed` leaves versions and markers, as pip takes them for constraints: no hash, no comment."""
    script = re.search(r"sed -E '(.*?)' requirements/dev.txt", IMAGE)
    assert script is not None
    assert script[1] == r"/^ +(--hash|#)/d; s/ *\\$//"
    lines = re.sub(
        r"^ +(?:--hash|#).*\n", "", (ROOT / "requirements" / "dev.txt").read_text(), flags=re.MULTILINE
    )
    pins = [Requirement(line.removesuffix("\\").strip()) for line in lines.splitlines()]
    assert {*lowest(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["kubernetes"])} <= {
        one.name for one in pins
    }
    assert all(str(one.specifier).startswith("==") for one in pins)


@pytest.mark.parametrize("is_recent", [True, False])
def test_the_recipe_of_spack_finds_its_base_class(is_recent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until 0.23 the build systems came with spack.package; since 1.0 they are in the repository builtin.

    The recipe itself was built with Spack 0.23 (docs/install.md); these modules stand in for those of Spack.
    """
    base = type("PythonPackage", (), {})
    directives = {one: lambda *_, **__: None for one in ("license", "version", "variant", "depends_on")}
    package = types.ModuleType("spack.package")
    vars(package).update(directives, __all__=[*directives])
    names = ["spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]
    python = types.ModuleType("spack_repo.builtin.build_systems.python")
    if is_recent:
        vars(python).update(PythonPackage=base)
        monkeypatch.setitem(sys.modules, python.__name__, python)
    else:
        names = names[:1]
        vars(package).update(PythonPackage=base, __all__=[*directives, "PythonPackage"])
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, package.__name__, package)
    found = runpy.run_path(str(ROOT / "deploy" / "spack" / "package.py"))
    assert found["PyTareHpc"].__mro__[1] is base
