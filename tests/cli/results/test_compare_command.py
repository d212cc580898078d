"""`tare compare`, from a campaign folder to what it prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from support.synthetic import SIZES, make_campaign, make_case, write_campaign
from tare.cli.commands.compare import command
from tare.cli.comparison_table import format_ratio
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.errors import UsageError
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.report.variants import lay_out
from truth.campaigns import TIME, Figure, Truth, by_level, write
from truth.campaigns import campaign as campaign_of
from truth.noise import lognormal

KEYS = {
    *("fom", "unit", "better", "at", "reference", "contender", "n_blocks"),
    *("over", "reference_level", "contender_level"),
    *("ratio", "change", "low", "high", "confidence", "verdict", "note"),
    *("p_value", "p_adjusted", "p_equivalence", "p_equivalence_adjusted", "family", "correction"),
    *(
        "hodges_lehmann",
        "detectable",
        "more_blocks",
        "is_paired",
        "is_apart",
        "is_uncrossed",
        "look",
        "may_miss",
        "assumes_independence",
    ),
    *("planned_blocks", "mean", "paid", "withheld_by", "rounding", "rounding_hides", "margin", "timed_out"),
}

COLUMNS = ["contender", "workload", "at", "figure of merit", "against host", "n", "verdict"]


@pytest.fixture
def campaign() -> Campaign:
    cases = [
        make_case(network, nodes=nodes) for network in ("host", "overlay", "macvlan") for nodes in (2, 4)
    ]
    return make_campaign(cases, ratio={"overlay": 1.68, "macvlan": 1.0}, noise=0.001)


@pytest.fixture
def folder(campaign: Campaign, tmp_path: Path) -> Path:
    return write_campaign(campaign, tmp_path / "campaign")


def compare(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(command, [str(folder), *options], catch_exceptions=False)


def test_the_table_has_one_row_a_contender_scale_and_fom_in_words(folder: Path) -> None:
    lines = compare(folder).stdout.splitlines()
    assert re.split(r"\s{2,}", lines[0]) == COLUMNS
    rows = [line for line in lines if line.startswith(("overlay", "macvlan"))]
    assert len(rows) == 2 * 2 * 2
    assert "+68.0 % [" in rows[0]
    assert rows[0].endswith("▲ worse")
    assert "≈ equivalent: " in rows[-1]
    assert "nodes=2" in rows[0]
    assert "ranks=" not in rows[0]  # the nodes imply them


def test_all_shows_every_size_and_fom_only_what_it_names(folder: Path) -> None:
    lines = compare(folder, "--all", "--fom", "latency").stdout.splitlines()
    rows = [line for line in lines if line.startswith(("overlay", "macvlan"))]
    assert len(rows) == 2 * 2 * len(SIZES)
    assert all("latency, us" in row for row in rows)
    assert "bytes=1024" in rows[1]


def test_json_holds_every_fom_and_coordinate_under_exactly_the_documented_keys(folder: Path) -> None:
    document = json.loads(compare(folder, "--json").stdout)
    keys = {
        "schema",
        "figures",
        "comparisons",
        "doubts",
        "imprecision",
        "session_changes",
        "variability",
        "confounders",
        "uncounted",
        "networks",
        "without_reference",
    }
    assert set(document) == keys
    assert document["schema"] == "tare.compare/1"
    assert len(document["comparisons"]) == 2 * 2 * 2 * len(SIZES)
    assert all(set(one) == KEYS for one in document["comparisons"])
    first = document["comparisons"][0]
    assert first["at"] == {"workload": "synthetic.pingpong", "nodes": 2, "ranks": 2, "bytes": 1}
    assert (first["reference"], first["contender"]) == ({"network": "host"}, {"network": "overlay"})
    assert (first["better"], first["verdict"], first["n_blocks"]) == ("lower", "worse", 5)
    assert (first["family"], first["correction"]) == (2 * 2 * 2 * len(SIZES), "fdr")
    assert first["p_value"] <= first["p_adjusted"] < 0.05 < first["p_equivalence_adjusted"]
    assert set(first["hodges_lehmann"]) == {"ratio", "low", "high", "confidence"}
    assert first["hodges_lehmann"]["confidence"] == 0.9375
    assert first["more_blocks"] is None


def test_the_verdicts_of_a_table_are_drawn_together_and_the_output_explains_how(folder: Path) -> None:
    table = "Among 8 comparisons the chance that any 'worse' or 'better' is false is at most 5 %"
    assert table in compare(folder).stdout
    assert table in compare(folder, "--fom", "latency").stdout  # what is not shown was judged, too
    assert (
        "at most 5 % of those called worse or better are not, in the mean" in compare(folder, "--all").stdout
    )
    assert "Each of 8 comparisons is judged by itself" in compare(folder, "--correction", "none").stdout


MIXED = Truth(
    factors={"network": ("host", "overlay", "macvlan"), "nodes": (2, 4, 8, 16)},
    workloads={
        "synthetic.solver": (
            TIME,
            Figure(name="io", is_primary=False),
            Figure(name="setup", is_primary=False),
        ),
        "synthetic.pingpong": (
            Figure(name="latency", unit="us", at={"bytes": (1, 64, 4096)}, noise=lognormal(0.01)),
        ),
    },
    slowing=by_level("network", {"overlay": 1.03}),
    noise=lognormal(0.012),
)


def test_the_json_has_every_row_of_the_table_with_the_same_verdict(tmp_path: Path) -> None:
    folder = write(MIXED, tmp_path / "campaign")
    document = json.loads(compare(folder, "--json").stdout)
    for options, key in (((), "figures"), (("--all",), "comparisons")):
        table = compare(folder, *options).stdout.splitlines()
        told = [line for line in table if line.startswith(("overlay", "macvlan"))]
        rows = [one for one in document[key] if key == "comparisons" or one["fom"] not in ("io", "setup")]
        signs = {"worse": "▲", "better": "▼", "equivalent": "≈", "undecided": "?"}
        assert len(told) == len(rows)
        for line, one in zip(told, rows, strict=True):
            assert f"{one['fom']}, " in line
            assert f"{signs[one['verdict']]} {one['verdict']}" in line
            assert one["more_blocks"] is None or f"~{one['more_blocks']} more block" in line


def test_beside_same_stands_how_rare_a_slow_mode_so_many_blocks_may_miss(folder: Path) -> None:
    rows = [line for line in compare(folder).stdout.splitlines() if "≈ equivalent" in line]
    assert rows
    assert all("≈ equivalent: may miss a slow mode of up to 45 % of the runs" in row for row in rows)
    (one, *_) = json.loads(compare(folder, "--json").stdout)["figures"]
    assert one["may_miss"] == pytest.approx(0.45, abs=0.01)
    assert one["look"] == 1


def test_a_figure_with_one_point_has_one_verdict_wherever_it_is_shown(tmp_path: Path) -> None:
    folder = write(MIXED, tmp_path / "campaign")
    document = json.loads(compare(folder, "--json").stdout)
    judged = (
        "verdict",
        "p_adjusted",
        "p_equivalence_adjusted",
        "family",
        "correction",
        "more_blocks",
        "note",
    )
    figures, points = (
        {
            (one["fom"], *one["contender"].values(), *one["at"].values()): [one[name] for name in judged]
            for one in document[key]
            if "bytes" not in one["at"] and one["fom"] != "latency"
        }
        for key in ("figures", "comparisons")
    )
    assert len(figures) == 3 * 2 * 4
    assert figures == points
    alone = json.loads(compare(folder, "--json", "--fom", "io").stdout)
    assert [one["verdict"] for one in alone["figures"]] == [
        one["verdict"] for one in document["figures"] if one["fom"] == "io"
    ]


def test_an_undecided_row_reports_what_it_needs_and_what_it_would_be_alone(tmp_path: Path) -> None:
    cases = [make_case(network, nodes=nodes) for network in ("host", "overlay") for nodes in range(2, 14)]
    folder = write_campaign(make_campaign(cases, ratio=1.05, noise=0.015), tmp_path / "campaign")
    together, alone = compare(folder).stdout, compare(folder, "--correction", "none").stdout
    assert re.search(
        r"\? undecided: needs ~\d+ more blocks?; a difference alone, but not among 24 comparisons", together
    )
    assert alone.count("▲ worse") > together.count("▲ worse")


def test_a_ratio_beyond_tenfold_is_explained_by_itself(tmp_path: Path) -> None:
    folder = write_campaign(make_campaign(ratio=21.0, noise=0.002), tmp_path / "campaign")
    out = compare(folder).stdout
    (ratio,) = re.findall("Beyond tenfold it is the ratio itself: (.*) that of", out)
    assert f" {ratio} [" in out


def test_another_reference_and_margin_give_another_verdict(folder: Path) -> None:
    turned = compare(folder, "--reference", "network=overlay", "--fom", "latency").stdout
    assert "against overlay" in turned
    assert "▼ better" in turned
    assert "▲ worse" not in compare(folder, "--margin", "80 %").stdout


def test_a_reference_of_numbers_is_written_as_text(folder: Path) -> None:
    document = json.loads(
        compare(folder, "--reference", "nodes=2", "--reference", "ranks=2", "--json").stdout
    )
    assert document["comparisons"][0]["contender"] == {"nodes": 4, "ranks": 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reference", "network"), "write KEY=VALUE"),
        (("--reference", "network=hots"), "network is one of host, overlay, macvlan"),
        (
            ("--reference", "network=host", "--reference", "network=overlay"),
            "network is there twice; leave one out",
        ),
        (("--fom", "latencies"), "choose from bandwidth, latency"),
    ],
)
def test_the_error_of_a_wrong_option_has_the_cure(
    folder: Path, options: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare(folder, *options)


@pytest.mark.parametrize("margin", ["much", "-1%", "3", "100%"])
def test_a_margin_must_be_a_share(folder: Path, margin: str) -> None:
    result = compare(folder, "--margin", margin)
    assert result.exit_code == 2
    assert "margin" in result.stderr


def test_a_study_without_a_reference_asks_for_one(tmp_path: Path) -> None:
    folder = write_campaign(make_campaign(reference={}), tmp_path / "campaign")
    with pytest.raises(UsageError, match=r"--reference KEY=VALUE.*network"):
        compare(folder)


def test_a_campaign_that_has_not_measured_anything_is_explained(campaign: Campaign, tmp_path: Path) -> None:
    nothing = msgspec.structs.replace(campaign, attempts=(), orders={})
    folder = write_campaign(nothing, tmp_path / "campaign")
    assert "Nothing to compare yet" in compare(folder).stdout
    assert json.loads(compare(folder, "--json").stdout)["comparisons"] == []


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (1.68, 1.61, 1.75, "+68 % [61, 75]"),
        (0.78, 0.775, 0.785, "−22 % [−22, −21]"),
        (1.0, 0.9995, 1.0005, "0.00 % [−0.05, 0.05]"),
        (2.5, None, None, "+150 %"),
        (160.92, 155.2, 166.9, "161 × [155, 167]"),
        (0.001, 0.0009, 0.0011, "1/1 000 × [1/1 111, 1/909]"),
        (None, None, None, "–"),
    ],
)
def test_a_ratio_is_written_with_the_digits_that_its_interval_allows(
    ratio: float | None, low: float | None, high: float | None, text: str
) -> None:
    one = Comparison(
        fom="latency",
        unit="us",
        better=None,
        at={},
        reference={},
        contender={},
        reference_case="a",
        contender_case="b",
        n_blocks=5,
        ratio=ratio,
        low=low,
        high=high,
        confidence=0.95,
        verdict=Verdict.UNDECIDED,
    )
    assert format_ratio(one) == text


def test_variants_of_two_factors_have_the_names_that_the_report_gives_them(tmp_path: Path) -> None:
    truth = Truth(
        factors={"network": ("host", "overlay"), "platform": ("bare", "docker")},
        reference={"network": "host", "platform": "bare"},
    )
    found = campaign_of(truth)
    names = {one.name for one in lay_out(found, ()).all}
    table = compare(write_campaign(found, tmp_path / "c"), "--all").stdout
    told = {line.split("  ")[0] for line in table.splitlines() if "synthetic.solver" in line}
    assert told == {"bare · overlay", "docker · host", "docker · overlay"}
    assert told | {"bare · host"} == names
    assert "against bare · host" in table


def test_a_contender_with_another_problem_than_its_reference_is_named_by_it(tmp_path: Path) -> None:
    """Listed cases are coupled: `cases: [{network: host, n: 12}, {network: overlay, n: 14}, …]`."""
    sides = (("host", 12), ("overlay", 12), ("overlay", 14))
    found = make_campaign([make_case(network, parameters={"n": n}) for network, n in sides])
    plan = msgspec.structs.replace(found.plan, together=(("network", "n"),))
    folder = write_campaign(msgspec.structs.replace(found, plan=plan), tmp_path / "c")
    told = {line.split("  ")[0] for line in compare(folder).stdout.splitlines() if "pingpong" in line}
    assert told == {"overlay", "overlay · n=14 against 12"}


def test_the_figures_that_the_table_leaves_out_are_named(tmp_path: Path) -> None:
    figures = (TIME, *(Figure(name=f"side{number}", is_primary=False) for number in range(8)))
    shown = compare(write(Truth(workloads={"solver": figures}, blocks=3), tmp_path / "c")).stdout
    assert re.search(
        r"8 more figures were measured: .*: side0, side1, side2, side3, side4, side5, …\.", shown
    )


def test_the_margin_that_is_asked_about_is_that_of_the_quality_warnings(tmp_path: Path) -> None:
    folder = write(Truth(noise=lognormal(0.2), blocks=6), tmp_path / "c")
    assert re.search(r"where 2\s%\swas asked about", compare(folder).stdout)
    wide = compare(folder, "--margin", "60 %").stdout
    assert "equivalent where the whole interval is within ± 60 %" in wide
    assert "asked about" not in wide
    assert re.search(r"where 1\s%\swas asked about", compare(folder, "--margin", "1 %").stdout)
    assert json.loads(compare(folder, "--margin", "60 %", "--json").stdout)["imprecision"] is None


def test_where_nothing_varies_nobody_is_asked_for_a_reference(tmp_path: Path) -> None:
    """The cure was a reference with one of what varies: nothing."""
    found = make_campaign([make_case()], blocks=3)
    plan = msgspec.structs.replace(found.plan, reference={}, varied=())
    folder = write_campaign(msgspec.structs.replace(found, plan=plan), tmp_path / "c")
    with pytest.raises(UsageError, match="nothing varies in study synthetic, so there is nothing to compare"):
        compare(folder)


def test_figures_that_are_judged_apart_are_told_apart_also_where_they_are_as_many(tmp_path: Path) -> None:
    figures = (TIME, Figure(name="rate", unit="MB/s", better=Better.HIGHER, is_primary=False))
    factors = {"network": ("host", "overlay", "macvlan")}
    folder = write(Truth(workloads={"a": figures}, factors=factors, blocks=5), tmp_path)
    both = compare(folder, "--all").output
    for what in ("the figures that people quote", "the other figures"):
        assert f"Among 2 comparisons of {what} the chance" in both
    assert "Among 2 comparisons the chance" in compare(folder, "--fom", "time").output
    chosen = compare(folder, "--all", "--correction", "none").output
    assert "Each of 2 comparisons is judged by itself" in chosen
