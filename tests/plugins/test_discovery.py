from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from tare.core import entry_points
from tare.core.errors import UsageError
from tare.core.workload import Better, Fom, InlineDefinition, InlineFom
from tare.plugins import registry

INSTALLED = EntryPoints(
    [
        EntryPoint("imb", "tare.plugins.workloads.imb:WORKLOADS", "tare.workloads"),
        EntryPoint("acme", "acme_bench:WORKLOADS", "tare.workloads"),
        EntryPoint("broken", "broken_bench:WORKLOADS", "tare.workloads"),
        EntryPoint("none", "tare.plugins.launchers.direct:Direct", "tare.launchers"),
        EntryPoint("broken", "broken_bench:Launcher", "tare.launchers"),
        EntryPoint("native", "tare.plugins.runtimes.native:Native", "tare.runtimes"),
        EntryPoint("process", "tare.plugins.backends.process.backend:ProcessBackend", "tare.backends"),
    ]
)

ACME = """
from tare.plugins.workloads.common.benchmark import Benchmark
WORKLOADS = (Benchmark(name="acme", summary="All of it."), Benchmark(name="acme.small", summary="A little."))
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand in for installed packages: one plug-in that works, one that cannot be imported."""
    (tmp_path / "acme_bench.py").write_text(ACME)
    (tmp_path / "broken_bench.py").write_text("raise OSError('no licence found')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(metadata, "entry_points", lambda: INSTALLED)
    entry_points._by_group.cache_clear()
    yield
    entry_points._by_group.cache_clear()
    sys.modules.pop("acme_bench", None)


def definition(name: str) -> InlineDefinition:
    time = Fom(name="time", unit="s", better=Better.LOWER)
    return InlineDefinition(name=name, command=("true",), foms=(InlineFom(fom=time, regex="(1)"),))


def test_a_workload_is_found_by_its_full_name() -> None:
    assert registry.workloads()["imb.pingpong"].name == "imb.pingpong"
    assert registry.workloads()["acme.small"].summary == "A little."
    assert registry.workloads()["acme"].summary == "All of it."


def test_only_the_family_that_is_asked_for_is_imported() -> None:
    assert "imb.pingpong" in registry.workloads()
    assert "acme_bench" not in sys.modules


def test_a_plug_in_that_cannot_be_imported_is_reported_and_stops_nobody_else() -> None:
    known = registry.workloads()
    assert {"acme", "imb.alltoall"} <= set(known)
    (problem,) = known.problems
    assert problem == (
        "workload plug-in broken (broken_bench:WORKLOADS) cannot be used: OSError: no licence found; "
        "mend or uninstall the package that it comes from"
    )


def test_a_plug_in_that_cannot_be_imported_stops_who_asks_for_it() -> None:
    with pytest.raises(UsageError, match="no licence found"):
        registry.workloads()["broken.fast"]
    with pytest.raises(UsageError, match="no licence found"):
        registry.launcher("broken")


def test_an_unknown_workload_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        UsageError, match=r"^no workload is called 'imb.pingpng'; did you mean 'imb.pingpong'\?"
    ):
        registry.workloads()["imb.pingpng"]
    assert registry.workloads().get("imb.pingpng") is None


def test_the_name_of_a_family_is_answered_with_its_workloads() -> None:
    with pytest.raises(
        UsageError, match=r"^no workload is called 'imb'; use one of imb\.[a-z_]+, imb\.[a-z_]+"
    ):
        registry.workloads()["imb"]


def test_an_unknown_name_far_from_all_is_answered_with_the_choice() -> None:
    with pytest.raises(UsageError, match=r"^no runtime is called 'xyz'; choose from native$"):
        registry.runtime("xyz")


def test_what_a_study_declares_is_there_and_hides_what_is_installed() -> None:
    known = registry.workloads([definition("mine"), definition("imb.pingpong")])
    assert known["mine"].name == "mine"
    assert known["imb.pingpong"].digest is not None
    assert [name for name in known if name in {"mine", "imb.pingpong"}] == ["mine", "imb.pingpong"]
    assert len(known) == len(list(known))


def test_a_plug_in_that_offers_no_workloads_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_bench.py").write_text("WORKLOADS = 7")
    known = registry.workloads()
    assert "imb.bcast" in list(known)
    assert any("workload plug-in acme" in problem for problem in known.problems)


def test_launchers_and_runtimes_come_by_name() -> None:
    assert registry.launcher("none").name == "none"
    assert registry.runtime("native").name == "native"


def test_the_installed_packages_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []

    def search() -> EntryPoints:
        searches.append(1)
        return INSTALLED

    monkeypatch.setattr(metadata, "entry_points", search)
    registry.launcher("none")
    registry.runtime("native")
    registry.workloads()["imb.bcast"]
    assert len(searches) == 1
