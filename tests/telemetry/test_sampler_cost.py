"""The cost of the sampler, compared with other tools that count the same and with the clock."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bench.loopback import send
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry_sources import sources
from tare.plugins.backends.hosts.samplers import Samplers
from tare.plugins.collectors.sampler import program, raw_name, read, readers
from tare.plugins.collectors.sampler.figures import parse
from tare.plugins.collectors.sampler.readers import Readers
from tare.plugins.collectors.sampler.recording import HostRecording

pytestmark = pytest.mark.alone  # it measures CPU time

SENT_BYTES = 2**29
_SECONDS = 4.0

_PLAIN_READER = """
import os, sys, time
period_s, seconds, *paths = sys.argv[1:]
files = [os.open(path, os.O_RDONLY) for path in paths]
began = time.process_time()
for _ in range(int(float(seconds) / float(period_s)) + 1):
    for file in files:
        os.pread(file, 1 << 16, 0)
    time.sleep(float(period_s))
print(time.process_time() - began)
"""


@pytest.fixture
def local_readers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readers]:
    """The readers of this machine's files."""
    monkeypatch.setattr(readers, "SOURCES", sources())
    local = Readers()
    yield local
    local.close()


def _opened() -> list[str]:
    """Return the files of this machine that the sampler reads."""
    paths = [path for source in sources().values() if hasattr(source, "paths") for path in source.paths("")]
    return [path for path in dict.fromkeys(paths) if os.access(path, os.R_OK)]


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


@pytest.mark.parametrize("period_s", [1.0, 0.1])
def test_it_takes_little_more_than_reading_the_same_files_beside_it(tmp_path: Path, period_s: float) -> None:
    """What a file costs is the machine's; a plain reader meets the same."""
    with subprocess.Popen(
        [sys.executable, "-c", _PLAIN_READER, str(period_s), str(_SECONDS), *_opened()],
        stdout=subprocess.PIPE,
    ) as peer:
        host = record(tmp_path, period_s, seconds=_SECONDS)
        peer_s = float(peer.communicate()[0])
    first, last = (parse(host.samples[n], ("sampler",)) for n in (0, -1))
    seconds = host.samples[-1].at_s - host.samples[0].at_s
    assert last["sampler.cpu_s"] - first["sampler.cpu_s"] < 10 * peer_s + 0.05 * seconds
    assert last["sampler.resident_bytes"] < 25e6
    assert len(host.samples) > 0.5 * seconds / period_s, "it sampled meanwhile"


def test_a_sample_takes_little_more_than_reading_its_files(local_readers: Readers) -> None:
    descriptors = [os.open(path, os.O_RDONLY) for path in _opened()]
    try:
        local_readers.changes(are_all_due=True)
        ratios = []
        for _ in range(5):
            sampled_s = _cpu_s(lambda: local_readers.changes(are_all_due=True))
            read_s = _cpu_s(lambda: [os.pread(descriptor, 1 << 16, 0) for descriptor in descriptors])
            ratios.append(sampled_s / read_s)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    assert statistics.median(ratios) < 5


def _cpu_s(act: Callable[[], object], times: int = 200) -> float:
    began = time.process_time()
    for _ in range(times):
        act()
    return time.process_time() - began
