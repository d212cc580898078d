"""Every number that a real HPCC printed, in the tables of the report."""

from __future__ import annotations

import csv
import re
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tare.core.attempt import State
from tare.storage.campaign import read_campaign

NETWORKS = ("host", "overlay", "macvlan")
STUDY = """\
study: hpcc-table
site: lab
platform: debian
reference: {network: host}
factors:
  network: [host, overlay, macvlan]
  workload: [hpcc: {n: 256, nb: 32}]
nodes: 2
repeats: 2
timeout: 4 min
"""
Numbers = dict[tuple[str, str], list[float]]


@pytest.mark.slow
@pytest.mark.lab
@pytest.mark.skipif(shutil.which("hpcc") is None, reason="no hpcc here; on Debian: apt install hpcc")
def test_every_number_that_hpcc_printed_is_in_every_table(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    tare = str(Path(sys.executable).with_name("tare"))
    folder, report = tmp_path / "c", tmp_path / "report"
    for words in (
        ["run", str(tmp_path / "study.yaml"), "--out", str(folder)],
        ["report", str(folder), "--out", str(report), "--format", "all"],
    ):
        done = subprocess.run([tare, *words], capture_output=True, text=True, check=False, timeout=600)
        if words[0] == "run" and "builds no lab" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
    printed = printed_numbers(folder)
    assert len(printed) >= 3 * 32
    assert {(side, fom) for fom, side in printed} >= {
        (network, fom) for network in NETWORKS for fom in ("StarFFT_Gflops", "SingleFFT_Gflops", "HPL_Tflops")
    }
    with (report / "values.csv").open() as file:
        rows = {(row["fom"], row["side"]): row for row in csv.DictReader(file)}
    assert rows.keys() == printed.keys()
    tables = {name: (report / name).read_text() for name in ("summary.md", "tables.tex", "index.html")}
    shown = {name: numbers_of(text) for name, text in tables.items()}
    for key, values in printed.items():
        row = rows[key]
        mean = statistics.geometric_mean(values)
        assert float(row["value"]) == pytest.approx(mean, rel=1e-9), key
        assert (float(row["minimum"]), float(row["maximum"])) == (min(values), max(values)), key
        for name, numbers in shown.items():
            assert any(is_rounded(text, mean) for text in numbers), (name, key, mean)


def printed_numbers(folder: Path) -> Numbers:
    """Return what the summaries of the measured runs hold, by figure and network."""
    campaign = read_campaign(folder)
    names = {fom.name for fom in campaign.plan.foms["hpcc"]}
    found: Numbers = defaultdict(list)
    for attempt in campaign.attempts:
        assert attempt.state is State.DONE
        text = (folder / attempt.folder / "hpccoutf.txt").read_text()
        summary = text.partition("Begin of Summary section.")[2]
        for name, value in re.findall(r"^(\w+)=(\S+)$", summary, re.MULTILINE):
            if name in names and float(value) > 0:
                found[name, campaign.cases[attempt.case].network or ""].append(float(value))
    return dict(found)


def numbers_of(text: str) -> set[str]:
    plain = re.sub(
        r"\\times *10\^\{(-?\d+)\}",
        r"e\1",
        text.replace("−", "-").replace(r"\ensuremath{-}", "-").replace("\\,", ""),
    )
    return set(re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", plain))


def is_rounded(text: str, value: float) -> bool:
    """Return whether `text` is `value`, rounded to three digits or more; zeros at its end may be left out."""
    return any(float(text) == float(f"{value:.{digits}g}") for digits in range(3, 17))
