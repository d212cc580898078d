"""Two storage paths whose rates are known: a study finds their ratio, and says which one is slower."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import Tare
from tare.lab import storage

SITE = Path(__file__).parents[2] / "studies/articles/cornelis/sites/gateway.yaml"
RATES = {
    "direct: {rate: 200 Mbit/s}": "direct: {rate: 20 Mbit/s}",
    "gateway: {rate: 100 Mbit/s}": "gateway: {rate: 10 Mbit/s}",
}
"""The rates of SITE, and a tenth of them, which a busy machine reaches, too."""
TRUTH = 0.5
"""The rate of the gateway's link over that of the direct one."""
TOLERANCE = 0.05
"""One interval in twenty misses the truth by chance; this much beyond its ends is still right."""

STUDY = """\
study: two-paths
question: How much less does the slower path carry?
site: site.yaml
platform: bare
reference: {{storage: direct}}
factors:
  storage: [direct, gateway]
  workload:
    - {workload}
nodes: 1
repeats: 5
margin: 5 %
timeout: 1 min
"""
WORKLOADS = {
    "fio": "fio.read: {size: 2MiB, block: 256KiB, time_s: 3 s}",
    "elbencho": "elbencho.read: {size: 4MiB, block: 256KiB}",
}

pytestmark = [pytest.mark.alone, pytest.mark.slow]


@pytest.mark.parametrize("program", WORKLOADS)
def test_the_true_ratio_lies_inside_the_interval(program: str, tare: Tare, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not there; docs/studies.md says where it comes from")
    if lacking := storage.missing():
        pytest.skip(f"no {', '.join(lacking)} here; {storage.CURE}")
    text = SITE.read_text()
    for rate, lower in RATES.items():
        assert rate in text
        text = text.replace(rate, lower)
    (tmp_path / "site.yaml").write_text(text)
    (tmp_path / "study.yaml").write_text(STUDY.format(workload=WORKLOADS[program]))

    done = tare("run", tmp_path / "study.yaml", "--out", tmp_path / "c")

    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = (
        one
        for one in json.loads(tare("compare", tmp_path / "c", "--json").stdout)["comparisons"]
        if one["fom"] == "bandwidth" and one["contender"] == {"storage": "gateway"}
    )
    assert found["low"] - TOLERANCE < TRUTH < found["high"] + TOLERANCE
    assert found["high"] - found["low"] < 0.3
    assert found["verdict"] == "worse"
