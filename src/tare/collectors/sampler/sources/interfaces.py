"""Bytes, packets, drops and errors by network interface: /proc/net/dev (proc_net(5))."""

HAS_PATHS = False
_FIELDS = (
    *("rx_bytes", "rx_packets", "rx_errors", "rx_drops", "", "", "", ""),
    *("tx_bytes", "tx_packets", "tx_errors", "tx_drops"),
)


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/net/dev"]


def shorten(lines: "list[str]") -> "list[str]":
    """Leave out the two lines of headings."""
    return lines[2:]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return each counter as ``interface.NAME/COUNTER``: the name of an interface may hold any dot."""
    found = {}
    for line in lines:
        name, _, rest = line.rpartition(":")
        for field, value in zip(_FIELDS, rest.split()):
            if field:
                found["interface." + name.strip() + "/" + field] = float(value)
    return found
