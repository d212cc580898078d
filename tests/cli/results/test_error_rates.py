"""How often the command line claims what is not so: campaigns of nothing, of many rows or seeds.

These tests know nothing of the code that answers, so that they can be run on another version (TARE_PROGRAM).
What each promise is worth over thousands of studies is counted in tests/truth and tests/stats.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from cli.conftest import Tare
from support.synthetic import make_attempt, make_case, make_plan
from support.synthetic import write_campaign as write_synthetic
from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from truth.campaigns import TIME, Figure, Truth, by_level, campaign, write, write_campaign
from truth.noise import NOISES, Noise, autocorrelated, lognormal, sometimes_slow
from truth.test_looking_again import in_sessions
from truth.test_telemetry_claims import watched

DECIDED = {"worse", "better"}
FORTY = {f"w{number:02d}": (TIME,) for number in range(40)}


def compared(tare: Tare, folder: Path, *options: str) -> dict[str, list[dict[str, object]]]:
    said = tare("compare", folder, "--json", *options)
    assert said.returncode == 0, said.stderr
    found: dict[str, list[dict[str, object]]] = json.loads(said.stdout)
    return found


def n_decided(rows: Sequence[dict[str, object]]) -> int:
    return sum(one["verdict"] in DECIDED for one in rows)


def page(tare: Tare, folder: Path) -> str:
    """Return the words of the report."""
    out = folder.with_name("page")
    assert tare("report", folder, "--out", out).returncode == 0
    text = re.sub(r"<(script|style).*?</\1>", "", (out / "index.html").read_text(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())


# Scatter


@pytest.mark.parametrize("shape", ["exponential", "t3", "one in ten slow"])
def test_sides_of_one_noise_have_no_difference_in_scatter(
    shape: str, tare_here: Tare, tmp_path: Path
) -> None:
    noise = sometimes_slow() if shape == "one in ten slow" else NOISES[shape]
    folder = write(Truth(workloads=FORTY, noise=noise, blocks=12), tmp_path / "c")
    assert n_decided(compared(tare_here, folder)["variability"]) == 0


def test_a_check_of_scatter_does_not_fail_for_one_slow_run(tare_here: Tare, tmp_path: Path) -> None:
    folder = write(Truth(noise=sometimes_slow(), blocks=12), tmp_path / "c", seed=8)
    assert tare_here("check", folder, "--fail-if", "cv_ratio() > 1").returncode == 0


# Families


def test_among_a_hundred_figures_that_are_the_same_none_differs(tare_here: Tare, tmp_path: Path) -> None:
    """Those that are surely equivalent do not make the others look like differences."""
    rows = {f"w{number:03d}": (TIME,) for number in range(100)}
    folder = write(Truth(workloads=rows, noise=lognormal(), blocks=20, margin=0.03), tmp_path / "c")
    found = compared(tare_here, folder)["comparisons"]
    assert len(found) == 100
    assert n_decided(found) == 0
    assert sum(one["verdict"] == "equivalent" for one in found) > 30


@pytest.mark.parametrize(("blocks", "shape", "study"), [(6, "log-normal", 2), (4, "sometimes nothing", 0)])
def test_quiet_telemetry_makes_no_cause_of_noisy_telemetry(
    blocks: int, shape: str, study: int, tare_here: Tare, tmp_path: Path
) -> None:
    found = list(watched(blocks, 6, shape))[study]
    assert "What the nodes did otherwise meanwhile" not in page(
        tare_here, write_campaign(found, tmp_path / "c")
    )


# Looking again


def test_blocks_that_were_added_after_a_look_are_a_second_look(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(
        slowing=by_level("network", {"overlay": 1.012}), noise=lognormal(0.012), blocks=12, margin=0.005
    )
    at_once, again = campaign(truth), in_sessions(campaign(truth), second_from=6, planned=(0, 0))
    (once,) = compared(tare_here, write_campaign(at_once, tmp_path / "once"))["comparisons"]
    assert once["verdict"] == "worse"
    folder = write_campaign(again, tmp_path / "again")
    (second,) = compared(tare_here, folder)["comparisons"]
    assert second["p_value"] == once["p_value"]
    assert second["verdict"] == "undecided"
    assert "■ worse" not in tare_here("compare", folder).stdout


# What a mean does not show


def test_equivalence_comes_with_the_frequency_of_a_slow_mode_that_may_be_missed(
    tare_here: Tare, tmp_path: Path
) -> None:
    folder = write(Truth(noise=lognormal(0.002), margin=0.05), tmp_path / "c")
    assert "equivalent: may miss a slow mode of up to 45 % of the runs" in tare_here("compare", folder).stdout
    out = tmp_path / "summary"
    tare_here("report", folder, "--format", "markdown", "--out", out)
    assert "may miss a slow mode of up to 45" in (out / "summary.md").read_text()


def test_the_mean_of_times_is_offered_beside_the_ratio(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(contender_noise=sometimes_slow(0.01, slower=3.0), noise=lognormal(0.01), blocks=20)
    found = campaign(truth)
    times = {True: 0.0, False: 0.0}
    for one in found.attempts:
        times[found.plan.is_reference(found.cases[one.case])] += one.series[0].values[0]
    ratio = times[False] / times[True]
    folder = write_campaign(found, tmp_path / "c")
    (asked,) = compared(tare_here, folder, "--mean", "arithmetic")["comparisons"]
    assert asked["ratio"] == pytest.approx(ratio)
    (row,) = compared(tare_here, folder)["figures"]
    assert row["paid"] is not None
    assert f"{100 * (ratio - 1):.0f} %" in tare_here("compare", folder).stdout


# Runs that resemble the one before


def test_noise_that_lasts_within_a_side_makes_few_differences(tare_here: Tare, tmp_path: Path) -> None:
    folder = write(Truth(workloads=FORTY, noise=autocorrelated(), blocks=20), tmp_path / "c")
    rows = compared(tare_here, folder, "--correction", "none")["comparisons"]
    assert n_decided(rows) <= 5  # one at a time, 5 % and a little; 18 where runs are taken as independent


def test_noise_that_both_sides_share_raises_no_quality_warning(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(together=autocorrelated(0.05), noise=lognormal(0.01), blocks=20)
    assert compared(tare_here, write(truth, tmp_path / "c", seed=2))["doubts"] == []


def test_a_slow_run_in_ten_is_no_warm_up(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(noise=sometimes_slow(slower=3.0), blocks=10)
    doubts = compared(tare_here, write(truth, tmp_path / "c", seed=3))["doubts"]
    assert "warm-up" not in json.dumps(doubts)


# Curves


def lines(folder: Path, sizes: Sequence[int], noise: float, *, crossing: bool) -> Path:
    """Write 31 sides with latencies on lines: 20 µs and 1 GB/s, or if they cross half of both."""
    sides = [make_case("host"), *(make_case(f"n{number:02d}") for number in range(30))]
    plan = make_plan(sides, blocks=20)
    random = np.random.default_rng(1)
    attempts: list[Attempt] = []
    for block in range(1, 21):
        for case in plan.order(block):
            is_other = crossing and not plan.is_reference(case)
            line = np.array(sizes) / 500 + 10 if is_other else np.array(sizes) / 1000 + 20
            latency = (line * np.exp(random.normal(0, noise, len(sizes)))).tolist()
            attempts.append(make_attempt(case, block, latency, sizes, started_at=1e9 + len(attempts)))
    orders = {block: [case.id for case in plan.order(block)] for block in range(1, 21)}
    found = Campaign(folder=folder, plan=plan, attempts=tuple(attempts), orders=orders)
    return write_synthetic(found, folder)


def n_holding(intervals: Sequence[dict[str, float]], truth: float) -> int:
    return sum(one["low"] <= truth <= one["high"] for one in intervals)


def test_latencies_and_bandwidths_of_noisy_curves_are_not_biased(tare_here: Tare, tmp_path: Path) -> None:
    sizes = [4**power for power in range(11)]
    folder = lines(tmp_path / "c", sizes, 0.2, crossing=False)
    fits = json.loads(tare_here("curves", folder, "--json").stdout)["hockney"]
    assert len(fits) == 31
    assert n_holding([one["latency"] for one in fits], 20) >= 26
    assert n_holding([one["bandwidth"] for one in fits], 1000) >= 26
    assert np.mean([one["latency"]["value"] for one in fits]) == pytest.approx(20, rel=0.02)


def test_the_interval_of_a_crossover_allows_for_what_lies_between_the_sizes(
    tare_here: Tare, tmp_path: Path
) -> None:
    folder = lines(tmp_path / "c", (64, 1024, 4000, 64000, 262144), 0.02, crossing=True)
    found = json.loads(tare_here("curves", folder, "--json").stdout)["crossovers"]
    places = [one["x"] for one in found if one["fom"] == "latency"]
    assert len(places) == 30
    assert n_holding(places, 10000) >= 28


@pytest.mark.parametrize(("slowing", "word"), [(True, "super-linear"), (False, "negative")])
def test_curves_of_many_scales_are_seldom_what_they_are_not(
    slowing: bool, word: str, tare_here: Tare, tmp_path: Path
) -> None:
    truth = Truth(
        factors={"nodes": (1, 2, 4, 8, 16, 32)},
        reference={"nodes": 1},
        workloads=dict.fromkeys(list(FORTY)[:30], (TIME,)),
        slowing=lambda settings, _: 1 / int(settings["nodes"]) if slowing else 1.0,
        noise=lognormal(0.05),
    )
    folder = write(truth, tmp_path / "c", seed=2)
    curves = json.loads(tare_here("scaling", folder, "--json").stdout)["curves"]
    assert sum(word in json.dumps(one) for one in curves) <= 2


# Values that are the same, and zeros


def test_equal_values_have_no_p_value_of_nothing_and_no_remark_on_ranks(
    tare_here: Tare, tmp_path: Path
) -> None:
    folder = write(Truth(noise=lognormal(0.0)), tmp_path / "c")
    (row,) = compared(tare_here, folder)["comparisons"]
    assert row["p_value"] == 1
    assert "ranks disagree" not in str(row["note"]) + tare_here("compare", folder).stdout


def test_one_zero_leaves_the_interval_and_the_check(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(slowing=by_level("network", {"overlay": 9.44}), blocks=20)
    found = campaign(truth)
    is_zero = next(
        number
        for number, one in enumerate(found.attempts)
        if one.block == 7 and found.plan.is_reference(found.cases[one.case])
    )
    attempts = list(found.attempts)
    series = msgspec.structs.replace(attempts[is_zero].series[0], values=[0.0])
    attempts[is_zero] = msgspec.structs.replace(attempts[is_zero], series=[series])
    folder = write_campaign(msgspec.structs.replace(found, attempts=tuple(attempts)), tmp_path / "c")
    (row,) = compared(tare_here, folder)["comparisons"]
    assert row["verdict"] == "worse"
    assert row["low"] is not None
    assert tare_here("check", folder, "--fail-if", "overhead() > 100 %").returncode == 1


# Hoefler's and Belli's rules


def test_the_methods_section_covers_each_of_the_twelve_rules(tare_here: Tare, tmp_path: Path) -> None:
    skewed: Noise = sometimes_slow()
    workloads = {"w": (TIME,), "v": (Figure(name="rate", unit="MB/s", better=TIME.better),)}
    said = page(tare_here, write(Truth(workloads=workloads, noise=skewed, blocks=12), tmp_path / "c"))
    methods = said[said.index("How was this computed?") :]
    for words in (
        "Name the base of each speedup",
        "Give a reason for every subset",
        "Average costs arithmetically, and rates harmonically",
        "Do not average ratios",
        "Do not assume normality unseen",
        "tested for being log-normal",
        "Ask whether a mean is what matters",
        "Report how times were taken",
        "Show upper bounds",
    ):
        assert words in methods
    assert not re.search(r"geometric mean[^.;]*\(Hoefler", methods), "the paper asks for others"


def test_a_site_reports_what_its_links_and_nodes_can_give(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(
        "site: s\nnodes: [n1, n2]\nagent: [/opt/agent]\nplatforms: {mpich: {launcher: mpich}}\n"
        "networks: {ib: {interface: ib0, rate: 100 Gbit/s}}\n"
        "peaks: {memory_bandwidth: 204 GB/s, flops: 2.5 Tflop/s}\n"
    )
    (tmp_path / "study.yaml").write_text(
        "study: s\nsite: site.yaml\nnodes: 2\nnetwork: ib\nfactors: {workload: [osu.bw]}\n"
    )
    planned = tare_here("plan", "study.yaml")
    assert planned.returncode == 0, planned.stderr
