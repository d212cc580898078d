"""`tare scaling` and `tare curves`, from a campaign folder to what they print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from support.scales import make_application, usl
from support.synthetic import make_campaign, make_case, write_campaign
from tare.cli.commands import curves, published, scaling
from tare.core.errors import UsageError
from truth.campaigns import Figure, Truth, write

CURVE = {
    *("workload", "fom", "unit", "better", "kind", "along", "settings", "at", "held", "p_ref"),
    *("confidence", "points", "fits", "lasting", "note"),
}
POINT = {
    "scale",
    "case",
    "n_blocks",
    "value",
    "speedup",
    "efficiency",
    "gain",
    "remarks",
    "note",
    "timed_out",
}
FIT = {"law", "n_scales", "gamma", "parameters", "misfit", "r_squared", "knee", "refusal"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    laws = {"host": usl(6, 0.02, 0.0001), "overlay": usl(6, 0.02, 0.02)}
    return write_campaign(make_application(laws, missing=[("overlay", 4)]), tmp_path / "campaign")


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(scaling.command, [str(one) for one in arguments], catch_exceptions=False)
    return result.stdout


def test_the_table_has_a_row_for_each_side_and_scale(folder: Path) -> None:
    lines = run(folder).splitlines()
    assert lines[0] == "synthetic.application: ns_per_day, strong scaling along nodes"
    assert lines[1].split() == ["network", "nodes", "ns_per_day", "speedup", "efficiency", "n", "remark"]
    sides = [line.split()[:2] for line in lines[2:12]]
    assert sides == [[side, str(p)] for side in ("host", "overlay") for p in (1, 2, 4, 8, 16)]


def test_the_knee_and_negative_scaling_are_described_in_words(folder: Path) -> None:
    text = run(folder)
    assert "overlay: × 2.6" in text
    assert re.search(r"The USL puts the peak of throughput at (6\.9|7\.0)\d nodes \[", text)
    assert "Scaling is negative from 8 to 16 nodes" in text
    assert "\u202f" not in text


def test_a_law_that_one_curve_has_too_few_scales_for_names_that_curve(tmp_path: Path) -> None:
    laws = {"host": usl(6, 0.02, 0.0001), "overlay": usl(6, 0.02, 0.02)}
    lost = [("overlay", scale) for scale in (4, 8)]
    text = run(write_campaign(make_application(laws, missing=lost), tmp_path / "c"))
    assert "USL not fitted to overlay: 3 scales were measured; USL takes 4 or more." in text


def test_json_is_the_documented_contract(folder: Path) -> None:
    body = json.loads(run(folder, "--json"))
    assert set(body) == {"schema", "curves"}
    assert body["schema"] == "tare.scaling/1"
    curve = body["curves"][1]
    assert set(curve) == CURVE
    assert set(curve["points"][0]) == POINT
    assert set(curve["fits"][0]) == FIT
    assert curve["points"][2]["value"] is None
    assert curve["points"][4]["remarks"] == [{"finding": "negative", "is_certain": True}]


def test_a_reference_scale_can_be_chosen(folder: Path) -> None:
    host = json.loads(run(folder, "--p-ref", "2", "--json"))["curves"][0]
    assert host["p_ref"] == 2
    assert host["points"][1]["speedup"]["value"] == 1


def test_a_scale_or_figure_that_is_not_there_is_bad_usage(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"p-ref 3: no case has this scale; choose from 1, 2, 4, 8, 16"):
        run(folder, "--p-ref", "3")
    with pytest.raises(UsageError, match="--fom speed: no workload"):
        run(folder, "--fom", "speed")


def test_a_campaign_that_does_not_scale_is_explained_with_the_cure(tmp_path: Path) -> None:
    text = run(write_campaign(make_campaign(), tmp_path / "pingpong"))
    assert text.startswith("Nothing scales here")
    assert "scaling: {strong: threads}" in text


def test_cases_whose_figures_do_not_scale_are_not_said_to_differ_in_more_than_scale(tmp_path: Path) -> None:
    latencies = make_campaign([make_case(nodes=nodes) for nodes in (2, 4)])
    text = run(write_campaign(latencies, tmp_path / "pingpong"))
    assert "differ in nothing but" not in text
    assert "a latency" in text
    nothing = msgspec.structs.replace(latencies, attempts=())
    text = run(write_campaign(nothing, tmp_path / "nothing"))
    assert text == "Nothing is measured yet; 'tare status' shows what has run.\n"


def test_a_time_in_microseconds_is_not_said_to_be_no_elapsed_time(tmp_path: Path) -> None:
    factors = {"network": ("host", "overlay"), "nodes": (1, 2, 4)}
    truth = Truth(workloads={"a": (Figure(name="time", unit="us"),)}, factors=factors)
    text = run(write(truth, tmp_path / "c"))
    assert "an elapsed time, in ms or longer units, or a rate of work" in text
    assert "A time in µs or ns counts as a latency." in text


def test_an_elapsed_time_that_is_not_followed_by_default_is_not_denied(tmp_path: Path) -> None:
    figures = (Figure(name="latency", unit="us"), Figure(name="solve time", unit="s", is_primary=False))
    factors = {"network": ("host", "overlay"), "nodes": (1, 2, 4)}
    folder = write(Truth(workloads={"a": figures}, factors=factors), tmp_path / "c")
    assert run(folder) == (
        "Nothing scales here by default: none of the figures that people quote is an elapsed time or a "
        "rate of work. Other figures are: name one, such as --fom 'solve time'.\n"
    )
    assert run(folder, "--fom", "solve time").startswith("a: solve time, strong scaling along nodes")


def test_published_openfoam_scales_negatively_over_tcp(tmp_path: Path) -> None:
    folder = tmp_path / "fabrics"
    CliRunner().invoke(published.command, ["openfoam-fabrics", "--out", str(folder)], catch_exceptions=False)
    text = run(folder)
    assert "tcp-25g: × 0.62 as fast on 8 nodes as on 4" in text
    assert text.count("Scaling seems negative from 4 to 8 nodes") == 2
    assert "(without interval: single run)" in text
    assert "USL not fitted: 2 scales were measured; USL takes 4 or more." in text


def test_curves_prints_the_line_of_each_side(tmp_path: Path) -> None:
    folder = write_campaign(make_campaign(noise=0.001), tmp_path / "pingpong")
    result = CliRunner().invoke(curves.command, [str(folder)], catch_exceptions=False)
    assert "Time against message size: t = t0 + m/r∞" in result.stdout
    assert "network=host     latency  20.0 µs [" in result.stdout
    body = json.loads(CliRunner().invoke(curves.command, [str(folder), "--json"]).stdout)
    assert set(body) == {"schema", "hockney", "crossovers", "saturations"}
    assert body["hockney"][0]["bandwidth"]["value"] == pytest.approx(1000, rel=0.01)


def test_a_crossover_is_printed_where_no_line_fits_and_nothing_saturates(tmp_path: Path) -> None:
    laws = {"host": usl(sigma=0.03), "overlay": usl(gamma=7, sigma=0.2)}
    write_campaign(make_application(laws), tmp_path)
    result = CliRunner().invoke(curves.command, [str(tmp_path)])
    assert result.exit_code == 0
    assert "overlay is better below" in result.stdout
    assert "No curves" not in result.stdout


def test_a_campaign_without_curves_is_explained(folder: Path) -> None:
    result = CliRunner().invoke(curves.command, [str(folder)], catch_exceptions=False)
    assert result.stdout.startswith("No curves here")


@pytest.mark.parametrize(("blocks", "is_said"), [(2, False), (5, True), (19, True), (20, False)])
def test_intervals_of_few_blocks_state_what_they_assume(blocks: int, is_said: bool, tmp_path: Path) -> None:
    folder = write_campaign(make_application({"host": usl()}, blocks=blocks), tmp_path / "campaign")
    text = f"Intervals hold if the blocks of a side are independent of each other, which {blocks} blocks"
    assert (text in " ".join(run(folder).split())) is is_said
    assert ("Intervals hold if" in run(folder)) is is_said
