"""Counters of InfiniBand, Omni-Path, RoCE, EFA and Slingshot ports: /sys/class/infiniband, /sys/class/cxi."""

import glob

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = True
ORDER = 80
FIGURES = {
    "fabric_sent": ("B", None, "bytes sent through InfiniBand, Omni-Path or RoCE ports"),
    "fabric_packets": ("packets", None, "packets sent through these ports"),
    "fabric_waits": ("ticks", "lower", "ticks in which these ports had data and no credit to send it"),
    "fabric_lost": ("packets", "lower", "packets dropped or in error on these ports"),
}
_COUNTERS = {
    "port_xmit_data": "tx_bytes",
    "port_rcv_data": "rx_bytes",
    "port_xmit_packets": "tx_packets",
    "port_rcv_packets": "rx_packets",
    "port_xmit_wait": "tx_waits",
    "port_rcv_errors": "rx_errors",
    "port_xmit_discards": "tx_drops",
    "symbol_error": "symbol_errors",
}
_HARDWARE = ("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "np_cnp_sent", "rp_cnp_handled")
_EXTENDED = {
    name + "_64": _COUNTERS[name]
    for name in ("port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets")
}  # of drivers whose plain counters have 32 bits
_OF_DRIVERS = {
    "tx_bytes": "tx_bytes",
    "rx_bytes": "rx_bytes",
    "tx_pkts": "tx_packets",
    "rx_pkts": "rx_packets",
    "ip4OutOctets": "tx_bytes",
    "ip6OutOctets": "tx_bytes",
    "ip4InOctets": "rx_bytes",
    "ip6InOctets": "rx_bytes",
    "hw_tx_bytes_cnt": "tx_bytes",
    "hw_rx_bytes_cnt": "rx_bytes",
}  # in hw_counters, of EFA, bnxt_re, mana, irdma and erdma: bytes, where the port has no counters of its own
_SLINGSHOT = {"hni_sts_tx_ok_octets": "tx_bytes", "hni_sts_rx_ok_octets": "rx_bytes"}
_NAMES = dict(_COUNTERS, **_EXTENDED)
_ENDS = {2**32 - 1}  # counters of 32 bits stop here (InfiniBand Architecture 16.1.3.5)
_ENDS_OF_ERRORS = _ENDS | {2**16 - 1}
_ERRORS = ("rx_errors", "tx_drops", "symbol_errors")
_WORD = 4  # port_xmit_data and port_rcv_data count words of 32 bits


def paths(root: str) -> "list[str]":
    """Return one file for each existing counter of each port."""
    ports = root + "/sys/class/infiniband/*/ports/*/"
    found = [path for name in _COUNTERS for path in glob.glob(ports + "counters/" + name)]
    found += [path for name in _EXTENDED for path in glob.glob(ports + "counters_ext/" + name)]
    hardware = _HARDWARE + tuple(_OF_DRIVERS)
    found += [path for name in hardware for path in glob.glob(ports + "hw_counters/" + name)]
    telemetry = root + "/sys/class/cxi/*/device/telemetry/"
    return sorted(found + [path for name in _SLINGSHOT for path in glob.glob(telemetry + name)])


def shorten(lines: "list[str]") -> "list[str]":
    """Keep all lines: each is one number, with a time for Slingshot.

    Counters without a number are dropped.
    """
    return [line for line in lines if line.rpartition(" ")[2].partition("@")[0].isdigit()]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return each counter as ``port.DEVICE:PORT/COUNTER``, data in bytes.

    A counter at its largest value stays there, so it is returned as infinite. If two counters count the same,
    the extended one comes later and is used.
    """
    found = {}
    of_drivers: "dict[str, float]" = {}
    for line in lines:
        path, _, value = line.rpartition(" ")
        parts = path.split("/")
        if parts[-1] in _SLINGSHOT:
            found["port." + parts[-4] + ":1/" + _SLINGSHOT[parts[-1]]] = float(value.partition("@")[0])
            continue
        port = "port." + parts[-5] + ":" + parts[-3] + "/"
        if parts[-2] == "hw_counters" and parts[-1] in _OF_DRIVERS:
            name = port + _OF_DRIVERS[parts[-1]]
            of_drivers[name] = of_drivers.get(name, 0.0) + float(value)
            continue
        name = _NAMES.get(parts[-1], parts[-1])
        number = float(value) * (_WORD if name.endswith("_bytes") else 1)
        if parts[-1] in _COUNTERS and int(value) in (_ENDS_OF_ERRORS if name in _ERRORS else _ENDS):
            number = float("inf")
        found[port + name] = number
    for name, number in of_drivers.items():
        found.setdefault(name, number)
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return what the ports of all nodes sent, waited for and lost."""
    return {
        "fabric_sent": stage.total("port", "tx_bytes"),
        "fabric_packets": stage.total("port", "tx_packets"),
        "fabric_waits": stage.total("port", "tx_waits"),
        "fabric_lost": stage.total("port", "rx_errors", "tx_drops", "symbol_errors"),
    }
