"""TCP segments and retransmissions, UDP datagrams: /proc/net/snmp (RFC 4022, RFC 4113)."""

MYPY = False  # mypy takes it for True; a node has no Tare to import
if MYPY:
    from tare.plugins.collectors.sampler.figures import Figures, StageCounts

HAS_PATHS = False
ORDER = 70
FIGURES = {
    "tcp_segments": ("packets", None, "TCP segments sent, all hosts together"),
    "tcp_retransmits": ("packets", "lower", "TCP segments sent once more, all hosts together"),
    "udp_overflows": ("packets", "lower", "UDP datagrams dropped because a receiver's buffer was full"),
}
_KEPT = {
    "Tcp": {
        "OutSegs": "tcp.segments_out",
        "InSegs": "tcp.segments_in",
        "RetransSegs": "tcp.retransmits",
        "InErrs": "tcp.errors_in",
    },
    "Udp": {
        "OutDatagrams": "udp.datagrams_out",
        "InDatagrams": "udp.datagrams_in",
        "RcvbufErrors": "udp.overflows",
    },
}


def paths(root: str) -> "list[str]":
    """Return the files to read."""
    return [root + "/proc/net/snmp"]


def shorten(lines: "list[str]") -> "list[str]":
    """Keep the headings and the numbers of TCP and UDP."""
    return [line for line in lines if line.startswith(("Tcp:", "Udp:"))]


def counters(lines: "list[str]") -> "dict[str, float]":
    """Return the counters: a line of names goes before each line of numbers."""
    found = {}
    for names, numbers in zip(lines[::2], lines[1::2]):
        protocol, _, rest = names.partition(":")
        values = dict(zip(rest.split(), numbers.partition(":")[2].split()))
        for name, counter in _KEPT.get(protocol, {}).items():
            if name in values:
                found[counter] = float(values[name])
    return found


def figures(stage: "StageCounts") -> "Figures":
    """Return the counts of all hosts together. Pods are included, because each has its own TCP."""
    return {
        "tcp_segments": stage.sum_over_hosts("tcp.segments_out"),
        "tcp_retransmits": stage.sum_over_hosts("tcp.retransmits"),
        "udp_overflows": stage.sum_over_hosts("udp.overflows"),
    }
