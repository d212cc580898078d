"""Measure the sampler's cost and the size of its recordings, and compare its counts with those of sar(1)."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from bench.loopback import send
from bench.rows import Row
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Epoch, Host, Span
from tare.core.telemetry_sources import sources
from tare.plugins.backends.hosts.samplers import Samplers
from tare.plugins.collectors.sampler import program, raw_name, read
from tare.plugins.collectors.sampler.figures import parse
from tare.plugins.collectors.sampler.recording import HostRecording, store

_SECONDS = 30.0
_INTERFACE = "lo"
_TRAFFIC_BYTES = 2**31


def measure() -> Iterator[Row]:
    """Sample this machine for half a minute at each of two periods, during its usual work."""
    with tempfile.TemporaryDirectory() as folder:
        for period_s, goal in ((1.0, "under 0.5 % of a core"), (0.1, "under 3 % of a core")):
            host = _record(Path(folder), period_s)
            cpu_s, resident = _own(host)
            what = f"sampler at {1 / period_s:g} Hz, of one core | resident memory"
            yield Row(
                what, f"{100 * cpu_s / _SECONDS:.2f} %", f"{resident / 2**20:.1f} MiB", f"{goal}, 25 MiB"
            )
        yield from _stored(Path(folder), host)
    if shutil.which("sar"):
        yield _beside_sar()


def _record(folder: Path, period_s: float) -> HostRecording:
    samplers = Samplers(program=program(), label="bench:0:0:sampler;", raw_name=raw_name)
    with closing(samplers), samplers.watch([None], folder, period_s):
        time.sleep(_SECONDS)
    recording = read(SafeFolder(folder))
    assert recording is not None
    return recording.hosts[0]


def _own(host: HostRecording) -> tuple[float, float]:
    """Return the sampler's CPU seconds and resident bytes, as the kernel counts them."""
    first, last = (parse(sample, ("sampler",)) for sample in (host.samples[0], host.samples[-1]))
    return last["sampler.cpu_s"] - first["sampler.cpu_s"], last["sampler.resident_bytes"]


def _stored(folder: Path, host: HostRecording) -> Iterator[Row]:
    """Yield the size and writing time of one recording, in Tare's own format and as Parquet."""
    import polars as pl

    raw = (folder / raw_name("localhost")).read_bytes()
    began = time.perf_counter()
    kept = gzip.compress(raw, 6)
    kept_s = time.perf_counter() - began
    began = time.perf_counter()
    rows = [{"t": one.at_s, "w": one.wall_s} | parse(one, sources()) for one in host.samples]
    out = io.BytesIO()
    pl.DataFrame(rows).write_parquet(out, compression="zstd")
    parquet_s = time.perf_counter() - began
    n = len(host.samples)
    yield Row(
        f"{n} samples: JSON lines, gzip | Parquet, zstd",
        f"{len(kept) / 1024:.1f} KiB",
        f"{len(out.getvalue()) / 1024:.1f} KiB",
        "smaller",
    )
    yield Row(f"{n} samples: time to write", f"{kept_s * 1e3:.1f} ms", f"{parquet_s * 1e3:.1f} ms", "faster")
    few = gzip.compress(b"\n".join(raw.splitlines()[:3]), 6)
    out = io.BytesIO()
    pl.DataFrame(rows[:2]).write_parquet(out, compression="zstd")
    yield Row(
        "2 samples: JSON lines, gzip | Parquet, zstd",
        f"{len(few) / 1024:.1f} KiB",
        f"{len(out.getvalue()) / 1024:.1f} KiB",
        "smaller",
    )
    span = Span(
        hosts={"localhost": Host()}, epochs=(Epoch("run", host.samples[0].wall_s, host.samples[-1].wall_s),)
    )
    began = time.perf_counter()
    store(folder, span)
    yield Row("store and read a recording", f"{(time.perf_counter() - began) * 1e3:.1f} ms", "", "")


def _beside_sar() -> Row:
    """Compare the bytes of an interface with those that sar(1) reports for the same seconds."""
    with tempfile.TemporaryDirectory() as folder:
        samplers = Samplers(program=program(), label="bench:0:0:sampler;", raw_name=raw_name)
        with closing(samplers), samplers.watch([None], Path(folder), 1.0):
            sar = subprocess.Popen(
                ["sar", "-n", "DEV", "1", "8"], stdout=subprocess.PIPE, text=True, env={"LC_ALL": "C"}
            )
            time.sleep(2)
            send(_TRAFFIC_BYTES)
            out, _ = sar.communicate()
        recording = read(SafeFolder(Path(folder)))
    assert recording is not None
    first, last = (
        parse(one, ("interfaces",)) for one in (recording.hosts[0].samples[0], recording.hosts[0].samples[-1])
    )
    name = f"interface.{_INTERFACE}/tx_bytes"
    ours = last[name] - first[name]
    rows = [line.split() for line in out.splitlines() if line.split()[1:2] == [_INTERFACE]]
    theirs = sum(float(row[5]) for row in rows if not row[0].startswith("Average")) * 1024
    return Row(
        f"bytes sent through {_INTERFACE}, sampler | sar -n DEV",
        f"{ours / 2**20:.0f} MiB",
        f"{theirs / 2**20:.0f} MiB",
        f"within 1 %: {100 * (ours / theirs - 1):+.2f} %",
    )
