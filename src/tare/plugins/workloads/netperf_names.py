"""The units of netperf, and the names of its figures and settings in CSV, keyval and omni tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tare.plugins.workloads.common.heads import unknown_heads

MBIT = {
    **{f"10^{power}bits/s": 10.0 ** (power - 6) for power in (3, 6, 9)},
    **{f"{prefix}Bytes/s": 1024.0**power * 8e-6 for power, prefix in enumerate(("", "K", "M", "G"))},
}
"""Each unit of throughput in 10⁶ bits per second."""

NAMES: Mapping[str, tuple[str, float | None]] = {
    "MEAN_LATENCY": ("latency", None),
    "Mean Latency Microseconds": ("latency", None),
    "STDDEV_LATENCY": ("latency_stddev", None),
    "Stddev Latency Microseconds": ("latency_stddev", None),
    "MIN_LATENCY": ("latency_min", None),
    "Minimum Latency Microseconds": ("latency_min", None),
    "MAX_LATENCY": ("latency_max", None),
    "Maximum Latency Microseconds": ("latency_max", None),
    **{f"P{one}_LATENCY": ("latency_percentile", float(one)) for one in (50, 90, 99)},
    **{
        f"{one}th Percentile Latency Microseconds": ("latency_percentile", float(one)) for one in (50, 90, 99)
    },
    "TRANSACTION_RATE": ("transactions", None),
    "Transaction Rate Tran/s": ("transactions", None),
    "LOCAL_TRANSPORT_RETRANS": ("retransmits", None),
    "Local Transport Retransmissions": ("retransmits", None),
    "LOCAL_CPU_UTIL": ("cpu_local", None),
    "Local CPU Util %": ("cpu_local", None),
    "REMOTE_CPU_UTIL": ("cpu_remote", None),
    "Remote CPU Util %": ("cpu_remote", None),
}
"""The figure of merit for each name in an output, and its percentile or None."""

SIZES = {
    **dict.fromkeys(("SEND_SIZE", "LOCAL_SEND_SIZE", "Local Send Size", "Send Size"), "send"),
    **dict.fromkeys(("REQUEST_SIZE", "Request Size Bytes", "Request Size"), "request"),
    **dict.fromkeys(("RESPONSE_SIZE", "Response Size Bytes", "Response Size"), "response"),
}
"""The names of message sizes in omni tests, and the kind of message."""

_WANTED = frozenset({*NAMES, *SIZES, "THROUGHPUT", "THROUGHPUT_UNITS", "Throughput", "Throughput Units"})
"""The names that are read, out of some hundred that netperf can print (nettest_omni.c)."""

_WITH_DECIMALS = (
    *("THROUGHPUT", "Throughput", "MEAN_LATENCY", "Mean Latency Microseconds", "STDDEV_LATENCY"),
    *("Stddev Latency Microseconds", "TRANSACTION_RATE", "Transaction Rate Tran/s"),
)
"""The figures that netperf prints with two decimals or more (nettest_omni.c: set_output_elt)."""

_FEWEST_DECIMALS = 2
_RESEMBLING = frozenset({"Throughput Confidence Width (%)"})
"""A name of netperf that looks like one of the others with a message in it."""


def damaged_names(names: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each name that is left of one that is read."""
    for one in unknown_heads(names, _WANTED, _RESEMBLING):
        if one.meant:
            yield f"netperf's result has a column {one.name!r}, which may be {one.meant!r}"


def cut_values(values: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each value that lost some of its decimals, or the point before them."""
    for name in _WITH_DECIMALS:
        value = values.get(name, "").strip()
        whole, _, decimals = value.lstrip("-").partition(".")
        if f"{whole}{decimals}".isdecimal() and len(decimals) < _FEWEST_DECIMALS:
            yield f"netperf's {name} is {value[:40]!r}, without the decimals that netperf prints"
