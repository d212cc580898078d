"""The kernel and the distribution around it (proc(5), os-release(5), tcp(7))."""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, one_line

_WHOLE = {
    "/proc/sys/kernel/hostname": "hostname",
    "/proc/sys/kernel/osrelease": "kernel.release",
    "/proc/sys/kernel/version": "kernel.version",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "clocksource",
    "/sys/kernel/mm/transparent_hugepage/enabled": "kernel.huge_pages",
    "/proc/sys/kernel/numa_balancing": "kernel.numa_balancing",
    "/proc/sys/net/ipv4/tcp_congestion_control": "tcp.congestion_control",
    "/proc/sys/net/ipv4/tcp_rmem": "tcp.receive_buffer",
    "/proc/sys/net/ipv4/tcp_wmem": "tcp.send_buffer",
    "/proc/sys/net/core/rmem_max": "socket.receive_buffer_max",
    "/proc/sys/net/core/wmem_max": "socket.send_buffer_max",
    "/proc/sys/net/core/default_qdisc": "network.default_qdisc",
    "/etc/debian_version": "distribution.debian",
}


def _read(records: Records) -> Facts:
    facts = {name: one_line(records[path]) for path, name in _WHOLE.items() if path in records}
    command_line = records.get("/proc/cmdline")
    if command_line:
        facts["kernel.command_line"] = one_line(command_line)
    for line in records.get("/etc/os-release", "").splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            facts["distribution"] = value.strip("\"'")
    return facts


SOURCE = Source(
    "kernel",
    f"files {' '.join(_WHOLE)} /etc/os-release\nrecord /proc/cmdline; hide </proc/cmdline",
    _read,
    order=10,
)
