"""`tare compare --against`: compare a campaign with published results."""

from __future__ import annotations

from collections.abc import Sequence

from tare.cli.comparison_table import describe_verdict, format_ratio
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.errors import UsageError
from tare.core.values import Settings
from tare.terminal.output import echo, print_table

_PREFIX = "published:"


def read_against(text: str) -> Campaign:
    """Return the results of ``published:NAME`` or ``published:NAME/SERIES`` as a campaign.

    Raises UsageError if there are none.
    """
    from tare.published import as_campaign, read_publication

    if not text.startswith(_PREFIX):
        raise UsageError(
            f"--against {text}: write published:NAME or published:NAME/SERIES; 'tare published' lists them"
        )
    return as_campaign(read_publication(text))


def print_against(ours: Campaign, theirs: Campaign, found: Sequence[Comparison], text: str) -> None:
    """Print one row for each figure that both have, and the settings that differ."""
    if not found:
        from tare.analysis.other_campaign import apart

        if reasons := apart(ours, theirs):
            echo(f"Nothing that is alike: {'; '.join(reasons)}.")
            return
        workloads = ", ".join(sorted({case.workload for case in theirs.plan.cases}))
        echo(f"Nothing in common: {text} has figures of {workloads} that this campaign has not measured.")
        return
    columns = ("here", "published", "workload", "at", "figure of merit", "ratio − 1", "n", "verdict")
    rows = [
        (
            _settings_text(ours.cases[one.contender_case].settings, ours.plan.varied),
            _settings_text(theirs.cases[one.reference_case].settings, theirs.plan.varied),
            str(one.at["workload"]),
            " ".join(f"{name}={value}" for name, value in one.at.items() if name != "workload"),
            f"{one.fom}, {one.unit}",
            format_ratio(one),
            str(one.n_blocks),
            describe_verdict(one),
        )
        for one in found
    ]
    print_table(columns, rows, frozenset({"n"}), optional=frozenset({"here", "published", "at"}))
    echo("", f"Each is what is measured here over {text}, less one; n is the runs of the side with fewer.")
    differing = _differing(found, {*ours.plan.varied, *theirs.plan.varied})
    if differing:
        echo(f"Not the same on both sides: {differing}.")
    echo("What a publication does not state, such as the size of the problem, may differ too.")


def _settings_text(settings: Settings, varied: Sequence[str]) -> str:
    return " ".join(f"{name}={settings[name]}" for name in varied if name in settings and name != "workload")


def _differing(found: Sequence[Comparison], shown: set[str]) -> str:
    """Return the settings that differ and that no row shows, such as ``nodes (published 8, here 2)``."""
    pairs = {
        f"{name} (published {value}, here {one.contender[name]})": None
        for one in found
        for name, value in one.reference.items()
        if name in one.contender and name not in shown
    }
    return ", ".join(pairs)
