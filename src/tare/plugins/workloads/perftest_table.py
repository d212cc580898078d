"""One table of perftest: the figures of its columns, and what is missing of its rows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tare.core.values import Scalar
from tare.plugins.workloads.common.rounded import rounded

_MIB_GBIT = 8 * 2**20 / 1e9
"""In perftest, MB means 2²⁰ bytes; since 23.10 it prints MiB (perftest_parameters.h). Gb means 10⁹ bits."""

_MEGA_PER_GIGA = 1e3
_LEAST_PEAK = 0.5
"""The least share of the mean that a peak may be: it is that of the fastest stretch, nearly."""
_GROWING = (
    "t_min[usec]",
    "t_typical[usec]",
    "99% percentile[usec]",
    "99.9% percentile[usec]",
    "t_max[usec]",
)

_DECIMALS = {"MsgRate[Mpps]": (6,), "BW peak": (2, 6), "BW average": (2, 6), "": (2,)}
"""How many decimals perftest prints, by the beginning of a column (perftest_parameters.h, REPORT_FMT)."""

FIGURES: Mapping[str, tuple[str, float, float | None]] = {
    "BW average[MB/sec]": ("bandwidth", _MIB_GBIT, None),
    "BW average[MiB/sec]": ("bandwidth", _MIB_GBIT, None),
    "BW average[Gb/sec]": ("bandwidth", 1, None),
    "BW peak[MB/sec]": ("bandwidth_peak", _MIB_GBIT, None),
    "BW peak[MiB/sec]": ("bandwidth_peak", _MIB_GBIT, None),
    "BW peak[Gb/sec]": ("bandwidth_peak", 1, None),
    "MsgRate[Mpps]": ("message_rate", 1, None),
    "t_min[usec]": ("latency_min", 1, None),
    "t_max[usec]": ("latency_max", 1, None),
    "t_typical[usec]": ("latency_typical", 1, None),
    "t_avg[usec]": ("latency", 1, None),
    "t_stdev[usec]": ("latency_stddev", 1, None),
    "99% percentile[usec]": ("latency_percentile", 1, 99),
    "99.9% percentile[usec]": ("latency_percentile", 1, 99.9),
    "tps average": ("transactions", 1, None),
}
"""For each column: the figure of merit, the factor to its unit, and its percentile or None."""


class Figure(NamedTuple):
    """A figure of merit in a row: its column, its name, the factor to its unit, and its percentile."""

    column: int
    fom: str
    factor: float
    which: Mapping[str, float]


_FIRST_OF_ALL, _LAST_OF_ALL = 2, 8388608
_WITHOUT_LIMIT = frozenset({"RC", "UC", "XRC", "DC"})
"""Connection types that the MTU does not limit: -a runs all sizes up to 8 MiB (perftest_parameters.c)."""


def _decimals(head: str) -> tuple[int, ...]:
    """Return how many decimals the figures of a column may have."""
    return next(decimals for begin, decimals in _DECIMALS.items() if head.startswith(begin))


@dataclasses.dataclass
class Table:
    """The rows of one report, without duplicates: client and server may have written to the same log."""

    heads: tuple[str, ...]
    facts: dict[str, Scalar] = dataclasses.field(default_factory=dict)
    has_all_sizes: bool = False
    rows: dict[tuple[str, ...], None] = dataclasses.field(default_factory=dict)
    reports: list[tuple[str, ...]] = dataclasses.field(default_factory=list)
    is_closed: bool = False
    is_indented: bool = False
    """Whether its lines begin with a blank, as perftest prints them; a row without one lost its beginning."""

    @property
    def figures(self) -> list[Figure]:
        """The figures of merit of a row, with their columns."""
        return [
            Figure(column, fom, factor, {} if percentile is None else {"percentile": percentile})
            for column, head in enumerate(self.heads)
            if head in FIGURES
            for fom, factor, percentile in [FIGURES[head]]
        ]

    def is_printed(self, row: tuple[str, ...]) -> bool:
        """Return whether no figure in `row` was cut short: each has as many decimals as perftest prints."""
        return all(
            len(row[one.column].partition(".")[2]) in _decimals(self.heads[one.column])
            for one in self.figures
        )

    def is_consistent(self, row: tuple[str, ...]) -> bool:
        """Return whether the figures in `row` may be of one test: no digit of them is lost.

        The bandwidth is the message rate × the size; with -b, it may be that of both directions. A smaller
        share of the latencies is not longer than a larger one.
        """
        cells = {one.fom: (row[one.column], one.factor) for one in self.figures if not one.which}
        if not ("bandwidth" in cells and "message_rate" in cells):
            return self._is_sorted(row)
        (bandwidth, factor), rate = cells["bandwidth"], rounded(cells["message_rate"][0])
        if 0 < float(cells.get("bandwidth_peak", ("0", 1.0))[0]) < _LEAST_PEAK * float(bandwidth):
            return False
        moved, n_bits = rounded(bandwidth), 8 * int(row[0])
        ways = (1,) if self.facts.get("bidirectional") is False else (1, 2)
        return (
            moved is None
            or rate is None
            or any(rate.scaled(way * n_bits / _MEGA_PER_GIGA).overlaps(moved.scaled(factor)) for way in ways)
        )

    def _is_sorted(self, row: tuple[str, ...]) -> bool:
        """Return whether the least latency, the median, the percentiles and the largest one grow."""
        at = {head: column for column, head in enumerate(self.heads)}
        latencies = [float(row[at[head]]) for head in _GROWING if head in at]
        return latencies == sorted(latencies)

    @property
    def last_bytes(self) -> int | None:
        """The last size of a test of all sizes; None if it is unknown."""
        if self.has_all_sizes:
            return _LAST_OF_ALL
        connection, mtu = self.facts.get("connection"), self.facts.get("mtu")
        if connection in _WITHOUT_LIMIT:
            return _LAST_OF_ALL
        return int(mtu) if connection == "UD" and mtu is not None else None

    @property
    def is_end_known(self) -> bool:
        """Whether it is known which size should be the last one."""
        sizes = [int(row[0]) for row in self.rows]
        return len(sizes) < 2 or sizes[-1] == _LAST_OF_ALL or self.last_bytes is not None

    @property
    def is_endless(self) -> bool:
        """Whether it is a periodic report (--run_infinitely): no peak, and the same size in all rows."""
        peak = next((at for at, head in enumerate(self.heads) if head.startswith("BW peak")), None)
        sizes = {row[0] for row in self.reports}
        return (
            peak is not None
            and len(self.reports) > 2
            and len(sizes) == 1
            and float(self.reports[0][peak]) == 0
        )

    @property
    def is_mixed(self) -> bool:
        """Whether most rows have the same number of iterations (-n) and the others have a different one.

        In a test of a fixed time (-D), all numbers differ.
        """
        column = next((at for at, head in enumerate(self.heads) if head == "#iterations"), None)
        counts = Counter(row[column] for row in self.rows) if column is not None else Counter[str]()
        return len(counts) > 1 and 2 * max(counts.values()) > len(self.rows)

    def faults(self) -> Iterator[str]:
        """Yield the first fault of the table: what its rows lack, or have in excess."""
        sizes = [row[0] for row in self.rows]
        if not self.rows:
            yield "has no rows"
        elif self.is_endless:
            yield "is a report that went on until it was ended"
        elif len(set(sizes)) < len(sizes):
            yield "has several rows of one size"
        elif any(int(size) > int(following) for size, following in pairwise(sizes)):
            yield "has sizes that do not grow: rows of several tests, or out of order"
        elif any(int(following) != 2 * int(size) for size, following in pairwise(sizes)):
            yield "lacks rows: its sizes do not double from one to the next"
        elif len(sizes) > 1 and int(sizes[0]) != _FIRST_OF_ALL:
            yield f"lacks rows: its sizes begin at {sizes[0]}, not at 2 as those of -a do"
        elif (len(sizes) > 1 or self.has_all_sizes) and int(sizes[-1]) != (self.last_bytes or int(sizes[-1])):
            yield f"lacks rows: its sizes end at {sizes[-1]}, not at {self.last_bytes} as those of -a do"
        elif self.is_mixed:
            yield "has rows of several tests: their numbers of iterations differ"
        elif not self.is_closed:
            yield "lacks its closing line"
