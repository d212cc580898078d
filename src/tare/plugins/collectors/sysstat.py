"""Read sysstat's records of a host: the output of ``sadf -j`` and of ``sar`` (sadf(1), sar(1)).

Values become the figures of telemetry. Sizes are in bytes (sysstat's kB has 1024 bytes), shares in percent.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tare.core.decoding import decode_json
from tare.core.errors import NOT_JSON

_KB, _SECTOR = 1024.0, 512.0
_HEADING = re.compile(r"^Linux \S+ \((?P<host>[^)]*)\)\s+(?P<date>\S+)\s")
_TIME = re.compile(r"^(\d{1,2}):(\d{2}):(\d{2})(?:\s([AP])\.?\s?M\.?)?\s+(.*)$", re.IGNORECASE)
_DATES = (
    r"(?P<y>\d{4})[-年](?P<m>\d\d)[-月](?P<d>\d\d)日?",
    r"(?P<d>\d\d)\.(?P<m>\d\d)\.(?P<y>\d{4}|\d\d)",
    r"(?P<m>0\d|1[0-2])/(?P<d>\d\d)/(?P<y>\d{4}|\d\d)",
    r"(?P<d>\d\d)/(?P<m>\d\d)/(?P<y>\d{4}|\d\d)",
)
_HUMAN = {"B": 1.0, "k": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_DAY_S = 86400.0
_RESTART = {"LINUX", "RESTART"}

SAR_COLUMNS: dict[str, tuple[str, float]] = {
    "%user": ("cpu_user", 1), "%usr": ("cpu_user", 1), "%nice": ("cpu_user", 1),
    "%system": ("cpu_system", 1), "%sys": ("cpu_system", 1), "%irq": ("cpu_system", 1),
    "%soft": ("cpu_system", 1), "%iowait": ("cpu_iowait", 1), "%steal": ("cpu_steal", 1),
    "%idle": ("cpu_idle", 1), "cswch/s": ("context_switches", 1), "runq-sz": ("run_queue", 1),
    "bread/s": ("disk_read", _SECTOR), "bwrtn/s": ("disk_written", _SECTOR),
    "kbmemused": ("memory", _KB), "retrans/s": ("tcp_retransmits", 1),
    "txpck/s": ("network_packet_rate", 1), "txkB/s": ("network_rate", _KB),
}  # fmt: skip
"""Columns of sar: the figure that each belongs to, and the factor from its unit to the figure's unit."""


class Reading(NamedTuple):
    """Values of a host over the `interval_s` before `at`, in seconds since the epoch of time(2)."""

    host: str
    at: float
    interval_s: float | None
    values: dict[str, float]


class UnreadableSysstat(ValueError):
    """The text is neither output of sadf -j nor of sar."""


MADE_WITH = "make it with: sadf -j FILE -- -u -n DEV -r -q -b -w"
"""How to make a file that can be read."""


def read_sysstat(text: str, interface: str | None = None, utc_offset_s: float = 0.0) -> list[Reading]:
    """Return the readings in `text`, in either of the two formats, sorted by host and time.

    Only the network interface `interface` counts; without it, the sum of all but loopback. Times without a
    time zone are taken to be `utc_offset_s` ahead of UTC. Raises UnreadableSysstat.
    """
    if text.lstrip().startswith("{"):
        found = list(_read_json(text, interface, utc_offset_s))
    else:
        found = list(_read_sar(text.splitlines(), interface, utc_offset_s))
    if not found:
        raise UnreadableSysstat(f"it holds no statistics; {MADE_WITH}")
    return sorted(found, key=lambda one: (one.host, one.at))


class _Stamp(msgspec.Struct):
    date: str
    time: str
    utc: int | None = None
    tz: str = ""
    interval: float | None = None


class _Net(msgspec.Struct):
    iface: str
    txpck: float = 0.0
    txkB: float = 0.0  # noqa: N815  # as sadf names it


class _Network(msgspec.Struct):
    dev: list[_Net] = msgspec.field(default_factory=list, name="net-dev")


class _Interrupt(msgspec.Struct):
    intr: str
    all: float | None = None
    value: float | None = None


