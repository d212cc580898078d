"""What `tare compare` says against its own numbers."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from click.testing import CliRunner

from support.slowing import slowed
from support.synthetic import make_campaign, write_campaign
from tare.cli.commands.compare import command
from tare.core.attempt import State
from tare.core.campaign import Campaign
from tare.core.case import Case


def slow_start(case: Case, block: int) -> float:
    return 1.3 if case.network == "overlay" and block == 1 else 1.0


def troubled() -> Campaign:
    return slowed(make_campaign(blocks=10, noise=0.005), slow_start)


def compare(campaign: Campaign, folder: Path, *options: str) -> str:
    write_campaign(campaign, folder / "campaign")
    return CliRunner().invoke(command, [str(folder / "campaign"), *options], catch_exceptions=False).stdout


def test_a_serious_quality_warning_is_a_line_below_the_table(tmp_path: Path) -> None:
    out = compare(troubled(), tmp_path)
    assert "Results to treat with caution" in out
    [line] = [line for line in out.splitlines() if "stands apart" in line]
    assert line.startswith("  overlay · synthetic.pingpong · 2 nodes, latency: block 1 stands apart")


def test_nothing_is_reported_where_there_is_no_quality_warning(tmp_path: Path) -> None:
    assert "Results to treat with caution" not in compare(make_campaign(blocks=8, noise=0.005), tmp_path)


def test_runs_far_off_are_counted_in_one_line(tmp_path: Path) -> None:
    def odd(case: Case, block: int) -> float:
        return 1.8 if case.network == "overlay" and block in (4, 6) else 1.0

    out = compare(slowed(make_campaign(blocks=12, noise=0.005), odd), tmp_path)
    assert "  2 runs lie far off the others of a case" in out


def test_runs_of_a_side_that_failed_are_told_below_its_verdict(tmp_path: Path) -> None:
    """Half of the runs of overlay failed: that it is alike in the others is not all that there is to say."""
    whole = make_campaign(ratio=1.0, noise=0.001, blocks=10)
    overlay = whole.plan.cases[1].id
    attempts = tuple(
        msgspec.structs.replace(one, state=State.FAILED, reason="segmentation fault", series=[])
        if one.case == overlay and one.block % 2
        else one
        for one in whole.attempts
    )
    broken = msgspec.structs.replace(whole, attempts=attempts)
    out = compare(broken, tmp_path / "a")
    assert "Runs that do not count:" in out
    assert "  overlay · synthetic.pingpong · 2 nodes: 5 of 10 failed" in out
    (told,) = json.loads(compare(broken, tmp_path / "b", "--json"))["uncounted"]
    assert told == {"case": overlay, "n_runs": 10, "counts": {"failed": 5}}
    assert "do not count" not in compare(whole, tmp_path / "c")


def test_json_has_quality_warnings_and_variability_under_the_documented_keys(tmp_path: Path) -> None:
    found = json.loads(compare(troubled(), tmp_path, "--json"))
    keys = {
        "schema",
        "figures",
        "comparisons",
        "doubts",
        "variability",
        "confounders",
        "uncounted",
        "networks",
        "imprecision",
        "session_changes",
        "without_reference",
    }
    assert set(found) == keys
    [doubt] = found["doubts"]
    assert set(doubt) == {
        *("case", "at", "fom", "unit", "suspicion", "is_serious", "may_wander", "finding"),
        *("blocks", "n_blocks", "size", "levels", "p", "is_of_ratio", "labels"),
        *("n_alike", "n_cases", "is_beside_others"),
    }
    assert (doubt["suspicion"], doubt["blocks"], doubt["at"]["network"]) == ("warm-up", [1], "overlay")
    assert [one["fom"] for one in found["variability"]] == ["latency", "bandwidth"]
    assert set(found["variability"][0]) == {
        *("fom", "unit", "at", "reference", "contender", "n_blocks", "reference_cv", "contender_cv"),
        *("ratio", "low", "high", "confidence", "verdict", "note", "n_comparisons"),
        *("p_value", "p_adjusted", "p_equivalence", "p_equivalence_adjusted"),
    }
