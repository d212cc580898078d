"""A verdict of few blocks says whether it rests on their independence; those that do not hold without it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from report.studies import part_of
from tare.analysis.verdicts.compare import aggregates
from tare.analysis.verdicts.family_tests import judge
from tare.analysis.verdicts.interim_looks import SessionEnds
from tare.analysis.verdicts.judged_family import Terms
from tare.cli.main import make_group
from tare.core.comparison import Correction, Finding, Mean
from tare.core.verdict import Verdict
from tare.core.workload import Better
from tare.live.charts import changes
from tare.live.statistics import compute_statistics
from tare.report.charts.painting import Painter
from tare.report.content import content
from tare.report.formats.markdown import render_markdown
from tare.report.formats.page import render
from tare.report.report_statistics import ReportStatistics
from tare.report.sections.overview import Overview
from tare.report.sections.verdicts import Verdicts
from tare.report.words.assumed import FOOTNOTE, assumed_of_intervals, assumed_words
from truth.campaigns import Truth, by_level, campaign, write
from truth.noise import autocorrelated, lognormal, sides
from truth.test_agreement import tare

N_STUDIES = 1000
DECIDED = (Verdict.WORSE, Verdict.BETTER)


def found_of(n_blocks: int, mean: Mean, ratio: float, margin: float) -> list[Finding]:
    """Return what is found of studies each side of which resembles itself one block before by 0.7."""
    reference, contender = sides(autocorrelated(0.02, r=0.7), n_blocks, N_STUDIES, seed=n_blocks)
    terms = Terms(margin=margin, correction=Correction.NONE, mean=mean)
    ends = SessionEnds(np.zeros(n_blocks, np.int64), (0,))
    return judge(reference, contender * ratio, [Better.LOWER] * N_STUDIES, terms, ends=ends).findings()


@pytest.mark.parametrize("mean", [Mean.GEOMETRIC, Mean.ARITHMETIC, Mean.MEDIAN])
@pytest.mark.parametrize("n_blocks", [3, 5, 10, 19])
def test_verdicts_that_do_not_assume_independence_keep_their_error_without_it(
    n_blocks: int, mean: Mean
) -> None:
    found = found_of(n_blocks, mean, 1.0, 0.001)
    assert np.mean([one.verdict in DECIDED and not one.assumes_independence for one in found]) <= 0.06
    same = found_of(n_blocks, mean, 1.1, 0.1)
    is_false = [one.verdict is Verdict.EQUIVALENT and not one.assumes_independence for one in same]
    assert np.mean(is_false) <= 0.06


def test_many_verdicts_of_nothing_assume_it_and_say_so() -> None:
    found = found_of(5, Mean.GEOMETRIC, 1.0, 0.001)
    marked = [one.verdict in DECIDED and one.assumes_independence for one in found]
    assert 0.2 < np.mean(marked) < 0.4


def test_a_large_effect_holds_without_it_and_a_small_one_does_not(tmp_path: Path) -> None:
    large = Truth(slowing=by_level("network", {"overlay": 1.5}), noise=lognormal(0.02), blocks=5)
    (one,) = aggregates(campaign(large))
    assert (one.verdict, one.assumes_independence) == (Verdict.WORSE, False)
    small = dataclasses.replace(large, slowing=by_level("network", {"overlay": 1.06}))
    (other,) = aggregates(campaign(small))
    assert (other.verdict, other.assumes_independence) == (Verdict.WORSE, True)
    folder = write(small, tmp_path / "c", seed=1)
    run = CliRunner().invoke(make_group(), ["compare", str(folder), "--json"], catch_exceptions=False)
    assert json.loads(run.output)["figures"][0]["assumes_independence"] is True


def test_the_sentence_counts_the_verdicts_that_hold_without_it() -> None:
    one = Finding(5, 1.5, 1.4, 1.6, 0.95, Verdict.WORSE)
    weak = msgspec.structs.replace(one, assumes_independence=True)
    many = msgspec.structs.replace(one, n_blocks=20)
    open_ = msgspec.structs.replace(one, verdict=Verdict.UNDECIDED)
    blocks = "the blocks of a side are independent of each other"
    start = f"All of this holds if {blocks}, which 5 blocks cannot show"
    end = "without that, where blocks resemble the one before by up to 0.7."
    assert assumed_words([many]) == ""
    assert assumed_words([open_]) == f"{start}."
    assert assumed_words([one]) == f"{start}; the verdict holds {end}"
    assert assumed_words([weak]) == f"{start}; no verdict holds {end}"
    assert assumed_words([one, one]) == f"{start}; both verdicts hold {end}"
    assert assumed_words([one, weak, weak]) == f"{start}; 1 of 3 verdicts holds {end}"
    withheld = msgspec.structs.replace(open_, withheld_by="time")
    assert assumed_words([one, withheld]) == f"{start}; the verdict holds {end}", "its row is undecided"
    assert assumed_words([weak, weak]) == f"{start}; no verdicts hold {end}"
    assert assumed_words([one, many]) == f"{start}; the verdict of so few blocks holds {end}"
    assert assumed_words([one, weak, many]) == f"{start}; 1 of 2 verdicts of so few blocks holds {end}"


def test_the_sentence_names_the_least_and_the_most_of_the_few_blocks() -> None:
    one = Finding(10, 1.5, 1.4, 1.6, 0.95, Verdict.WORSE)
    fewer = msgspec.structs.replace(one, n_blocks=4, verdict=Verdict.UNDECIDED)
    many = msgspec.structs.replace(one, n_blocks=20)
    without = Finding(10, None, None, None, 0.95, Verdict.UNDECIDED)
    assert "which 4 to 10 blocks cannot show; the verdict holds" in assumed_words([one, fewer])
    assert "which 4 to 10 blocks cannot show; the verdict of so few" in assumed_words([one, fewer, many])
    assert "which 10 blocks cannot show; the verdict holds" in assumed_words([one, without])
    assert assumed_of_intervals([4, 10, 20, 1]).endswith("which 4 to 10 blocks cannot show.")


MARKED = Truth(factors={"network": ("host", "overlay", "macvlan")}, blocks=5)


def test_rows_that_rest_on_independence_have_a_sign_with_a_footnote(tmp_path: Path) -> None:
    """Of two effects with 5 blocks, 5 % rests on it and 80 % does not."""
    few = dataclasses.replace(
        MARKED, slowing=by_level("network", {"overlay": 1.05, "macvlan": 1.8}), noise=lognormal(0.015)
    )
    found = campaign(few)
    assumes = {one.contender["network"]: one.assumes_independence for one in aggregates(found)}
    assert assumes == {"overlay": True, "macvlan": False}
    table = tare("compare", str(write(few, tmp_path / "few")))
    assert "▲ worse†" in next(line for line in table.splitlines() if line.startswith("overlay"))
    assert table.count("†") == 2, "one row, and the footnote"
    assert FOOTNOTE in table
    page = content(found, ReportStatistics.of(found))
    rows = {row.cells[0].text: (row.cells[-1].text, row.state) for row in part_of(page, Verdicts).rows.rows}
    assert rows == {"overlay": ("worse†", "worse"), "macvlan": ("worse", "worse")}
    (heat,) = part_of(page, Overview).maps
    marks = {row.variant.name: cell.mark for row in heat.rows for cell in row.cells if cell}
    assert marks == {"overlay": "†", "macvlan": ""}
    assert part_of(page, Verdicts).footnote == heat.footnote == FOOTNOTE
    drawn = content(found, ReportStatistics.of(found), painter=Painter())
    assert render(found, drawn).count(FOOTNOTE) >= 3, "the title of the map, its key, and the table's caption"
    assert FOOTNOTE in render_markdown(page, "..")
    live = compute_statistics(found, 1)
    beside = {one.variant.name: one.beside for one in changes(live.figures, live.variants, 0.02).bars}
    assert beside == {"overlay": "rests on independent blocks", "macvlan": ""}


def test_many_blocks_need_no_footnote(tmp_path: Path) -> None:
    many = dataclasses.replace(MARKED, blocks=20, slowing=by_level("network", {"overlay": 1.05}))
    assert "†" not in tare("compare", str(write(many, tmp_path / "many")))
