"""Bytes, packets, drops and errors by network interface: /proc/net/dev (proc_net(5))."""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 60
FIGURES = {
    "network_sent": ("B", None, "bytes sent through the case's interface, all hosts together"),
    "network_packets": ("packets", None, "packets sent through the case's interface, all hosts together"),
    "network_packet_size": ("B", None, "bytes a packet on the case's interface"),
    "network_rate": ("B/s", None, "bytes sent through the case's interface, a second"),
    "network_packet_rate": ("1/s", None, "packets sent through the case's interface, a second"),
    "network_lost": ("packets", "lower", "packets dropped or in error on any interface of any host"),
    "total_sent": (
        "B",
        None,
        "bytes sent through all interfaces but loopback, those beneath others included",
    ),
    "total_packets": ("packets", None, "packets sent through all interfaces but loopback"),
    "wire_sent": ("B", None, "bytes sent through the busiest interface of each node beneath all others"),
    "wire_packets": ("packets", None, "packets sent through the busiest interface of each node"),
    "wire_packet_size": ("B", None, "bytes a packet on the busiest interface of each node"),
    "loopback_sent": ("B", None, "bytes that never left their host, through loopback"),
}
_FIELDS = (
    *("rx_bytes", "rx_packets", "rx_errors", "rx_drops", "", "", "", ""),
    *("tx_bytes", "tx_packets", "tx_errors", "tx_drops"),
)


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/net/dev"]


def shorten(lines: "list[str]") -> "list[str]":
    """Drop the two heading lines."""
    return lines[2:]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return each counter as ``interface.NAME/COUNTER``. The name of an interface may contain dots."""
    found = {}
    for line in lines:
        name, _, rest = line.rpartition(":")
        prefix = "interface." + name.strip() + "/"
        for field, value in zip(_FIELDS, rest.split()):
            if field:
                found[prefix + field] = float(value)
    return found


_LOOPBACK = "lo"
_LOST = ("rx_errors", "rx_drops", "tx_errors", "tx_drops")


def by_interface(counted: "dict[str, float]") -> "dict[str, dict[str, float]]":
    """Return the counters of each interface, without the prefix in their names."""
    found = {}  # type: dict[str, dict[str, float]]
    for name, value in counted.items():
        if name.startswith("interface."):
            interface, _, field = name[len("interface.") :].rpartition("/")
            found.setdefault(interface, {})[field] = value
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return what hosts sent through interfaces. Only sent bytes count, so that nothing is counted twice."""
    hosts = [(one, by_interface(one.by_kind.get("interface", {}))) for one in stage.hosts]
    if not all(found for _, found in hosts):
        return {}
    interface = stage.interface
    beneath = [found for one, found in hosts if not one.is_of_ranks] or [found for _, found in hosts]
    own = [found.get(interface, {}) for one, found in hosts if one.is_of_ranks] if interface else []
    busiest = [
        max((one for name, one in found.items() if name != _LOOPBACK), key=_carried, default={})
        for found in beneath
    ]
    others = [one for _, found in hosts for name, one in found.items() if name != _LOOPBACK]
    figures = dict(_crossing("network", own), **_crossing("wire", busiest))
    if "network_sent" in figures:
        seconds = sum(one.seconds for one in stage.hosts) / len(stage.hosts)
        figures["network_rate"] = figures["network_sent"] / seconds
        figures["network_packet_rate"] = figures["network_packets"] / seconds
    figures["total_sent"] = sum(map(_sent, others))
    figures["total_packets"] = sum(one.get("tx_packets", 0.0) for one in others)
    figures["loopback_sent"] = sum(_sent(found.get(_LOOPBACK, {})) for _, found in hosts)
    figures["network_lost"] = sum(one.get(name, 0.0) for one in others for name in _LOST)
    return figures


def _crossing(name: str, found: "list[dict[str, float]]") -> "dict[str, float]":
    """Return the sums over these interfaces. Return nothing if the counts of one of them are not known."""
    if not found or any("tx_bytes" not in one or "tx_packets" not in one for one in found):
        return {}
    sent, packets = sum(map(_sent, found)), sum(one["tx_packets"] for one in found)
    crossed = {name + "_sent": sent, name + "_packets": packets}
    if packets:
        crossed[name + "_packet_size"] = sent / packets
    return crossed


def _carried(one: "dict[str, float]") -> float:
    """Return an interface's bytes in both directions.

    Sent bytes alone would mislead: on a node that only receives, the inner end of its pods' network sends
    most.
    """
    return one.get("rx_bytes", 0.0) + _sent(one)


def _sent(one: "dict[str, float]") -> float:
    return one.get("tx_bytes", 0.0)


TIME_SERIES = {"network_rate": ("sent by the network’s interface, nodes stacked", "B/s", False)}


def over_time(counted: "dict[str, float]", seconds: float, interface: "str | None") -> "dict[str, float]":
    """Return the bytes per second through `interface`, or else the busiest interface except loopback."""
    sent = {name: _sent(one) for name, one in by_interface(counted).items() if name != _LOOPBACK}
    through = sent[interface] if interface in sent else max(sent.values(), default=0.0)
    return {"network_rate": through / seconds}
