"""The sentence that gives the differences in the mean and in scatter, where the truth is known."""

from __future__ import annotations

from pathlib import Path

import msgspec

from support.profiled import BASE, profiled_campaign, with_more
from tare.analysis.causes.attribution import attributions
from tare.core.campaign import Campaign
from tare.core.comparison import missed_share
from tare.core.interval import Bounded
from tare.report.content import content
from tare.report.report_statistics import ReportStatistics
from tare.report.section import SectionText
from tare.report.variants import lay_out
from tare.report.words.mean_and_scatter import mean_and_scatter_sentence
from tare.report.words.mean_cost import missed_mode_words
from tare.terminal.output import plain

_SLOWER = with_more(BASE, ("MPI_Alltoall", 4096), 0.5)
_NOISY = {("computation", 0): 0.03}


def _sentence(campaign: Campaign, **changed: object) -> str:
    (found,) = attributions(campaign)
    one = msgspec.structs.replace(found, **changed)
    return plain(mean_and_scatter_sentence(one, lay_out(campaign, ()))).replace("\xa0", " ")


def test_where_both_differ_both_are_named_and_the_report_says_so_first(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER, blocks=12, noise=0.001, scatter=_NOISY)
    text = _sentence(campaign, ratio=Bounded(1.02, 1.019, 1.022))
    assert text.startswith(
        "overlay makes synthetic.program on 2 nodes take 2.0 % [1.9, 2.2] longer in the mean"
    )
    assert "and from run to run their times scatter " in text
    assert text.endswith(" times as much on overlay as on host")
    found = content(campaign, ReportStatistics.of(campaign))
    (section,) = [one.part for one in found.sections if one.section.name == "causes"]
    assert isinstance(section, SectionText)
    assert (
        " longer in the mean of profiled runs, and from run to run their times scatter "
        in section.sentences[0].text
    )
    assert "of that is" in section.sentences[1].text


def test_where_scatter_alone_differs_no_difference_in_the_mean_is_claimed(tmp_path: Path) -> None:
    campaign = profiled_campaign(
        tmp_path, BASE, BASE, blocks=10, noise=0.002, scatter={("computation", 0): 0.1}
    )
    text = _sentence(campaign, is_decided=False)
    program = "profiled runs of synthetic.program on 2 nodes"
    lead = f"it is not certain that times of {program} differ in the mean between "
    assert text.startswith(f"{lead}overlay and host, but from run to run they scatter ")


def test_where_the_mean_alone_differs_there_is_no_such_sentence(tmp_path: Path) -> None:
    assert _sentence(profiled_campaign(tmp_path, BASE, _SLOWER, blocks=5)) == ""


def test_a_reference_that_scatters_more_is_named_first(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, _SLOWER, blocks=12, noise=0.001, scatter=_NOISY)
    (found,) = attributions(campaign)
    assert found.scatter is not None
    calmer = msgspec.structs.replace(found.scatter, ratio=Bounded(0.1, 0.08, 0.16), plain_ratio=None)
    text = _sentence(campaign, scatter=calmer)
    assert text.endswith("scatter 10.0 [6.25, 12.5] times as much on host as on overlay")


def test_a_share_of_unseen_runs_is_not_rounded_to_less() -> None:
    assert "up to 1.5\u202f% of the runs" in missed_mode_words(missed_share(200, 0.95))
    assert "up to 45\u202f% of the runs" in missed_mode_words(missed_share(5, 0.95))
