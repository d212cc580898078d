"""`tare why`, `tare predict` and `tare tolerance` on one campaign folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from support.curves import Wire, curves_campaign
from support.profiled import BASE, profiled_campaign
from support.synthetic import make_campaign, write_campaign
from tare.cli.commands import predict, tolerance, why

_NETWORKS = {"host": Wire(10e-6, 1e9), "overlay": Wire(60e-6, 2e8)}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    """Return the folders of a profiled program and of curves."""
    profiled_campaign(tmp_path / "program", BASE, BASE)
    write_campaign(curves_campaign(_NETWORKS), tmp_path / "curves")
    return str(tmp_path / "program"), str(tmp_path / "curves")


def test_predict_prints_the_difference_and_its_rows(folders: tuple[str, str]) -> None:
    shown = CliRunner().invoke(predict.command, [folders[0], "--curves", folders[1]])
    assert shown.exit_code == 0, shown.output
    assert "synthetic.program on overlay is predicted to take" in shown.output
    assert "MPI_Allreduce" in shown.output


def test_predict_without_curves_says_what_is_missing(folders: tuple[str, str]) -> None:
    shown = CliRunner().invoke(predict.command, [folders[0]])
    assert shown.exit_code == 0
    assert "name another one with --curves" in shown.output


def test_tolerance_prints_the_sentence_and_three_limits(folders: tuple[str, str]) -> None:
    shown = CliRunner().invoke(tolerance.command, [folders[0], "--curves", folders[1]])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("By the messages of its busiest rank, at 2 nodes synthetic.program stands")
    assert sum(line.startswith("synthetic.program") for line in shown.output.splitlines()) == 3


@pytest.mark.parametrize(
    ("module", "schema"), [(predict, "tare.predict/1"), (tolerance, "tare.tolerance/1"), (why, "tare.why/1")]
)
def test_each_has_json(folders: tuple[str, str], module: object, schema: str) -> None:
    options = [folders[0], "--json"] + (["--curves", folders[1]] if module is not why else [])
    shown = CliRunner().invoke(module.command, options)  # type: ignore[attr-defined]
    assert msgspec.json.decode(shown.stdout_bytes)["schema"] == schema


@pytest.mark.parametrize("module", [predict, tolerance, why])
def test_a_campaign_without_profiles_says_how_to_make_them(tmp_path: Path, module: object) -> None:
    folder = write_campaign(make_campaign(), tmp_path / "plain")
    shown = CliRunner().invoke(module.command, [str(folder)])  # type: ignore[attr-defined]
    assert shown.exit_code == 0, shown.output
    assert "tare run --profile" in shown.output
