"""Verdicts on claims that compare several kinds: rates, containers, releases, directions, threads."""

from __future__ import annotations

import pytest

from bench.articles.results import Verdict
from published.measured_articles import DOES_NOT, HOLDS, RATES, UNDECIDED, of_rates, same, verdicts
from tare.core.case import Case
from tare.core.values import Scalar


def test_what_follows_the_rate_is_found_with_five_levels() -> None:
    found = verdicts("stackhpc", of_rates)
    assert {found[part] for part in ("8.2", "8.3", "8.4", "8.5", "8.6", "8.7")} == {HOLDS}


def test_what_has_the_opposite_order_does_not_follow_and_what_has_none_is_undecided() -> None:
    order = {"tcp-8g": 2.0, "tcp-4g": 4.0, "tcp-2g": 1.0, "tcp-1400m": 3.0, "tcp-800m": 2.5}

    def truth(case: Case, fom: str, at: Scalar) -> float:
        if fom == "PTRANS_GBs":
            return 1 / RATES.get(case.network or "", 1.0)
        return order.get(case.network or "", 1.0) if fom == "MPIFFT_Gflops" else of_rates(case, fom, at)

    found = verdicts("stackhpc", truth)
    assert (found["8.2"], found["8.3"]) == (DOES_NOT, UNDECIDED)


@pytest.mark.parametrize(
    ("on_two", "scales", "is_negative"), [(0.51, HOLDS, DOES_NOT), (1.4, DOES_NOT, HOLDS)]
)
def test_scaling_of_openfoam_is_judged_by_its_time_on_two_nodes(
    on_two: float, scales: Verdict, is_negative: Verdict
) -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        return on_two if case.layout.nodes == 2 else 1.0

    assert verdicts("stackhpc", truth)["9.2"] is is_negative
    found = verdicts("cornelis", truth)
    assert (found["13a"], found["13b"]) == (scales, is_negative)


@pytest.mark.parametrize(("factor", "on_par", "faster"), [(1.02, HOLDS, HOLDS), (0.8, DOES_NOT, DOES_NOT)])
def test_containers_are_judged_by_all_of_their_kinds(factor: float, on_par: Verdict, faster: Verdict) -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        if case.workload == "hpcg":
            return factor if case.network == "direct" else 1.0
        return 1.0 if case.platform in ("debian", "intelmpi") else factor

    found = verdicts("kniep-2016", truth)
    assert (found["11.1a"], found["11.1b"], found["11.2"]) == (on_par, on_par, faster)
    assert verdicts("kniep-2014", truth)["11.5a"] is on_par


@pytest.mark.parametrize(("factor", "verdict"), [(0.97, HOLDS), (1.1, DOES_NOT)])
def test_releases_of_a_distribution_are_compared_with_each_other(factor: float, verdict: Verdict) -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        return factor if case.platform == "trixie" else 1.0

    assert verdicts("kniep-2014", truth)["11.5b"] is verdict


@pytest.mark.parametrize(("back", "verdict"), [(0.8, HOLDS), (1.2, DOES_NOT)])
def test_the_overlay_between_containers_is_judged_in_both_directions(back: float, verdict: Verdict) -> None:
    def truth(case: Case, fom: str, at: Scalar) -> float:
        if fom != "throughput" or case.network != "overlay":
            return 1.0
        return back if at == "server to client" else 0.8

    assert verdicts("kniep-2016", truth)["11.3b"] is verdict


def test_two_threads_that_read_less_than_four_have_not_saturated() -> None:
    def truth(case: Case, _fom: str, _at: Scalar) -> float:
        return float(case.settings["threads"])  # from the disk as from memory: the reference is four threads

    assert verdicts("cornelis", same)["12b"] is HOLDS
    assert verdicts("cornelis", truth)["12b"] is DOES_NOT
