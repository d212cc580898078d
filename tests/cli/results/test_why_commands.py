"""`tare why`, `tare predict` and `tare tolerance` on one campaign folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from support.curves import Wire, curves_campaign
from support.profiled import BASE, as_recorded, profiled_campaign
from support.synthetic import make_campaign, make_case, write_campaign
from tare.cli.commands import predict, tolerance, why
from tare.core.attempt import State
from tare.storage.campaign import JOURNAL

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


_NO_COMPILER = "no profile, because the image has no compiler\x1b[2J"


@pytest.mark.parametrize("module", [predict, tolerance, why])
def test_profiled_runs_that_all_failed_say_why_and_not_how_to_make_them(
    tmp_path: Path, module: object
) -> None:
    campaign = as_recorded(profiled_campaign(tmp_path, BASE, BASE, blocks=3))
    profiled = {case.id for case in campaign.plan.profiled}
    failed = tuple(
        msgspec.structs.replace(one, state=State.INVALID, reason=_NO_COMPILER)
        if one.case in profiled
        else one
        for one in campaign.attempts
    )
    (tmp_path / JOURNAL).unlink()
    write_campaign(msgspec.structs.replace(campaign, attempts=failed), tmp_path)
    shown = CliRunner().invoke(module.command, [str(tmp_path)])  # type: ignore[attr-defined]
    assert shown.exit_code == 0, shown.output
    assert "no profile, because the image has no compiler" in shown.output
    assert "--profile" not in shown.output
    assert "\x1b" not in shown.output


@pytest.mark.parametrize("module", [predict, tolerance])
def test_programs_on_one_node_are_named_as_the_reason(tmp_path: Path, module: object) -> None:
    cases = [make_case(one, workload="synthetic.program", nodes=1) for one in ("host", "overlay")]
    profiled_campaign(tmp_path / "program", BASE, BASE, cases=cases)
    write_campaign(curves_campaign(_NETWORKS), tmp_path / "curves")
    arguments = [str(tmp_path / "program"), "--curves", str(tmp_path / "curves")]
    shown = CliRunner().invoke(module.command, arguments)  # type: ignore[attr-defined]
    assert shown.exit_code == 0, shown.output
    assert "all profiled runs are on one node" in shown.output
    assert "no curves" not in shown.output
