"""Run real A/A campaigns on this machine, and count how often Tare claims a difference that does not exist.

``make calibration`` runs 20 campaigns, which takes some minutes. Each runs a small program in 12 blocks, with
two variants that differ only in their name.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.rows import TARE
from tare.analysis.trust.quality import quality
from tare.analysis.trust.repeatability import RepeatabilityWarning
from tare.analysis.verdicts.compare import aggregates, comparisons
from tare.analysis.verdicts.headline import headlines
from tare.analysis.verdicts.variability import variabilities
from tare.core.campaign import Campaign
from tare.core.comparison import Finding
from tare.core.verdict import Verdict
from tare.storage.campaign import read_campaign

N_CAMPAIGNS = 20
N_BLOCKS = 12

_PROGRAM = """\
import os, time

def timed(name, work):
    started = time.perf_counter()
    work()
    print(f"{name}: {1e3 * (time.perf_counter() - started):.4f} ms")

block = bytearray(1 << 22)
timed("compute", lambda: sum(i * i for i in range(200_000)))
timed("copy", lambda: [bytes(block) for _ in range(8)])
timed("calls", lambda: [os.stat("/") for _ in range(20_000)])
timed("allocate", lambda: [list(range(1000)) for _ in range(500)])
"""

_STUDY = """\
study: calibration
question: What is found where there is nothing?
seed: {seed}
reference: {{side: a}}
workloads:
  program:
    command: {python} {program} {{side}} {{part}}
    parameters: {{side: {{kind: text, default: a}}, part: {{kind: whole number, default: 1}}}}
    foms:
      - {{name: compute, unit: ms, better: lower, regex: 'compute: (\\S+) ms'}}
      - {{name: copy, unit: ms, better: lower, regex: 'copy: (\\S+) ms'}}
      - {{name: calls, unit: ms, better: lower, regex: 'calls: (\\S+) ms'}}
      - {{name: allocate, unit: ms, better: lower, regex: 'allocate: (\\S+) ms'}}
    checks: [{{matches: allocate}}]
factors:
  workload: [program]
  side: [a, b]
  part: [1, 2]
repeats: {blocks}
"""

_FOUND = (Verdict.WORSE, Verdict.BETTER)


def _differs(found: Iterable[Finding]) -> bool:
    return any(one.verdict in _FOUND for one in found)


CLAIMS: dict[str, Callable[[Campaign], bool]] = {
    "a difference of a figure": lambda one: _differs(aggregates(one)),
    "a difference of a point": lambda one: _differs(comparisons(one)),
    "a difference in a headline": lambda one: _differs(headlines(one)),
    "a difference in scatter": lambda one: any(row.verdict in _FOUND for row in variabilities(one)),
    "a warm-up": lambda one: any(
        doubt.kind is RepeatabilityWarning.WARM_UP for doubt in quality(one).warnings
    ),
    "a drift": lambda one: any(doubt.kind is RepeatabilityWarning.DRIFT for doubt in quality(one).warnings),
}
"""A test for each kind of false claim: does a campaign make this claim at all?"""


def main() -> None:
    """Run the number of campaigns given on the command line, by default 20, and print the counts."""
    n_campaigns = int(sys.argv[1]) if len(sys.argv) > 1 else N_CAMPAIGNS
    counts = dict.fromkeys(CLAIMS, 0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, n_campaigns + 1):
            campaign = _measured(Path(folder), number)
            for name, claims in CLAIMS.items():
                counts[name] += claims(campaign)
            print(f"campaign {number} of {n_campaigns}", file=sys.stderr)
    chance = most(n_campaigns)
    print(f"{'claimed, where there is nothing':32} {'campaigns':>12}  promised")
    for name, count in counts.items():
        print(f"{name:32} {f'{count} of {n_campaigns}':>12}  5 %: chance alone makes up to {chance}")


def most(n_campaigns: int) -> int:
    """Return the 99 % quantile of the number of false claims, if each campaign makes one with 5 % chance."""
    from scipy.stats import binom

    return int(binom.ppf(0.99, n_campaigns, 0.05))


def _measured(folder: Path, number: int) -> Campaign:
    program, study = folder / "program.py", folder / f"{number}.yaml"
    program.write_text(_PROGRAM)
    study.write_text(_STUDY.format(seed=number, python=sys.executable, program=program, blocks=N_BLOCKS))
    out = folder / str(number)
    command = [TARE, "run", str(study), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        sys.exit(f"campaign {number} failed: {done.stderr.strip() or done.stdout.strip()}")
    return read_campaign(out)


if __name__ == "__main__":
    main()
