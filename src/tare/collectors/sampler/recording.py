"""Recordings as they come back from the nodes: kept in one compressed file an attempt, and read again.

Compressed JSON lines rather than Parquet: that takes less room and less time, as `python -m bench telemetry`
shows; a run of a second would be all headings in Parquet; and what the kernel wrote stays readable
with zcat(1).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tare.model.telemetry import Host, Span

STORED = "telemetry.jsonl.gz"
_RAW = "telemetry.*.jsonl"
_LEVEL = 6
_LEAST_ERROR_S = 1e-3  # by which two readings of one clock may disagree after rounding
_UNKNOWN_ERROR_S = 0.05  # of the clocks of nodes that keep time by NTP (RFC 5905)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of what one host recorded.

    `sampler` is the version of the format; `machine` is the same for hosts that share a kernel.
    """

    sampler: int
    node: str
    period_s: float
    machine: str = ""
    sources: tuple[str, ...] = ()
    python: str = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One reading: by the host's monotonic and wall clock, and the lines of each source."""

    at_s: float
    wall_s: float
    lines: Mapping[str, list[str]]
    mark: str = ""


class HostRecording(msgspec.Struct, frozen=True, kw_only=True):
    """What one host recorded, as far as it came; `faults` say what became of sources, by name."""

    host: str
    head: Head
    samples: tuple[Sample, ...]
    faults: dict[str, str] = {}


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What all hosts of an attempt recorded; without a `span` where nobody was left to say what it was."""

    hosts: tuple[HostRecording, ...]
    span: Span | None = None


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    t: float
    w: float
    s: dict[str, list[str] | dict[int, str]] = {}
    mark: str = ""
    faults: dict[str, str] = {}


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    """The line that goes before a host's lines where several are kept in one file."""

    host: str


def raw_name(host: str) -> str:
    """Return the file that a host records into while a run goes on."""
    return f"telemetry.{host}.jsonl"


def store(folder: Path, span: Span) -> Recording:
    """Keep the recordings in `folder` as one compressed file, and return what they hold."""
    raw = {host: _whole_lines(path.read_bytes()) for host, path in _raw_files(folder).items()}
    if raw:
        parts = [msgspec.json.encode(span) + b"\n"]
        for host, data in raw.items():
            parts += [msgspec.json.encode(_Opening(host=host)) + b"\n", data]
        (folder / STORED).write_bytes(gzip.compress(b"".join(parts), _LEVEL, mtime=0))
        for host in raw:
            (folder / raw_name(host)).unlink()
    hosts = tuple(_read_host(host, data.splitlines()) for host, data in raw.items() if data)
    return Recording(hosts=hosts, span=span)


def read(folder: Path) -> Recording | None:
    """Return what was recorded of the attempt in `folder`, also if it was killed; None where nothing was."""
    hosts = tuple(_read_host(host, lines) for host, lines in _parts(folder))
    span = None
    if (folder / STORED).is_file():
        span = msgspec.json.decode(_stored_lines(folder)[0], type=Span)
    return Recording(hosts=hosts, span=span) if hosts else None


def _parts(folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the lines of each host."""
    if not (folder / STORED).is_file():
        for host, path in _raw_files(folder).items():
            if lines := _whole_lines(path.read_bytes()).splitlines():
                yield host, lines
        return
    host, lines = "", list[bytes]()
    for line in _stored_lines(folder)[1:]:
        if line.startswith(b'{"host":'):
            if host:
                yield host, lines
            host, lines = msgspec.json.decode(line, type=_Opening).host, []
        else:
            lines.append(line)
    if host:
        yield host, lines


def _stored_lines(folder: Path) -> list[bytes]:
    return gzip.decompress((folder / STORED).read_bytes()).splitlines()


def _raw_files(folder: Path) -> dict[str, Path]:
    prefix, suffix = _RAW.split("*")
    return {path.name.removeprefix(prefix).removesuffix(suffix): path for path in sorted(folder.glob(_RAW))}


def _whole_lines(data: bytes) -> bytes:
    """Return `data` without a last line that was cut short."""
    return data[: data.rfind(b"\n") + 1]


def _read_host(host: str, lines: list[bytes]) -> HostRecording:
    """Understand what one host recorded. Raises msgspec.DecodeError where it is damaged."""
    head = msgspec.json.decode(lines[0], type=Head)
    known: dict[str, list[str]] = {}
    faults: dict[str, str] = {}
    samples = []
    for line in msgspec.json.Decoder(list[_Line]).decode(b"[" + b",".join(lines[1:]) + b"]"):
        for name, changes in line.s.items():
            if isinstance(changes, list):
                known[name] = changes
            else:
                fresh = known[name] = list(known[name])
                for number, text in changes.items():
                    fresh[number] = text
        faults |= line.faults
        samples.append(Sample(at_s=line.t, wall_s=line.w, lines=dict(known), mark=line.mark))
    return HostRecording(host=host, head=head, samples=tuple(samples), faults=faults)


def clock_offset(span: Span | None, host: str) -> tuple[float, float]:
    """Return the seconds to take from a host's wall clock to have the head's, and how far that may err."""
    known = span.hosts.get(host, Host()) if span else Host()
    if known.offset_s is None or known.offset_error_s is None:
        return 0.0, _UNKNOWN_ERROR_S
    return known.offset_s, max(known.offset_error_s, _LEAST_ERROR_S)
