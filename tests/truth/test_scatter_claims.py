"""Which side scatters less: claimed of sides that scatter alike in at most five of a hundred studies."""

from __future__ import annotations

import pytest

from tare.analysis.checking.check import Outcome, check
from tare.analysis.checking.rule_parser import parse_rule
from tare.analysis.checking.rules import Kind, RuleSource
from tare.analysis.verdicts.variability import variabilities
from tare.core.verdict import Verdict
from truth.campaigns import TIME, Truth, campaigns
from truth.noise import NOISES, lognormal

FAILS_IF_MORE = parse_rule(RuleSource(text="cv_ratio() > 1", kind=Kind.FAIL_IF, where="--fail-if"))


def alike(name: str) -> Truth:
    return Truth(
        factors={"network": ("host", "overlay"), "nodes": (2, 4), "size": (1, 2)},
        workloads={"synthetic.solver": (TIME,)},
        noise=NOISES[name],
        together=lognormal(0.02),
        blocks=12,
    )


def rates(name: str, n_studies: int) -> dict[str, float]:
    """Return the share of studies in which the table, and the check, claim what is false."""
    n_table = n_check = 0
    for one in campaigns(alike(name), n_studies):
        rows = variabilities(one)
        n_table += any(row.verdict in (Verdict.WORSE, Verdict.BETTER) for row in rows)
        n_check += check(one, [FAILS_IF_MORE]).outcome is Outcome.FAIL
    return {"scatters less or more": n_table / n_studies, "cv_ratio() > 1 fails": n_check / n_studies}


@pytest.mark.slow
@pytest.mark.parametrize("name", NOISES)
def test_sides_that_scatter_alike_are_told_apart_in_at_most_five_of_a_hundred_studies(name: str) -> None:
    n_studies = 150
    chance = 3 * (0.05 * 0.95 / n_studies) ** 0.5
    assert max(rates(name, n_studies).values()) <= 0.05 + chance


def test_a_row_claims_only_what_all_rows_together_allow() -> None:
    noisy = Truth(
        factors={"network": ("host", "overlay", "macvlan"), "nodes": (2, 4, 8)},
        noise=lognormal(0.02),
        contender_noise=lognormal(0.05),
        blocks=10,
    )
    rows = [row for one in campaigns(noisy, 20) for row in variabilities(one)]
    assert {row.family for row in rows} == {6}
    told = [row for row in rows if row.verdict is Verdict.WORSE]
    assert told
    assert all(row.p_adjusted is not None and row.p_adjusted <= 0.05 for row in told)
    alone = [row for row in rows if "not among 6" in row.note]
    assert alone
    assert all(row.verdict is Verdict.UNDECIDED and row.low and row.low > 1 for row in alone)


def test_five_blocks_tell_no_scatters_apart_and_say_how_many_do() -> None:
    [one] = campaigns(Truth(contender_noise=lognormal(0.5), blocks=5), 1)
    [row] = variabilities(one)
    assert (row.verdict, row.low) == (Verdict.UNDECIDED, None)
    assert row.note == "too few blocks: scatters are compared from 6 on"
    [found] = check(one, [FAILS_IF_MORE]).verdicts
    assert found.outcome is Outcome.UNDECIDED
    assert "an interval takes 6" in found.judged[0].why
