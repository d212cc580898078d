"""Published results: the tables, their mapping, and comparisons with them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from support.synthetic import make_case, write_campaign
from tare import published
from tare.analysis.verdicts.compare import comparisons
from tare.analysis.verdicts.other_campaign import against
from tare.cli.commands import compare as compare_command
from tare.cli.commands import import_, report, status
from tare.cli.commands import published as published_command
from tare.core.attempt import Attempt, Series, State
from tare.core.campaign import Campaign
from tare.core.case import Case, Layout
from tare.core.errors import UsageError
from tare.core.plan import Plan
from tare.core.study import Repeats
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.plugins import registry
from tare.storage.campaign import read_campaign

FIGURES = {
    "hpcc-fabrics": 32,
    "hpcg-containers": 9,
    "network-containers": 8,
    "openfoam-fabrics": 8,
    "osu-alltoall-containers": 10,
}
"""How many figures the publications have."""


def invoke(command: object, *arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [*map(str, arguments)], catch_exceptions=False)  # type: ignore[arg-type]  # a click command


def figure(name: str, fom: str, **settings: object) -> list[float]:
    return [
        one.value
        for one in published.read_publication(name).figures
        if one.kind.fom == fom and all(one.settings.get(key) == value for key, value in settings.items())
    ]


def test_every_figure_of_every_table_is_there() -> None:
    assert {name: len(published.read_publication(name).figures) for name in published.names()} == FIGURES


def test_figures_are_those_of_the_tables_in_the_units_of_tare() -> None:
    assert figure("hpcc-fabrics", "HPL_Tflops", network="ib-100g") == [5.476]
    assert figure("hpcc-fabrics", "RandomlyOrderedRingLatency_usec", network="roce-25g") == [2.508]
    assert figure("hpcg-containers", "rating", platform="bare", nx=104) == [5.28937, 5.30873]
    assert figure("network-containers", "throughput", platform="bare") == [0.938, 0.937, 6.37, 5.69]
    assert figure("network-containers", "bandwidth", platform="docker") == [5.07]
    assert figure("openfoam-fabrics", "clock_time", network="tcp-25g", nodes=8) == [560.37]
    assert figure("openfoam-fabrics", "clock_time", network="tcp-25g", nodes=4) == [347.19]
    assert figure("osu-alltoall-containers", "latency", platform="bare") == [
        1.83,
        1.82,
        1.74,
        1.63,
        1.62,
        1.68,
    ]
    assert figure("osu-alltoall-containers", "latency_small_mean", platform="centos-7") == [1.41]


@pytest.mark.parametrize("name", list(FIGURES))
def test_each_figure_stands_on_the_line_that_it_names(name: str) -> None:
    publication = published.read_publication(name)
    lines = publication.file.read_text().splitlines()
    for one in publication.figures:
        cells = lines[one.line - 1].split(",")
        told = [float(cell) for cell in cells if cell.replace(".", "", 1).isdigit()]
        assert any(math.isclose(one.value, number * factor) for number in told for factor in (1, 0.001))


@pytest.mark.parametrize("name", list(FIGURES))
def test_what_is_stated_to_have_a_counterpart_has_it_in_that_unit_and_direction(name: str) -> None:
    known = registry.workloads()
    for one in published.read_publication(name).figures:
        foms = {fom.name: fom for fom in known[one.kind.workload].foms}
        assert (one.kind.fom in foms) == one.kind.has_counterpart
        if one.kind.has_counterpart:
            fom = foms[one.kind.fom]
            assert (fom.unit, fom.better, fom.by) == (one.kind.unit, one.kind.better, tuple(one.kind.at))


@pytest.mark.parametrize("name", list(FIGURES))
def test_the_source_is_named(name: str) -> None:
    publication = published.read_publication(name)
    assert publication.source.startswith(("StackHPC, ", "C. Kniep, "))
    assert publication.source.endswith(('"', ")"))


def test_a_series_is_read_by_its_name_and_a_wrong_one_states_which_there_are() -> None:
    assert len(published.read_publication("published:hpcc-fabrics/ib-100g").figures) == 8
    with pytest.raises(UsageError, match="tcp-10g, tcp-25g, ib-100g, roce-25g"):
        published.read_publication("hpcc-fabrics/ib")
    with pytest.raises(UsageError, match="did you mean 'hpcc-fabrics'"):
        published.read_publication("hpcc-fabric")


def test_repeats_on_different_days_are_not_paired() -> None:
    campaign = published.as_campaign(published.read_publication("hpcg-containers"))
    assert sorted(one.block for one in campaign.attempts) == list(range(1, 10))
    found = [one for one in comparisons(campaign) if one.contender["platform"] == "docker"]
    assert [(one.n_blocks, one.low, one.verdict) for one in found] == [(2, None, Verdict.UNDECIDED)]
    assert found[0].ratio == pytest.approx(
        math.prod((5.39522, 5.38519, 5.4443)) ** (1 / 3) / math.sqrt(5.28937 * 5.30873)
    )


def hpcg_campaign(ratings: list[float], nx: int = 104, **parameters: int) -> Campaign:
    case = Case(
        id="ours",
        workload="hpcg",
        platform="ours",
        layout=Layout(nodes=2, ranks=8, ranks_per_node=4),
        parameters={"nx": nx, **parameters},
    )
    plan = Plan(study="ours", site="here", cases=(case,), repeats=Repeats(min=3, max=3))
    attempts = [
        Attempt(
            case="ours",
            block=block,
            attempt=1,
            state=State.DONE,
            started_at=1e9,
            series=[Series(fom="rating", unit="Gflop/s", better=Better.HIGHER, values=[rating])],
        )
        for block, rating in enumerate(ratings, 1)
    ]
    orders = {block: ["ours"] for block in range(1, len(ratings) + 1)}
    return Campaign(folder=Path("ours"), plan=plan, attempts=tuple(attempts), orders=orders)


def test_a_single_published_run_gives_a_ratio_and_no_verdict() -> None:
    theirs = published.as_campaign(published.read_publication("hpcg-containers/bare-after"))
    (found,) = against(hpcg_campaign([10.6, 10.7, 10.5]), theirs)
    assert found.ratio == pytest.approx((10.6 * 10.7 * 10.5) ** (1 / 3) / 5.31681)
    assert (found.low, found.high, found.verdict) == (None, None, Verdict.UNDECIDED)
    assert found.note == "1 published run and 3 here: an interval takes 3 on both sides"
    assert found.reference["nodes"] == 8
    assert found.contender["nodes"] == 2


def test_three_published_runs_give_an_unpaired_interval() -> None:
    theirs = published.as_campaign(published.read_publication("hpcg-containers/docker"))
    (found,) = against(hpcg_campaign([10.6, 10.7, 10.5]), theirs)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 10.6 / 5.408 < found.high
    assert found.verdict is Verdict.BETTER
    assert found.note.startswith("unpaired")
    (few,) = against(hpcg_campaign([10.6, 10.7]), theirs)
    assert (few.low, few.verdict) == (None, Verdict.UNDECIDED)


def test_figures_meet_only_at_the_numbers_that_vary_in_the_publication() -> None:
    theirs = published.as_campaign(published.read_publication("hpcg-containers"))
    at_144 = against(hpcg_campaign([10.0], nx=144), theirs)
    assert [one.reference["platform"] for one in at_144] == ["bare"]
    assert against(hpcg_campaign([10.0], nx=64), theirs) == []


def test_other_workloads_and_foms_do_not_meet() -> None:
    theirs = published.as_campaign(published.read_publication("hpcc-fabrics"))
    assert against(hpcg_campaign([10.0]), theirs) == []


def test_compare_against_prints_what_differs_and_json_names_the_reference(tmp_path: Path) -> None:
    folder = write_campaign(hpcg_campaign([10.6, 10.7, 10.5]), tmp_path / "ours")
    options = (folder, "--against", "published:hpcg-containers/docker")
    shown = invoke(compare_command.command, *options).stdout
    assert "+96.0 % [" in shown or "+96 % [" in shown
    assert "▼ better (unpaired)" in shown
    assert "nodes (published 8, here 2)" in shown
    body = json.loads(invoke(compare_command.command, *options, "--json").stdout)
    assert (body["schema"], body["against"]) == ("tare.compare/1", "published:hpcg-containers/docker")
    assert len(body["comparisons"]) == 1


def test_compare_against_with_nothing_in_common_reports_it(tmp_path: Path) -> None:
    folder = write_campaign(hpcg_campaign([10.0]), tmp_path / "ours")
    shown = invoke(compare_command.command, folder, "--against", "published:hpcc-fabrics").stdout
    assert shown.startswith("Nothing in common: published:hpcc-fabrics has figures of hpcc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--against", "hpcc-fabrics"), "write published:NAME"),
        (("--against", "published:nothing"), "no published results are called 'nothing'"),
        (("--against", "published:hpcc-fabrics", "--reference", "nodes=2"), "leave --reference out"),
        (("--against", "published:hpcg-containers", "--fom", "ratings"), "choose from rating"),
    ],
)
def test_a_wrong_reference_states_what_would_be_right(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    folder = write_campaign(hpcg_campaign([10.0]), tmp_path / "ours")
    with pytest.raises(UsageError, match=message):
        invoke(compare_command.command, folder, *options)


@pytest.mark.parametrize("name", list(FIGURES))
def test_a_publication_becomes_a_campaign_that_other_commands_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    assert invoke(published_command.command, name, "--out", folder).exit_code == 0
    campaign = read_campaign(folder)
    n_values = sum(len(series.values) for one in campaign.attempts for series in one.series)
    assert n_values == FIGURES[name]
    raw = published.read_publication(name).file.read_bytes()
    assert all((folder / one.folder / "stdout").read_bytes() == raw for one in campaign.attempts)
    n_runs = len(campaign.attempts)
    assert f"{n_runs} of {n_runs} runs done" in invoke(status.command, folder).stdout
    body = json.loads(invoke(compare_command.command, folder, "--json").stdout)
    assert {one["verdict"] for one in body["comparisons"]} == {"undecided"}
    assert {one["low"] for one in body["comparisons"]} == {None}


def test_the_report_of_a_publication_has_its_figures_and_no_invented_dates(tmp_path: Path) -> None:
    invoke(published_command.command, "openfoam-fabrics", "--out", tmp_path / "c")
    page = Path(invoke(report.command, tmp_path / "c").stdout.strip()).read_text()
    assert "roce-25g" in page
    assert "1970-01-01" not in page


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="choose another --out"):
        invoke(published_command.command, "hpcc-fabrics", "--out", tmp_path)


def test_the_list_has_every_table_and_its_source() -> None:
    lines = invoke(published_command.command).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == list(FIGURES)
    assert all("StackHPC" in line or "C. Kniep" in line for line in lines[1:6])
    body = json.loads(invoke(published_command.command, "--json").stdout)
    assert [one["n_figures"] for one in body["publications"]] == list(FIGURES.values())


def test_one_table_is_printed_with_its_source_and_as_json_with_every_figure() -> None:
    shown = invoke(published_command.command, "network-containers").stdout
    assert shown.startswith("Network figures on the same cluster")
    assert "0.938" in shown
    body = json.loads(invoke(published_command.command, "network-containers", "--json").stdout)
    (publication,) = body["publications"]
    assert all(one["has_counterpart"] for one in publication["figures"])
    assert publication["figures"][4]["at"] == {"test": "rc_bi_bw"}


def test_a_case_without_a_setting_that_varies_meets_all() -> None:
    case = msgspec.structs.replace(make_case("host", workload="hpcg"), id="ours")
    ours = hpcg_campaign([10.0, 10.0, 10.0])
    ours = msgspec.structs.replace(ours, plan=msgspec.structs.replace(ours.plan, cases=(case,)))
    theirs = published.as_campaign(published.read_publication("hpcg-containers/bare"))
    assert [one.reference.get("nx") for one in against(ours, theirs)] == [104, 144]


def test_one_direction_is_not_held_against_both(tmp_path: Path) -> None:
    row = "[  3]  0.0-10.0 sec  1.09 GBytes  0.94 Gbits/sec\n"
    other = row.replace("3", "4", 1)
    log = tmp_path / "one.txt"
    log.write_text(
        "Client connecting to 10.0.0.2, TCP port 5001\n"
        f"[  3] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001\n{row}"
    )
    both = tmp_path / "both.txt"
    both.write_text(
        "Server listening on TCP port 5002\nClient connecting to 10.0.0.2, TCP port 5001\n"
        "[  3] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001\n"
        f"[  4] local 10.0.0.1 port 5002 connected with 10.0.0.2 port 40002\n{row}{other}"
    )
    shown = {}
    for path in (log, both):
        folder = tmp_path / path.stem
        told = ("--set", "nodes=2", "--set", "ranks=2")
        invoke(import_.command, "iperf2", str(path), "--out", str(folder), *told)
        against = "published:network-containers/ethernet+bare"
        shown[path.stem] = invoke(compare_command.command, str(folder), "--against", against).stdout
    assert "throughput of iperf2 is told by direction where it is published, and not" in shown["one"]
    assert "direction=client to server" in shown["both"]
    assert "direction=server to client" in shown["both"]
