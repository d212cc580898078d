"""Recordings as they come back from the nodes: kept in one compressed file an attempt, and read again.

Compressed JSON lines rather than Parquet: that takes less room and less time, as `python -m bench telemetry`
shows; a run of a second would be all headings in Parquet; and what the kernel wrote stays readable
with zcat(1).
"""

from __future__ import annotations

import errno
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from tare.core.errors import NOT_JSON
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Host, Span

STORED = "telemetry.jsonl.gz"
_RAW = "telemetry.*.jsonl"
_LEVEL = 6
_MOST_BYTES, _MOST_LINES = 256 * 1024 * 1024, 4_000_000  # unpacked: 100 nodes over 11 hours
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
    """What one host recorded, as far as it came.

    `faults` say what became of sources, by name, or of single files, by path.
    """

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
    faults: dict[str, str] | None = None
    """Those that there are from now on; None where they are the same as before."""


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    """The line that goes before a host's lines where several are kept in one file."""

    host: str


def raw_name(host: str) -> str:
    """Return the file that a host records into while a run goes on."""
    return f"telemetry.{host}.jsonl"


def store(folder: Path, span: Span) -> Recording:
    """Keep the recordings in `folder` as one compressed file, host by host, and return what they hold."""
    place = SafeFolder(folder)
    files = _raw_files(place)
    hosts = []
    if files:
        packed = io.BytesIO()
        with gzip.GzipFile("", "wb", _LEVEL, packed, mtime=0) as kept:
            kept.write(msgspec.json.encode(span) + b"\n")
            for host, one in files.items():
                data = _whole_lines(one.read())
                kept.write(msgspec.json.encode(_Opening(host=host)) + b"\n" + data)
                hosts.append(_read_host(host, data.splitlines()))
        (place / STORED).replace(packed.getvalue(), is_synced=False)
        for one in files.values():
            one.remove()
    return Recording(hosts=tuple(one for one in hosts if one is not None), span=span)


def read(folder: SafeFolder) -> Recording | None:
    """Return what was recorded of the attempt in `folder`, also if it was killed; None where nothing was.

    Raises OSError and msgspec.DecodeError where that cannot be read.
    """
    parts = (_read_host(host, lines) for host, lines in _parts(folder))
    hosts = tuple(one for one in parts if one is not None)
    span = None
    if (folder / STORED).exists():
        span = msgspec.json.decode(_stored_lines(folder)[0], type=Span)
    return Recording(hosts=hosts, span=span) if hosts else None


def _parts(folder: SafeFolder) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the lines of each host."""
    if not (folder / STORED).exists():
        for host, one in _raw_files(folder).items():
            yield host, _whole_lines(one.read()).splitlines()
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


def _stored_lines(folder: SafeFolder) -> list[bytes]:
    place = folder / STORED
    data = place.unpack(_MOST_BYTES)
    if data.count(b"\n") > _MOST_LINES:
        raise OSError(errno.EFBIG, f"more than the {_MOST_LINES} lines that are read of it", str(place.path))
    return data.splitlines() or [b""]


def _raw_files(folder: SafeFolder) -> dict[str, SafeFolder]:
    prefix, suffix = _RAW.split("*")
    return {one.name.removeprefix(prefix).removesuffix(suffix): one for one in folder.files(_RAW)}


def _whole_lines(data: bytes) -> bytes:
    """Return `data` without a last line that was cut short."""
    return data[: data.rfind(b"\n") + 1]


def _read_host(host: str, lines: list[bytes]) -> HostRecording | None:
    """Understand what one host recorded, up to where it is damaged: each line builds on those before it.

    None where it wrote nothing, or its headings are damaged.
    """
    try:
        head = msgspec.json.decode(lines[0], type=Head)
    except (IndexError, *NOT_JSON):
        return None
    known: dict[str, list[str]] = {}
    faults: dict[str, str] = {}
    samples = []
    for line in _decoded(lines[1:]):
        for name in line.faults or ():
            known.pop(name, None)  # what it said before must not pass for what it says now
        try:
            known |= {name: _applied(changes, known.get(name, [])) for name, changes in line.s.items()}
        except IndexError:
            break
        faults |= line.faults or {}
        samples.append(Sample(at_s=line.t, wall_s=line.w, lines=dict(known), mark=line.mark))
    return HostRecording(host=host, head=head, samples=tuple(samples), faults=faults)


def _decoded(lines: list[bytes]) -> Iterable[_Line]:
    """Return the lines before the first that is damaged; all at once, where none is."""
    try:
        return msgspec.json.Decoder(list[_Line]).decode(b"[" + b",".join(lines) + b"]")
    except NOT_JSON:
        return _decoded_one_by_one(lines)


def _decoded_one_by_one(lines: list[bytes]) -> Iterator[_Line]:
    decoder = msgspec.json.Decoder(_Line)
    for line in lines:
        try:
            yield decoder.decode(line)
        except NOT_JSON:
            return


def _applied(changes: list[str] | dict[int, str], lines: list[str]) -> list[str]:
    """Return the lines of a source after `changes`. Raises IndexError where these belong to other lines."""
    if isinstance(changes, list):
        return changes
    fresh = list(lines)
    for number, text in changes.items():
        fresh[number] = text
    return fresh


def times(one: HostRecording, span: Span | None) -> tuple[list[float], float]:
    """Return when each sample was taken, by the clock of the head, and by how much that may err.

    The host's monotonic clock tells, so that it does not matter if its wall clock is set meanwhile.
    """
    known = span.hosts.get(one.host, Host()) if span else Host()
    is_asked = known.offset_error_s is not None
    margin_s = max(known.offset_error_s or 0.0, _LEAST_ERROR_S) if is_asked else _UNKNOWN_ERROR_S
    if not one.samples:
        return [], margin_s
    zero_at = known.zero_at
    if zero_at is None:
        zero_at = one.samples[0].wall_s - one.samples[0].at_s - (known.offset_s or 0.0)
    return [zero_at + sample.at_s for sample in one.samples], margin_s
