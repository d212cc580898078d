"""Store the recordings of nodes in one compressed file for each attempt, and read them again.

The format is compressed JSON lines, not Parquet. It takes less space and less time, as `python -m bench
telemetry` shows. In Parquet, a run of one second would consist mostly of headings. The kernel's text stays
readable with zcat(1).
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import Host, Span

STORED = "telemetry.jsonl.gz"
NONE_HELD: Mapping[str, bytes] = MappingProxyType({})
_RAW = "telemetry.*.jsonl"
_LEVEL = 6
_AS_GZIP, _LEAST_WINDOW_BITS = 16, 9  # see zlib.compressobj
_MOST_BYTES, _MOST_LINES = 256 * 1024 * 1024, 4_000_000  # unpacked: 100 nodes over 11 hours
_LEAST_ERROR_S = 1e-3  # the difference that rounding may make between two readings of one clock
_UNKNOWN_ERROR_S = 0.05  # for clocks of nodes that use NTP (RFC 5905)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a host's recording.

    `sampler` is the version of the format. `machine` is the same for hosts that share a kernel.
    """

    sampler: int
    node: str
    period_s: float
    machine: str = ""
    sources: tuple[str, ...] = ()
    python: str = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One sample: its time by the host's monotonic and wall clock, and the lines of each source."""

    at_s: float
    wall_s: float
    lines: Mapping[str, list[str]]
    mark: str = ""


class HostRecording(msgspec.Struct, frozen=True, kw_only=True):
    """The recording of one host, as far as it was written.

    `faults` are the errors of sources, by name, or of single files, by path.
    """

    host: str
    head: Head
    samples: tuple[Sample, ...]
    faults: dict[str, str] = {}


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """The recordings of all hosts of an attempt.

    `span` is None if the runner ended before it could write it.
    """

    hosts: tuple[HostRecording, ...]
    span: Span | None = None


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    t: float
    w: float
    s: dict[str, list[str] | dict[int, str]] = {}
    mark: str = ""
    faults: dict[str, str] | None = None
    """The faults from this line on. None means that they are the same as before."""


class _Opening(msgspec.Struct, frozen=True, kw_only=True):
    """The line before a host's lines, in a file with several hosts."""

    host: str


def raw_name(host: str) -> str:
    """Return the name of the file into which a host records during a run."""
    return f"telemetry.{host}.jsonl"


def store(folder: Path, span: Span, held: Mapping[str, bytes] = NONE_HELD) -> Recording:
    """Store the recordings of `folder` as one compressed file, host by host, and return their content.

    `held` are recordings by host that are in no file.
    """
    source = SafeFolder(folder)
    files = {} if held and span.hosts.keys() <= held.keys() else _raw_files(source)
    recorded = {**{host: _whole_lines(one.read()) for host, one in files.items()}, **held}
    hosts = []
    if recorded or any(one.fault for one in span.hosts.values()):
        parts = [msgspec.json.encode(span) + b"\n"]
        for host, data in sorted(recorded.items()):
            parts += [msgspec.json.encode(_Opening(host=host)) + b"\n", data]
            hosts.append(_read_host(host, data.splitlines()))
        (source / STORED).replace(_packed(b"".join(parts)), is_synced=False)
        for one in files.values():
            one.remove()
    return Recording(hosts=tuple(one for one in hosts if one is not None), span=span)


def _packed(data: bytes) -> bytes:
    """Compress `data`, as gzip does (RFC 1952), with a window no larger than they are.

    zlib first clears its window, which takes longer than a short recording.
    """
    window_bits = min(max(len(data).bit_length(), _LEAST_WINDOW_BITS), zlib.MAX_WBITS)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _AS_GZIP + window_bits)
    return packer.compress(data) + packer.flush()


def read(folder: SafeFolder) -> Recording | None:
    """Return the recording of the attempt in `folder`, also of a killed one. Return None if there is none.

    Raises OSError and msgspec.DecodeError if it cannot be read.
    """
    parts = (_read_host(host, lines) for host, lines in _parts(folder))
    hosts = tuple(one for one in parts if one is not None)
    span = None
    if (folder / STORED).exists():
        span = decode_json(_stored_lines(folder)[0], type=Span)
    return Recording(hosts=hosts, span=span) if hosts else None


def _parts(folder: SafeFolder) -> Iterator[tuple[str, list[bytes]]]:
    if not (folder / STORED).exists():
        for host, one in _raw_files(folder).items():
            yield host, _whole_lines(one.read()).splitlines()
        return
    host, lines = "", list[bytes]()
    for line in _stored_lines(folder)[1:]:
        if line.startswith(b'{"host":'):
            if host:
                yield host, lines
            host, lines = decode_json(line, type=_Opening).host, []
        else:
            lines.append(line)
    if host:
        yield host, lines


def _stored_lines(folder: SafeFolder) -> list[bytes]:
    stored = folder / STORED
    data = stored.unpack(_MOST_BYTES)
    if data.count(b"\n") > _MOST_LINES:
        raise OSError(errno.EFBIG, f"more than the {_MOST_LINES} lines that are read of it", str(stored.path))
    return data.splitlines() or [b""]


def _raw_files(folder: SafeFolder) -> dict[str, SafeFolder]:
    prefix, suffix = _RAW.split("*")
    return {one.name.removeprefix(prefix).removesuffix(suffix): one for one in folder.files(_RAW)}


def _whole_lines(data: bytes) -> bytes:
    """Return `data` without an incomplete last line."""
    return data[: data.rfind(b"\n") + 1]


def _read_host(host: str, lines: list[bytes]) -> HostRecording | None:
    """Parse one host's lines up to the first damaged one, because each line builds on those before it.

    Return None if the host wrote nothing or its first line is damaged.
    """
    try:
        head = decode_json(lines[0], type=Head)
    except (IndexError, *NOT_JSON):
        return None
    known: dict[str, list[str]] = {}
    faults: dict[str, str] = {}
    samples = []
    for line in _decoded(lines[1:]):
        for name in line.faults or ():
            known.pop(name, None)  # its old lines must not count as current ones
        try:
            known |= {name: _applied(changes, known.get(name, [])) for name, changes in line.s.items()}
        except IndexError:
            break
        faults |= line.faults or {}
        samples.append(Sample(at_s=line.t, wall_s=line.w, lines=dict(known), mark=line.mark))
    return HostRecording(host=host, head=head, samples=tuple(samples), faults=faults)


def _decoded(lines: list[bytes]) -> Iterable[_Line]:
    """Return the lines before the first damaged one. Without damage, all lines are decoded at once."""
    try:
        return decode_json(b"[" + b",".join(lines) + b"]", type=list[_Line])
    except NOT_JSON:
        return _decoded_one_by_one(lines)


def _decoded_one_by_one(lines: list[bytes]) -> Iterator[_Line]:
    for line in lines:
        try:
            yield decode_json(line, type=_Line)
        except NOT_JSON:
            return


def _applied(changes: list[str] | dict[int, str], lines: list[str]) -> list[str]:
    """Return a source's lines after `changes`. Raises IndexError if the changes do not fit these lines."""
    if isinstance(changes, list):
        return changes
    fresh = list(lines)
    for number, text in changes.items():
        fresh[number] = text
    return fresh


def times(one: HostRecording, span: Span | None) -> tuple[list[float], float]:
    """Return the time of each sample by the head node's clock, and the possible error, in seconds.

    The times come from the host's monotonic clock, so they stay right if its wall clock is set during the
    run.
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