class _Statistic(msgspec.Struct):
    timestamp: _Stamp | None = None
    cpu: list[dict[str, str | float]] = msgspec.field(default_factory=list, name="cpu-load")
    cpu_all: list[dict[str, str | float]] = msgspec.field(default_factory=list, name="cpu-load-all")
    switches: dict[str, float] = msgspec.field(default_factory=dict, name="process-and-context-switch")
    interrupts: list[_Interrupt] = []
    memory: dict[str, float] = {}
    queue: dict[str, float] = {}
    io: dict[str, float | dict[str, float]] = {}
    network: _Network = msgspec.field(default_factory=_Network)


class _Host(msgspec.Struct):
    nodename: str
    statistics: list[_Statistic] = []
    timezone: str = "UTC"


class _Sysstat(msgspec.Struct):
    hosts: list[_Host]


class _File(msgspec.Struct):
    sysstat: _Sysstat


def _read_json(text: str, interface: str | None, utc_offset_s: float) -> Iterator[Reading]:
    try:
        file = decode_json(text.encode(), type=_File)
    except NOT_JSON as error:
        raise UnreadableSysstat(f"not what sadf -j writes: {error}") from error
    for host in file.sysstat.hosts:
        for one in host.statistics:
            if one.timestamp is None:
                continue
            is_utc = one.timestamp.utc == 1 or one.timestamp.tz == "UTC"
            at = _epoch(one.timestamp) - (0.0 if is_utc else utc_offset_s)
            values = _values(one, interface)
            if values:
                yield Reading(host.nodename, at, one.timestamp.interval, values)


def _epoch(stamp: _Stamp) -> float:
    try:
        then = datetime.datetime.fromisoformat(f"{stamp.date}T{stamp.time}+00:00")
    except ValueError as error:
        raise UnreadableSysstat(f"{stamp.date} {stamp.time} is no time: {error}") from error
    return then.timestamp()


