"""What the scatter from run to run comes from, in campaigns whose truth is known."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from support.profiled import BASE, Component, profiled_campaign, with_more
from tare.analysis.causes.attribution import attributions
from tare.core.attribution import Attribution, CauseKind
from tare.core.interval import Bounded
from tare.report.variants import lay_out
from tare.report.words.causes import cause_sentence
from tare.report.words.scatter_causes import scatter_sentence

COMPUTATION: Component = ("computation", 0)
ALLREDUCE: Component = ("MPI_Allreduce", 8)


def told(folder: Path, **options: object) -> tuple[Attribution, str, str]:
    """Return the attribution of a campaign, its sentence, and that of its scatter."""
    campaign = profiled_campaign(folder, BASE, **options)  # type: ignore[arg-type]
    (found,) = attributions(campaign)
    variants = lay_out(campaign, ())
    return found, cause_sentence(found, variants), scatter_sentence(found, variants)


@pytest.mark.parametrize(
    ("component", "kind", "name"),
    [(COMPUTATION, CauseKind.COMPUTATION, ""), (ALLREDUCE, CauseKind.FUNCTION, "MPI_Allreduce")],
)
def test_the_part_that_scatters_has_at_least_90_percent_of_the_variance(
    tmp_path: Path, component: Component, kind: CauseKind, name: str
) -> None:
    noise = 0.1 if component is COMPUTATION else 1.0
    found, _, text = told(tmp_path, contender=BASE, blocks=10, noise=0.002, scatter={component: noise})
    assert found.scatter is not None
    first, *others = found.scatter.causes
    assert (first.kind, first.name) == (kind, name)
    assert first.share.value >= 0.9
    assert all(abs(one.share.value) <= 0.05 for one in others)
    assert sum(one.share.value for one in found.scatter.causes) == pytest.approx(1)
    assert f"of the variance is {name or 'computation'}" in text
    assert "as much on overlay as on host (without the profile" in text


def test_a_difference_in_the_mean_and_one_in_scatter_are_both_told(tmp_path: Path) -> None:
    slower = with_more(BASE, ("MPI_Alltoall", 4096), 0.5)
    found, text, scattered = told(
        tmp_path, contender=slower, blocks=12, noise=0.001, scatter={COMPUTATION: 0.03}
    )
    assert found.is_decided
    assert "MPI_Alltoall" in text
    assert "of the variance is computation" in scattered


def test_the_side_that_scatters_more_is_named_first_also_if_it_is_the_reference(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=10, noise=0.002, scatter={COMPUTATION: 0.1})
    (found,) = attributions(campaign)
    assert found.scatter is not None
    calmer = msgspec.structs.replace(found.scatter, ratio=Bounded(0.1, 0.08, 0.16), plain_ratio=Bounded(0.2))
    text = scatter_sentence(msgspec.structs.replace(found, scatter=calmer), lay_out(campaign, ()))
    said = "scatter 10.0 [6.25, 12.5] times as much on host as on overlay (without the profile 5.00 times)"
    assert said in text.replace("\xa0", " ")


def test_few_blocks_say_nothing(tmp_path: Path) -> None:
    found, _, text = told(tmp_path, contender=BASE, blocks=5, noise=0.001, scatter={COMPUTATION: 0.3})
    assert found.scatter is not None
    assert found.scatter.ratio.value > 10
    assert found.scatter.p_adjusted is None
    assert text == ""


def test_blocks_that_were_added_after_a_look_claim_less(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=12, noise=0.002, scatter={COMPUTATION: 0.006})
    attempts = [msgspec.structs.replace(one, session=1 + (one.block - 1) // 6) for one in campaign.attempts]
    looked = msgspec.structs.replace(campaign, attempts=tuple(attempts))
    once, twice = (attributions(one)[0].scatter for one in (campaign, looked))
    assert once is not None
    assert twice is not None
    assert once.ratio == twice.ratio
    assert once.p_adjusted is not None
    assert twice.p_adjusted is not None
    assert twice.p_adjusted > once.p_adjusted


def test_where_nothing_scatters_more_few_campaigns_say_so(tmp_path: Path) -> None:
    n_told = sum(
        bool(told(tmp_path / str(seed), contender=BASE, seed=seed, blocks=8)[2]) for seed in range(60)
    )
    assert n_told <= 8  # 5 %: more than 8 of 60 happen in less than 1 % of cases


def test_runs_without_the_profile_that_scatter_the_other_way_contradict_it(tmp_path: Path) -> None:
    campaign = profiled_campaign(tmp_path, BASE, BASE, blocks=10, noise=0.002, scatter={COMPUTATION: 0.1})
    reference = next(case.id for case in campaign.plan.cases if campaign.plan.is_reference(case))
    plain = tuple(
        one
        if one.is_profiled
        else msgspec.structs.replace(
            one, elapsed_s=10 + (one.block % 3 if one.case == reference else one.block % 3 / 1000)
        )
        for one in campaign.attempts
    )
    (found,) = attributions(msgspec.structs.replace(campaign, attempts=plain))
    assert found.scatter is not None
    assert found.scatter.is_decided
    assert scatter_sentence(found, lay_out(campaign, ())) == ""
