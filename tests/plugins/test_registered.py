"""What lies in a seam's folder is registered, tested and documented: leaving one of these out fails here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.core.entry_points import GROUPS, installed

TESTS = Path(__file__).parents[1]
DESIGN = (TESTS.parent / "docs/design.md").read_text()


def own(group: str) -> dict[str, str]:
    """Return the modules in the folder of a seam that entry points name, by the entry points' names."""
    folder = group.replace("tare.", "tare.plugins.", 1) + "."
    return {name: one.module for name, one in installed(group).items() if one.module.startswith(folder)}


def classes(folder: str, method: str) -> Iterator[str]:
    """Yield the names of the classes in a folder that have a name for site files and this method."""
    for one in pkgutil.iter_modules(importlib.import_module(folder).__path__):
        module = importlib.import_module(f"{folder}.{one.name}")
        for _, found in inspect.getmembers(module, inspect.isclass):
            name = getattr(found, "name", None)
            if found.__module__ == module.__name__ and isinstance(name, str) and hasattr(found, method):
                yield name


@pytest.mark.parametrize(("folder", "method"), [("launchers", "launch"), ("runtimes", "wrap")])
def test_every_launcher_and_runtime_in_its_folder_is_registered_by_its_name(folder: str, method: str) -> None:
    found = set(classes(f"tare.plugins.{folder}", method))
    assert found
    assert found == own(f"tare.{folder}").keys()


def test_every_workload_in_the_folder_is_registered() -> None:
    modules = pkgutil.iter_modules(
        importlib.import_module("tare.plugins.workloads").__path__, "tare.plugins.workloads."
    )
    found = {one.name for one in modules if hasattr(importlib.import_module(one.name), "WORKLOADS")}
    assert found == set(own("tare.workloads").values())


@pytest.mark.parametrize("folder", ["workloads", "runtimes"])
def test_every_workload_and_runtime_has_tests(folder: str) -> None:
    texts = [path.read_text() for path in (TESTS / folder).glob("test_*.py")]
    for name, module in own(f"tare.{folder}").items():
        assert any(module in text or f'"{name}"' in text for text in texts), f"nothing tests {name}"


@pytest.mark.parametrize("group", GROUPS)
def test_the_design_explains_how_to_add_one(group: str) -> None:
    table = DESIGN.partition("## Seams")[2].partition("\n## ")[0]
    assert f"| {GROUPS[group]} |" in table
    assert f"`{group}`" in table
    assert f"## Adding a {GROUPS[group]}\n" in DESIGN or GROUPS[group] == "transport report"
