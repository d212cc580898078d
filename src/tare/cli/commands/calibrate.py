"""`tare calibrate`: compare the reference with itself (an A/A study), to learn how reliable results are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from tare import config
from tare.app import planning
from tare.app.session import Display, blocks_begun_with, carry_out
from tare.cli.commands.status import is_all_done, percent
from tare.cli.options import OutputPath
from tare.core.counting import count
from tare.plan import aa_plan
from tare.terminal.output import echo, json_option, print_json, print_table
from tare.terminal.progress import make_progress

if TYPE_CHECKING:
    from tare.analysis.trust.calibration import Calibrated, Calibration
    from tare.execution.loop_interface import LoopState


@click.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True), required=False)
@click.option(
    "--site", metavar="SITE", help="Use this site instead of the study's: local, lab, or a site file."
)
@click.option(
    "--out",
    type=OutputPath(file_okay=False, path_type=Path),
    help="Campaign folder.  [default: campaigns/STUDY-aa-DATE]",
)
@click.option(
    "--blocks", type=click.IntRange(min=3), help="Run this many blocks instead of the study's number."
)
@json_option
def command(
    study: Path | None, site: str | None, out: Path | None, blocks: int | None, as_json: bool
) -> None:
    """Compare the reference of STUDY with itself (an A/A study), to learn how reliable comparisons are.

    Both members of an A/A pair run the same command under different names, so every difference that is
    found is a false alarm. The width of the interval gives the smallest effect that this many blocks
    detect in four of five studies. STUDY is a study file, or an A/A campaign to continue. Without STUDY,
    a small built-in study runs: a ping-pong in the lab, or a copy on this machine.

    \b
    Examples:
      tare calibrate --site lab
      tare calibrate studies/demo.yaml --out campaigns/demo-aa --blocks 9
      tare report campaigns/demo-aa
    """
    from tare.analysis.accounting import account
    from tare.analysis.repeats.stop_reason import stop_reason
    from tare.analysis.trust.calibration import calibration

    loaded = _load(study, site, blocks)
    if study is not None and study.is_dir() and loaded.study.is_aa:
        planning.require_one_folder(study, out, "--out")
        folder = study
    else:
        folder = out or _default_folder(loaded.plan.study)
    echo(f"campaign {folder}", err=as_json)
    display: Display = _Quiet() if as_json else make_progress(loaded.plan)
    campaign = carry_out(folder, _as_aa_study(loaded), display)
    found = calibration(campaign)
    if as_json:
        print_json("tare.calibrate/1", {"campaign": str(folder), "site": campaign.plan.site, **_body(found)})
    else:
        _print(found, campaign.plan.site)
    if not found.rows:
        echo(
            f"tare: no case has three blocks with both members of its A/A pair; see 'tare status {folder}'",
            err=True,
        )
    if not found.rows or not is_all_done(account(campaign), stop_reason(campaign)):
        raise click.exceptions.Exit(1)


def _load(study: Path | None, site: str | None, blocks: int | None) -> planning.Loaded:
    site_file = Path(site) if site else None
    with _bundled(site) if study is None else contextlib.nullcontext(study) as path:
        loaded = planning.load(path, blocks, site_file)
        if blocks is None and loaded.study.is_aa and path.is_dir():
            return planning.load(path, blocks_begun_with(path, loaded), site_file)
        return loaded


@contextlib.contextmanager
def _bundled(site: str | None) -> Iterator[Path]:
    """Yield the file of Tare's own study for `site`; without a site, the one that this machine can run."""
    from tare.lab.mpi import is_installed, mpi_folder

    is_local = site == "local" if site else not is_installed("intelmpi", mpi_folder())
    name = f"calibrate-{'local' if is_local else 'lab'}.yaml"
    with resources.as_file(resources.files("tare").joinpath("studies", name)) as path:
        yield path


def _as_aa_study(loaded: planning.Loaded) -> planning.Loaded:
    """Return the A/A study of `loaded`, with the text of the study file that the campaign keeps."""
    if loaded.study.is_aa:
        return loaded
    text = config.as_aa_study(loaded.texts[planning.STUDY], planning.STUDY)
    return loaded._replace(
        study=msgspec.structs.replace(loaded.study, is_aa=True),
        plan=aa_plan(loaded.plan, loaded.composer.workloads),
        texts={**loaded.texts, planning.STUDY: text},
    )


def _default_folder(study: str) -> Path:
    return Path("campaigns") / f"{study}-aa-{time.strftime('%Y-%m-%dT%H%M%S')}"


class _Quiet:
    """A progress display that shows nothing, because standard output is for JSON."""

    def __enter__(self) -> Callable[[LoopState], None]:
        return lambda progress: None

    def __exit__(self, *_: object) -> None:
        return None


def _body(found: Calibration) -> dict[str, object]:
    body = msgspec.structs.asdict(found)
    return {name: value for name, value in body.items() if name != "rows"} | {"figures": found.rows}


def _print(found: Calibration, site: str) -> None:
    columns = ("workload", "", "figure", "blocks", "false alarms", "relabelled", "itself", "smallest effect")
    rows = [_line(row) for row in found.rows if row.is_primary] or [_line(row) for row in found.rows]
    if rows:
        echo()
        print_table(columns, rows, frozenset({"blocks", "relabelled", "smallest effect"}))
    echo(
        "",
        f"A/A at {site}: {count(found.false_alarms, 'false alarm')} in "
        f"{count(found.n_comparisons, 'comparison')}.",
    )
    if found.alarm_rate is None or found.interval_rate is None or found.campaign_rate is None:
        return
    promised = percent(1 - found.confidence)
    echo(
        f"With labels swapped in {found.n_relabellings} ways, {percent(found.alarm_rate)} of the verdicts "
        f"are false, and {percent(found.campaign_rate)} of such campaigns have one or more.",
        f"Of their intervals, one by one, {percent(found.interval_rate)} exclude 1; "
        f"{promised} is what they promise.",
    )


def _line(row: Calibrated) -> list[str]:
    shared = " ".join(f"{name}={value}" for name, value in row.at.items() if name != "workload")
    has_interval = row.ratio is not None and row.low is not None and row.high is not None
    return [
        str(row.at.get("workload", "")),
        shared,
        row.fom,
        str(row.n_blocks),
        f"{row.false_alarms} of {row.n_comparisons}",
        "" if row.alarm_rate is None else percent(row.alarm_rate),
        f"× {row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]" if has_interval else "",
        "" if row.detectable is None else percent(row.detectable),
    ]
