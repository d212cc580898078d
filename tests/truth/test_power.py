"""What the tests of scatter and of change in time find is what the page says; few blocks claim no drift."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tare.analysis.trust.quality import quality
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.report.content import content
from tare.report.formats.markdown import render_markdown
from tare.report.report_statistics import ReportStatistics
from tare.report.words.quality_warnings import brief, finding
from truth.campaigns import Truth, campaign, campaigns, write
from truth.noise import autocorrelated, lognormal
from truth.power import IN_TIME, SCATTER, tables, written
from truth.test_agreement import plain, tare

_NUMBER = re.compile(r"(\d+\.\d) %")
_POINTS = 0.5
"""What another processor's arithmetic may change."""


@pytest.mark.slow
def test_power_of_scatter_and_of_drift_is_as_the_page_says() -> None:
    for ends, found in tables().items():
        for line, ours in zip(written(ends).splitlines(), found.splitlines(), strict=True):
            assert _NUMBER.sub("", line) == _NUMBER.sub("", ours)
            pairs = zip(_NUMBER.findall(line), _NUMBER.findall(ours), strict=True)
            assert all(abs(float(one) - float(own)) <= _POINTS for one, own in pairs), line


def shares(ends: tuple[str, str], name: str) -> list[float]:
    (line,) = [one for one in written(ends).splitlines() if one.startswith(f"| {name} |")]
    return [float(one) for one in _NUMBER.findall(line)]


def test_what_is_promised_of_them_is_kept() -> None:
    assert max(shares(SCATTER, "× 1, one row")) <= 5
    assert max(shares(IN_TIME, "nothing")) <= 3
    assert max(shares(IN_TIME, "wander, 0.7")[-3:]) <= 5, "from 10 blocks on"


WANDERING = {
    n: Truth(together=autocorrelated(0.1, r=0.9), noise=lognormal(0.005), blocks=n, margin=0.01)
    for n in (5, 7, 9)
}


@pytest.mark.parametrize("n_blocks", WANDERING)
def test_fewer_than_ten_blocks_of_a_machine_that_wanders_claim_no_drift(n_blocks: int) -> None:
    told = [
        one
        for each in campaigns(WANDERING[n_blocks], 60)
        for one in quality(each).warnings
        if one.kind is RepeatabilityWarning.DRIFT
    ]
    assert told, "or nothing is tried"
    for one in told:
        assert one.may_wander
        assert f"or wander{'' if one.case is None else 's'}" in finding(one)
        assert f"{n_blocks} blocks cannot tell which" in finding(one)
        assert "wandering" in brief(one)
        assert "drift" not in finding(one)


def test_every_output_says_that_few_blocks_cannot_tell_a_drift_from_wandering(tmp_path: Path) -> None:
    rising = Truth(drift=0.03, noise=lognormal(0.002), blocks=6)
    said = "or wander alike: 6 blocks cannot tell which"
    folder = write(rising, tmp_path / "c", seed=1)
    found = campaign(rising)
    assert said in tare("compare", str(folder))
    (doubt,) = json.loads(tare("compare", str(folder), "--json"))["doubts"]
    assert (doubt["suspicion"], doubt["may_wander"]) == ("drift", True)
    assert said in plain(doubt["finding"])
    assert said in plain(render_markdown(content(found, ReportStatistics.of(found)), ".."))


def test_ten_blocks_can_tell_and_say_drift(tmp_path: Path) -> None:
    rising = Truth(drift=0.03, noise=lognormal(0.002), blocks=10)
    folder = write(rising, tmp_path / "c", seed=1)
    (doubt,) = json.loads(tare("compare", str(folder), "--json"))["doubts"]
    assert (doubt["suspicion"], doubt["may_wander"]) == ("drift", False)
    assert np.isclose(doubt["size"], 0.03 * len(rising.plan().cases), rtol=0.3)
    assert re.search(r"get worse alike by [\d.]+ % a block, over 10 blocks", plain(doubt["finding"]))