def _values(one: _Statistic, interface: str | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for cpu in (*one.cpu, *one.cpu_all):
        if cpu.get("cpu") in {"all", "-1"}:
            found |= _cpu({key: value for key, value in cpu.items() if not isinstance(value, str)})
    total = next((intr for intr in one.interrupts if intr.intr == "sum"), None)
    for name, value in (
        ("context_switches", one.switches.get("cswch")),
        ("interrupts", None if total is None else total.all if total.all is not None else total.value),
        ("memory", _scaled(one.memory.get("memused"), _KB)),
        ("run_queue", one.queue.get("runq-sz")),
        ("disk_read", _scaled(_inner(one.io, "io-reads", "bread"), _SECTOR)),
        ("disk_written", _scaled(_inner(one.io, "io-writes", "bwrtn"), _SECTOR)),
    ):
        if value is not None:
            found[name] = float(value)
    nets = [net for net in one.network.dev if _counts(net.iface, interface)]
    if nets:
        found["network_packet_rate"] = sum(net.txpck for net in nets)
        found["network_rate"] = sum(net.txkB for net in nets) * _KB
    return found


def _cpu(shares: dict[str, float]) -> dict[str, float]:
    """Return CPU shares by figure. In short outputs, ``system`` already includes interrupts (sar(1), -u)."""
    kinds = {
        "cpu_user": ("user", "usr", "nice"),
        "cpu_system": ("system", "sys", "irq", "soft"),
        "cpu_softirq": ("soft",),
        "cpu_iowait": ("iowait",),
        "cpu_steal": ("steal",),
        "cpu_idle": ("idle",),
    }
    return {
        figure: sum(shares[name] for name in names if name in shares)
        for figure, names in kinds.items()
        if any(name in shares for name in names)
    }


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _inner(groups: dict[str, float | dict[str, float]], key: str, name: str) -> float | None:
    inner = groups.get(key)
    return inner.get(name) if isinstance(inner, dict) else None


def _counts(name: str, interface: str | None) -> bool:
    return name == interface if interface else name != "lo"


class _Table:
    """One of sar's tables, identified by its columns. `at` is the time of its latest rows."""

    def __init__(self, columns: list[str], at: float) -> None:
        self.columns = columns
        self.before = self.at = at

    def go_on(self, at: float) -> None:
        """Move to rows of another time. A time earlier than the one before is after midnight."""
        at = _after(at, self.at)
        if at != self.at:
            self.before, self.at = self.at, at


def _read_sar(lines: Iterable[str], interface: str | None, utc_offset_s: float) -> Iterator[Reading]:
    """Yield readings of sar's tables, grouped by time.

    Of several rows about the same item, the last counts.
    """
    host, day, table = "", 0.0, _Table([], 0.0)
    tables: dict[tuple[str, ...], _Table] = {}
    found: dict[tuple[str, float], _Moment] = {}
    for line in lines:
        heading = _HEADING.match(line)
        if heading:
            host, day, table, tables = heading["host"], _day(heading["date"]), _Table([], 0.0), {}
            continue
        row = _TIME.match(line)
        if not row or not host:
            continue
        words, at = row[5].split(), day + _seconds(row)
        if _RESTART.issubset(words) or words[:1] == ["COM"]:
            continue
        if not any(_number(word) is not None for word in words[1:]) and not _is_row(words, table.columns):
            table = tables.setdefault(tuple(words), _Table(words, at))
            table.go_on(at)  # the next row's interval begins here, also after a restart
            continue
        table.go_on(at)
        values = _row(dict(zip(table.columns, words, strict=False)), interface)
        if values:
            moment = found.setdefault((host, table.at - utc_offset_s), _Moment(table.at - table.before, {}))
            thing = words[0] if _number(words[0]) is None else ""  # most tables describe the host
            moment.rows.setdefault(tuple(table.columns), {})[thing] = values
    for (name, at), moment in found.items():
        yield Reading(name, at, moment.interval_s or None, moment.values())


class _Moment(NamedTuple):
    """The values of all tables at one time, by the tables' columns and the item of each row."""

    interval_s: float
    rows: dict[tuple[str, ...], dict[str, dict[str, float]]]

    def values(self) -> dict[str, float]:
        """Return the figures. Rows, such as interfaces, are summed; tables with the same figures are not."""
        found: dict[str, float] = {}
        for rows in self.rows.values():
            names = {name for values in rows.values() for name in values}
            found |= {name: sum(values.get(name, 0.0) for values in rows.values()) for name in names}
        return found


def _is_row(words: list[str], columns: list[str]) -> bool:
    return len(words) == 1 and len(columns) == 1


def _row(cells: dict[str, str], interface: str | None) -> dict[str, float]:
    if cells.get("CPU", "all") != "all" or ("IFACE" in cells and not _counts(cells["IFACE"], interface)):
        return {}
    if "call/s" in cells:  # retrans/s of NFS, not of TCP
        return {}
    found: dict[str, float] = {}
    for column, text in cells.items():
        value = _number(text)
        if column in SAR_COLUMNS and value is not None:
            figure, factor = SAR_COLUMNS[column]
            is_human = text[-1] in _HUMAN and factor != 1  # with --human: bytes, with a unit
            found[figure] = found.get(figure, 0.0) + value * (1.0 if is_human else factor)
    return found


def _number(text: str) -> float | None:
    match = re.fullmatch(r"(-?\d+(?:[.,]\d+)?)([BkMGT]?)%?", text)
    return float(match[1].replace(",", ".")) * _HUMAN.get(match[2], 1.0) if match else None


def _day(text: str) -> float:
    for pattern in _DATES:
        found = re.fullmatch(pattern, text)
        if found:
            year = int(found["y"]) + (2000 if len(found["y"]) == 2 else 0)
            with contextlib.suppress(ValueError):
                moment = datetime.datetime(year, int(found["m"]), int(found["d"]), tzinfo=datetime.UTC)
                return moment.timestamp()
    raise UnreadableSysstat(
        f"{text!r} is not a date in a known format; run sar with LC_ALL=C or S_TIME_FORMAT=ISO"
    )


def _seconds(row: re.Match[str]) -> float:
    hours = int(row[1]) % 12 + 12 * (row[4] in "pP") if row[4] else int(row[1])
    return hours * 3600.0 + int(row[2]) * 60.0 + int(row[3])


def _after(at: float, before: float | None) -> float:
    while before is not None and at < before - _DAY_S / 2:
        at += _DAY_S
    return at
