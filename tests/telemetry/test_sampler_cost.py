"""The cost of the sampler, compared with other tools that count the same and with the clock."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from bench.loopback import send
from tare.core.safe_folder import SafeFolder
from tare.plugins.backends.hosts.samplers import Samplers
from tare.plugins.collectors.sampler import program, raw_name, read
from tare.plugins.collectors.sampler.figures import parse
from tare.plugins.collectors.sampler.recording import HostRecording

SENT_BYTES = 2**29


def record(folder: Path, period_s: float, seconds: float) -> HostRecording:
    """Return what the sampler saw of this machine."""
    samplers = Samplers(program=program(), label="test:0:0:sampler;", raw_name=raw_name)
    with closing(samplers), samplers.watch([None], folder, period_s):
        time.sleep(seconds)
    return recorded(folder)


def recorded(folder: Path) -> HostRecording:
    recording = read(SafeFolder(folder))
    assert recording is not None
    return recording.hosts[0]


def _rows(reported: str) -> list[list[str]]:
    """Return the rows of sar on loopback, but for the mean over all."""
    rows = [line.split() for line in reported.splitlines()]
    return [row for row in rows if row[1:2] == ["lo"] and not row[0].startswith("Average")]


@pytest.mark.skipif(shutil.which("sar") is None, reason="no sysstat; run: apt install sysstat")
def test_bytes_agree_with_sar_run_beside_it(tmp_path: Path) -> None:
    samplers = Samplers(program=program(), label="test:0:0:sampler;", raw_name=raw_name)
    with closing(samplers), samplers.watch([None], tmp_path, 1.0):
        sar = subprocess.Popen(
            ["sar", "-n", "DEV", "1", "6"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"},
        )
        assert sar.stdout is not None
        reported = ""
        while not _rows(reported):  # until it has read its first counters, however long that takes
            reported += sar.stdout.readline()
        send(SENT_BYTES)
        reported += sar.stdout.read()
        sar.wait(timeout=60)
        sar.stdout.close()
    host = recorded(tmp_path)
    name = "interface.lo/tx_bytes"
    first, last = (parse(host.samples[n], ("interfaces",))[name] for n in (0, -1))
    header = next(line.split() for line in reported.splitlines() if "txkB/s" in line)
    column = header.index("txkB/s")
    theirs = sum(float(row[column]) for row in _rows(reported)) * 1024
    assert theirs > 0.99 * SENT_BYTES  # rates are of intervals that a busy machine makes longer than a second
    assert last - first == pytest.approx(theirs, rel=0.01)


@pytest.mark.parametrize(("period_s", "share"), [(1.0, 0.005), (0.1, 0.03)])
def test_it_takes_no_more_of_a_core_and_of_memory_than_promised(
    tmp_path: Path, period_s: float, share: float
) -> None:
    """Processor time as the kernel counts it for the sampler alone, whatever else the machine does."""
    host = record(tmp_path, period_s, seconds=4)
    first, last = (parse(host.samples[n], ("sampler",)) for n in (0, -1))
    seconds = host.samples[-1].at_s - host.samples[0].at_s
    assert last["sampler.cpu_s"] - first["sampler.cpu_s"] < share * seconds
    assert last["sampler.resident_bytes"] < 25e6
    assert len(host.samples) > 0.5 * seconds / period_s, "it sampled meanwhile"
