"""What docs/programs.md says of wrappers, executables and threads, with the programs themselves."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from cli.conftest import Tare
from tare.core.attempt import Attempt, State
from tare.storage.campaign import read_campaign

WRAPPED = """\
study: wrapped
platform: bare
workloads:
  echo:
    command: [echo, "value: 1.5"]
    foms:
      - {{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}}
      - {{name: seen, unit: "1", better: lower, regex: '{regex}', file: stderr}}
workload: echo
wrapper: {wrapper}
repeats: 1
"""
NUMA = """\
study: numa
platform: bare
workloads:
  policy:
    command: [sh, -c, "numactl --show; echo value: 1.5"]
    foms: [{name: value, unit: s, better: lower, regex: 'value: (\\S+)'}]
workload: policy
wrapper: numactl --localalloc
repeats: 1
"""
HYBRID = """\
study: hybrid
platform: debian
workloads:
  hybrid:
    command: hybrid --threads {threads}
    mpi: true
    needs_transport: false
    inputs: {hybrid: hybrid}
    foms:
      - {name: team, unit: "1", better: higher, by: [rank], regex: 'rank (?P<rank>\\d+) has (\\d+) threads'}
workload: hybrid
executable: ./hybrid
args: [--seed, "two words; $(reboot)"]
factors:
  ranks:
    - {ranks: 2, threads: 1}
    - {ranks: 1, threads: 2}
repeats: 1
"""
SOURCE = """\
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int team = 0;
#pragma omp parallel
#pragma omp single
    team = omp_get_num_threads();
    printf("rank %s has %d threads and the arguments", getenv("OMPI_COMM_WORLD_RANK"), team);
    for (int i = 1; i < count; i++) printf(" [%s]", words[i]);
    puts("");
}
"""
RUN = ("--no-boost", "--telemetry", "off", "--out", "c")


def works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def figures(folder: Path, one: Attempt) -> dict[str, list[float]]:
    assert one.state is State.DONE, (one.reason, (folder / one.folder / "stderr").read_text())
    return {series.fom: series.values for series in one.series}


@pytest.mark.parametrize(
    ("wrapper", "regex"),
    [
        ("/usr/bin/time -v", r"Maximum resident set size \(kbytes\): (\d+)"),
        ("strace -f -c", r"^100\.00 +\S+ +\S+ +(\d+).* total$"),
        ("perf stat -x, -e page-faults", r"^(\d+),,page-faults"),
    ],
)
def test_what_a_wrapper_prints_is_a_figure_beside_those_of_the_program(
    tare_here: Tare, tmp_path: Path, wrapper: str, regex: str
) -> None:
    if not works(*shlex.split(wrapper), "true"):
        pytest.skip(f"{wrapper} does not work here")
    (tmp_path / "study.yaml").write_text(WRAPPED.format(wrapper=wrapper, regex=regex))
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stdout + done.stderr
    (one,) = read_campaign(tmp_path / "c").attempts
    found = figures(tmp_path / "c", one)
    assert found["value"] == [1.5]
    assert found["seen"][0] > 0


def test_numactl_sets_the_policy_of_the_program(tare_here: Tare, tmp_path: Path) -> None:
    if not works("numactl", "--localalloc", "true"):
        pytest.skip("numactl does not work here: apt install numactl")
    (tmp_path / "study.yaml").write_text(NUMA)
    assert tare_here("run", "study.yaml", *RUN).returncode == 0
    (one,) = read_campaign(tmp_path / "c").attempts
    assert figures(tmp_path / "c", one)["value"] == [1.5]
    assert "policy: local" in (tmp_path / "c" / one.folder / "stdout").read_text()


def test_ranks_have_their_threads_and_a_program_of_the_run_s_own_folder_starts_on_each(
    tare_here: Tare, tmp_path: Path
) -> None:
    (tmp_path / "hybrid.c").write_text(SOURCE)
    if not works("gcc", "-fopenmp", "-o", str(tmp_path / "hybrid"), str(tmp_path / "hybrid.c")):
        pytest.skip("no compiler with OpenMP here: apt install gcc")
    if not works("/usr/bin/mpirun", "--version"):
        pytest.skip("no Open MPI of Debian here: apt install openmpi-bin")
    (tmp_path / "study.yaml").write_text(HYBRID)
    done = tare_here("run", "study.yaml", *RUN)
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    layouts = {case.id: case.layout for case in campaign.plan.cases}
    for one in campaign.attempts:
        layout = layouts[one.case]
        (series,) = one.series
        assert sorted(series.values) == [float(layout.threads)] * layout.ranks
        printed = (tmp_path / "c" / one.folder / "stdout").read_text()
        words = f"[--threads] [{layout.threads}] [--seed] [two words; $(reboot)]"
        assert printed.count(words) == layout.ranks
