"""What is said of campaigns whose every value is planned: no sentence is false of these values."""

from __future__ import annotations

import re

import msgspec
import pytest

from report.studies import answers_of, content_of
from support.planned import ELAPSED, make_planned
from support.synthetic import make_campaign
from tare.core.campaign import Campaign
from tare.core.workload import Better, Fom
from tare.report.variants import lay_out
from tare.report.words.answer import answer_all

GAIN = Fom(name="gain", unit="dB", better=Better.HIGHER, is_primary=True)
ERRORS = Fom(name="errors", unit="1", better=Better.LOWER, is_primary=True)
TIMEOUTS = Fom(name="timeouts", unit="1", better=Better.LOWER, is_primary=True)

NOISE = (1.0, 1.0007, 0.9994, 1.0003, 0.9998, 1.0011)


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text)


def about(value: float, blocks: int = 6) -> list[float]:
    """Return values about `value`, with little noise and many digits."""
    return [value * NOISE[block % len(NOISE)] for block in range(blocks)]


def said(campaign: Campaign) -> str:
    answers = answers_of(campaign)
    variants = lay_out(campaign, answers.comparisons)
    (answer,) = answer_all(
        answers.headlines, answers.overview, variants, campaign.plan.margin, answers.aggregates
    )
    return plain(f"{answer.sentence} {answer.beside}")


def equals(margin: float) -> Campaign:
    """Return a campaign of equals."""
    return make_planned({"host": {ELAPSED: about(5.0)}, "overlay": {ELAPSED: about(5.0)}}, margin=margin)


MARGINS = [(0.02, "2 %"), (0.005, "0.5 %"), (0.025, "2.5 %"), (0.0025, "0.25 %"), (0.1, "10 %")]


@pytest.mark.parametrize(("margin", "text"), MARGINS)
def test_a_margin_is_never_rounded(margin: float, text: str) -> None:
    campaign = equals(margin)
    assert plain(content_of(campaign).margin) == text
    assert f"overlay is equivalent to host, within ± {text}, in" in said(campaign)


@pytest.mark.parametrize(("margin", "text"), MARGINS)
def test_captions_of_charts_state_the_same_margin(margin: float, text: str) -> None:
    found = content_of(make_campaign(ratio=1.2, margin=margin))
    texts = [plain(one.text) for one in found.figures if "the grey band is the margin (" in one.text]
    assert texts
    assert all(f"the margin (± {text})" in one for one in texts)


@pytest.mark.parametrize(
    ("name", "unit", "word"),
    [("timeouts", "1", "higher"), ("step_time", "us", "longer"), ("runtime", "s", "longer")],
)
def test_only_times_are_longer(name: str, unit: str, word: str) -> None:
    fom = Fom(name=name, unit=unit, better=Better.LOWER, is_primary=True)
    campaign = make_planned({"host": {fom: about(1000.5)}, "overlay": {fom: about(1500.75)}})
    assert re.search(rf"% {word} \[", said(campaign))


def test_figures_without_a_ratio_count_among_those_that_were_measured() -> None:
    gain, errors = (msgspec.structs.replace(one, is_primary=False) for one in (GAIN, ERRORS))
    host = {ELAPSED: about(5.0), gain: about(-3.0), errors: about(7.0)}
    campaign = make_planned({"host": host, "overlay": host})
    assert "2 more figures that do not answer this were measured" in said(campaign)
