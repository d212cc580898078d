"""What the command line says of campaigns whose truth is known: which figure answers, its sign, its time.

These tests know nothing of the code that answers, so that they can be run on another version (TARE_PROGRAM).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from cli.conftest import Tare
from cli.imports.imported_logs import put
from support.synthetic import make_campaign, write_campaign
from truth.campaigns import RATE, TIME, Figure, Truth, by_level, write
from truth.noise import lognormal
from truth.told_campaigns import HPCC, NAMD, OSU, PATHS, WRF, gateway, slowed
from workloads.test_printed import fio_json

QUIET = lognormal(0.003)
DECIDED = {"worse", "better"}
_SIGNS = {"▲": "worse", "▼": "better", "≈": "equivalent", "?": "undecided"}


def plain(text: str) -> str:
    return re.sub("[\u00a0\u202f]", " ", text).replace("\\", "")


def summary(tare: Tare, folder: Path) -> str:
    """Return the report of a campaign in Markdown."""
    out = folder.with_name("summary")
    assert tare("report", folder, "--format", "markdown", "--out", out).returncode == 0
    return plain(next(out.glob("*.md")).read_text())


def sentences(tare: Tare, folder: Path) -> str:
    """Return what the report says on top."""
    return " ".join(line for line in summary(tare, folder).splitlines() if line.startswith("- ■"))


def rows(tare: Tare, folder: Path, *options: str) -> list[dict[str, object]]:
    said = tare("compare", folder, "--json", *options)
    assert said.returncode == 0, said.stderr
    found: list[dict[str, object]] = json.loads(said.stdout)["comparisons"]
    return found


# When it was measured


@pytest.mark.parametrize("speed", [1.2, 0.8])
def test_a_level_that_ran_later_on_a_machine_that_changed_has_no_effect(
    speed: float, tare_here: Tare, tmp_path: Path
) -> None:
    """The same program on a slower machine: nothing is claimed of it, in any output."""
    folder = write(
        Truth(
            factors={"network": ("a", "b", "c")},
            noise=lognormal(0.002),
            blocks=6,
            late=("network", "c"),
            late_slower=speed,
            late_reference=False,
        ),
        tmp_path / "c",
    )
    assert not DECIDED & {one["verdict"] for one in rows(tare_here, folder)}
    assert not re.search(r"[▲▼]", tare_here("compare", folder).stdout.split("Each is")[0])
    assert not re.search(r"(1[89]|2\d)(\.\d)? %", sentences(tare_here, folder))
    assert tare_here("check", folder, "--fail-if", "overhead() > 5 %").returncode == 0
    assert "all cases ran once in each block, in a random order" not in summary(tare_here, folder)


@pytest.mark.parametrize("speed", [1.0, 1.2])
def test_a_level_that_ran_later_beside_the_reference_is_held_against_those_runs(
    speed: float, tare_here: Tare, tmp_path: Path
) -> None:
    folder = write(
        Truth(
            factors={"network": ("a", "b", "c")},
            slowing=by_level("network", {"c": 1.1}),
            noise=lognormal(0.002),
            blocks=6,
            late=("network", "c"),
            late_slower=speed,
        ),
        tmp_path / "c",
    )
    found = {str(one["contender"]): one["ratio"] for one in rows(tare_here, folder)}
    assert [*found.values()] == pytest.approx([1.0, 1.1], rel=0.01)
    for row in json.loads(tare_here("compare", folder, "--json").stdout)["figures"]:
        below, above = row["reference_level"]["value"], row["contender_level"]["value"]
        assert above / below == pytest.approx(row["ratio"]), "values beside a change are those of its runs"


@pytest.mark.parametrize("mean", ["geometric", "arithmetic", "harmonic"])
def test_the_levels_beside_a_ratio_are_means_of_its_kind(mean: str, tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(slowing=by_level("network", {"overlay": 1.1}), noise=lognormal(0.5), blocks=8)
    folder = write(truth, tmp_path / "c")
    for row in json.loads(tare_here("compare", folder, "--mean", mean, "--json").stdout)["figures"]:
        below, above = row["reference_level"]["value"], row["contender_level"]["value"]
        assert above / below == pytest.approx(row["ratio"])


def test_the_levels_beside_an_unpaired_ratio_are_of_all_runs(tare_here: Tare, tmp_path: Path) -> None:
    """With two blocks in common, the values of these stood beside a ratio of all runs."""
    made = make_campaign(noise=0.3, blocks=8, sizes=(8,))
    kept = tuple(
        one
        for one in made.attempts
        if (one.block <= 5 if made.plan.is_reference(made.cases[one.case]) else one.block >= 4)
    )
    folder = write_campaign(msgspec.structs.replace(made, attempts=kept), tmp_path / "c")
    for row in json.loads(tare_here("compare", folder, "--unpaired", "--json").stdout)["comparisons"]:
        assert not row["is_paired"]
        below, above = row["reference_level"]["value"], row["contender_level"]["value"]
        assert above / below == pytest.approx(row["ratio"])


# Which figure answers


def test_a_gateway_that_writes_slowly_is_not_equivalent(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(factors=PATHS, workloads={"wrf.x": WRF}, slowing=gateway, noise=QUIET, blocks=8)
    said = sentences(tare_here, write(truth, tmp_path / "c"))
    assert "equivalent to" not in said
    assert re.search(r"integration time \(?4[345](\.\d)? % longer", said)


def test_wall_time_and_pace_are_not_averaged(tare_here: Tare, tmp_path: Path) -> None:
    slower = slowed("network", "overlay", {"wall_time": 1.3})
    truth = Truth(workloads={"namd.x": NAMD}, slowing=slower, noise=QUIET, blocks=8)
    said = sentences(tare_here, write(truth, tmp_path / "c"))
    assert not re.search(r"\b1[345](\.\d)? %", said)
    assert re.search(r"wall time \(?(30|29\.\d|30\.\d) % longer", said)


def test_figures_of_a_suite_are_not_averaged(tare_here: Tare, tmp_path: Path) -> None:
    faster = slowed("network", "overlay", {"HPL_Tflops": 1 / 1.35, "MPIRandomAccess_GUPs": 1 / 70})
    truth = Truth(workloads={"hpcc": HPCC}, slowing=faster, noise=QUIET, blocks=8)
    said = sentences(tare_here, write(truth, tmp_path / "c"))
    assert re.search(r"HPL Tflops \(?3[45](\.\d)? % higher", said)
    assert re.search(r"MPIRandomAccess GUPs [^;]{,40}?\b(70|69)\b", said)
    assert "in hpcc’s StarFFT Gflops" in said
    assert "35[67]" not in said


def test_latencies_of_pairs_and_of_collectives_are_not_averaged(tare_here: Tare, tmp_path: Path) -> None:
    apart = {"osu.latency": 1.5, "osu.alltoall": 2.0}
    for workload, slower in apart.items():
        truth = Truth(
            workloads={workload: OSU[workload]},
            slowing=slowed("network", "overlay", {"latency": slower}),
            noise=QUIET,
        )
        assert workload in sentences(tare_here, write(truth, tmp_path / workload))
    truth = Truth(
        workloads=OSU, slowing=slowed("network", "overlay", {"latency": 1.5}), noise=QUIET, blocks=8
    )
    said = sentences(tare_here, write(truth, tmp_path / "c"))
    assert "small-message latency" not in said
    assert "osu.latency" in said
    assert "osu.alltoall" in said


# Signs


@pytest.mark.parametrize(("slower", "change"), [(1 / 1.073, "7.3"), (1.28, "21.9")])
def test_a_rate_has_the_sign_of_its_own_change_in_each_output(
    slower: float, change: str, tare_here: Tare, tmp_path: Path
) -> None:
    """Bandwidth 7.3 % higher is +7.3 % everywhere, and 21.9 % lower is −21.9 %."""
    bandwidth = Figure(
        name="bandwidth",
        unit="MB/s",
        better=RATE.better,
        level=1000.0,
        at={"bytes": (65536, 1048576)},
    )
    truth = Truth(
        workloads={"osu.bw": (bandwidth,)},
        slowing=by_level("network", {"overlay": slower}),
        noise=lognormal(0.0004),
        blocks=8,
    )
    folder = write(truth, tmp_path / "c")
    is_more = slower < 1
    right, word = ("+", "higher") if is_more else ("−", "lower")
    text = summary(tare_here, folder)
    (row,) = (line for line in text.splitlines() if line.startswith("| osu.bw") and "bandwidth" in line)
    table = plain(tare_here("compare", folder).stdout).split("Each is")[0]
    number = re.escape(change)
    assert re.search(rf"{re.escape(right)}{number}\d? %", row)
    assert re.search(rf"{re.escape(right)}{number}\d? %", table)
    assert re.search(rf"bandwidth \(?{number}\d? % {word}", sentences(tare_here, folder))
    (wide,) = {one["fom"]: one for one in rows(tare_here, folder)}.values()
    assert wide["change"] == pytest.approx((1 if is_more else -1) * float(change) / 100, abs=0.003)


# Table and JSON


def test_table_and_json_draw_the_same_verdicts(tare_here: Tare, tmp_path: Path) -> None:
    levels = tuple(f"l{number:02d}" for number in range(41))
    truth = Truth(
        factors={"network": levels},
        slowing=by_level("network", {one: 1 + 0.0012 * n for n, one in enumerate(levels)}),
        noise=lognormal(0.015),
        blocks=6,
    )
    folder = write(truth, tmp_path / "c")
    told: dict[str, tuple[str, str | None]] = {}
    for line in tare_here("compare", folder).stdout.splitlines():
        if line.startswith("l") and (match := re.search(r"([▲▼≈?]) ", line)):
            need = re.search(r"needs ~(\d+) more", line)
            told[line.split()[0]] = _SIGNS[match[1]], need and need[1]
    body = json.loads(tare_here("compare", folder, "--json").stdout)
    assert len(told) == 40
    for one in (*body["comparisons"], *body.get("figures", ())):
        need = one["more_blocks"]
        held = one["verdict"], None if need is None or one["verdict"] != "undecided" else str(need)
        assert told[one["contender"]["network"]] == held


def test_the_json_has_the_rows_of_the_table(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(workloads={"osu.latency": OSU["osu.latency"]}, noise=QUIET)
    body = json.loads(tare_here("compare", write(truth, tmp_path / "c"), "--json").stdout)
    (pooled,) = body["figures"]
    assert (pooled["fom"], pooled["at"]["workload"]) == ("latency", "osu.latency")
    assert "bytes" not in pooled["at"]


# What is printed


@pytest.mark.parametrize(("level", "slower", "decimals"), [(0.2149, 0.2153 / 0.2149, 2), (14.949, 1.0002, 1)])
def test_a_difference_of_the_last_printed_digit_is_no_sure_effect(
    level: float, slower: float, decimals: int, tare_here: Tare, tmp_path: Path
) -> None:
    truth = Truth(
        workloads={"osu.latency": (Figure(name="latency", unit="us", level=level),)},
        slowing=by_level("network", {"overlay": slower}),
        noise=lognormal(1e-6),
        blocks=20,
        decimals=decimals,
        margin=0.001,
    )
    folder = write(truth, tmp_path / "c")
    found = {one["verdict"] for one in rows(tare_here, folder)}
    assert found == {"undecided"}
    assert "overlay** makes" not in sentences(tare_here, folder)


def test_a_number_is_no_size_because_of_its_name(tare_here: Tare, tmp_path: Path) -> None:
    truth = Truth(factors={"network": ("a", "b"), "block": (128, 256)}, workloads={"cuda.x": (TIME,)})
    said = summary(tare_here, write(truth, tmp_path / "cuda"))
    assert re.search(r"block 128\b", said)
    assert "128 B" not in said


def test_a_size_is_written_as_a_study_writes_it(tare_here: Tare, tmp_path: Path) -> None:
    for platform in ("a", "b"):
        for size in ("1GiB", "2GiB"):
            put(tmp_path / f"r/{platform}/{size}/1.json", fio_json(1_000_000, 15_000, 100.0 + len(platform)))
    named = ("--pattern", "{platform}/{size}/*.json", "--reference", "platform=a", "--keep-equal")
    tare_here("import", "fio.read", "r", "--out", "c", *named)
    said = summary(tare_here, tmp_path / "c")
    assert "1073741824" not in said
    assert "1 GiB" in said
