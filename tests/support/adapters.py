"""File systems of nodes with RDMA adapters: /proc/net/dev and /sys/class, with the names of real drivers.

After listings of mlx5 (InfiniBand and RoCE), hfi1 (Omni-Path), efa, irdma, rxe and cxi (Slingshot) in public
repositories and manuals; each counter has the unit and the form that its driver gives it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tare.core.job import Counters
from tare.plugins.collectors.interfaces import read_traffic
from tare.probes.records import read_records
from tare.probes.traffic import traffic_script

HEADINGS = """\
Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame … |bytes packets errs drop fifo colls …
"""
WORD = 4


def write(path: Path, text: object) -> None:
    """Write a file that readers see whole, before or after, as those of sysfs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ahead = path.with_name(f".{path.name}.new")
    ahead.write_text(f"{text}\n")
    ahead.replace(path)


class Node:
    """A node below `root`: it has loopback, and gains interfaces, adapters and counts."""

    def __init__(self, root: Path) -> None:
        self.root, self.sys = root, root / "sys/class"
        (self.sys / "net").mkdir(parents=True)
        self._interfaces: dict[str, tuple[int, int]] = {}
        self.interface("lo", 0)

    def interface(self, name: str, total: int, *, received: int | None = None, lies_on: str = "") -> Node:
        """Have an interface count `total` bytes in all, half of them received; it may lie on others."""
        came_in = total // 2 if received is None else received
        self._interfaces[name] = (came_in, total - came_in)
        rows = [
            f"{one:>8}: {rx} {-(-rx // 1500)} 0 0 0 0 0 0 {tx} {-(-tx // 1500)} 0 0 0 0 0 0\n"
            for one, (rx, tx) in self._interfaces.items()
        ]
        write(self.root / "proc/net/dev", (HEADINGS + "".join(rows)).rstrip("\n"))
        for lower in lies_on.split():
            write(self.sys / f"net/{name}/lower_{lower}", "")
        return self

    def aggregate(self, name: str, kind: str = "bonding") -> Node:
        """Make an interface a bond or a bridge."""
        (self.sys / f"net/{name}/{kind}").mkdir(parents=True, exist_ok=True)
        return self

    def port(
        self,
        device: str,
        port: int = 1,
        *,
        driver: str,
        layer: str = "",
        interface: str = "",
        files: Mapping[str, object] = MappingProxyType({}),
    ) -> Node:
        """Have a port of an adapter with these files, by folder and name: ``counters/port_xmit_data``."""
        there = self.sys / f"infiniband/{device}"
        write(there / "device/uevent", f"DRIVER={driver}\nPCI_CLASS=20700\nPCI_ID=15B3:101B")
        if layer:
            write(there / f"ports/{port}/link_layer", layer)
        (there / f"ports/{port}").mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            write(there / f"ports/{port}" / name, value)
        if interface:
            write(self.sys / f"net/{interface}/dev_port", port - 1)
            write(self.sys / f"net/{interface}/device/infiniband/{device}/name", "")
        return self

    def mlx5(
        self,
        total: int,
        device: str = "mlx5_0",
        *,
        interface: str = "ib0",
        layer: str = "InfiniBand",
        port: int = 1,
    ) -> Node:
        """Have a ConnectX port that carried `total` bytes: InfiniBand, or RoCE with the layer Ethernet."""
        files = classic(total) | {f"hw_counters/{one}": 0 for one in ("lifespan", "out_of_sequence")}
        return self.port(device, port, driver="mlx5_core", layer=layer, interface=interface, files=files)

    def hfi1(self, total: int) -> Node:
        """Have an Omni-Path port, with IPoIB on ib0."""
        return self.port("hfi1_0", driver="hfi1", layer="InfiniBand", interface="ib0", files=classic(total))

    def efa(self, total: int, device: str = "rdmap0s31", *, is_rdma: bool = False) -> Node:
        """Have an EFA, which has no interface; what RDMA writes is also told for itself."""
        half = total // 2
        names = ("rdma_read_bytes", "rdma_read_resp_bytes", "rdma_write_bytes", "rdma_write_recv_bytes")
        files: dict[str, object] = {
            f"hw_counters/{name}": 0 for name in (*names, "retrans_bytes", "rx_drops")
        }
        files |= {f"hw_counters/{way}_bytes": 0 if is_rdma else half for way in ("send", "recv", "tx", "rx")}
        files |= {f"hw_counters/{way}_pkts": half // 8000 for way in ("tx", "rx")}
        if is_rdma:
            files |= {f"hw_counters/{name}": half for name in ("rdma_write_bytes", "rdma_read_bytes")}
        return self.port(device, driver="efa", layer="Unspecified", files=files)

    def cxi(self, total: int, number: int = 0) -> Node:
        """Have a Slingshot adapter, whose interface is hsn0: each value stands before its time."""
        there = self.sys / f"cxi/cxi{number}/device"
        for way in ("tx", "rx"):
            write(there / f"telemetry/hni_sts_{way}_ok_octets", f"{total // 2}@1675489372.701036980")
        write(there / f"net/hsn{number}/name", "")
        return self

    def read(self) -> dict[str, Counters]:
        """Return what the node-side script tells of it."""
        script = traffic_script().replace("sleep 2", ":")
        ran = subprocess.run(
            ["/bin/sh", "-c", script, "sh", str(self.root)], capture_output=True, text=True, check=False
        )
        assert ran.stderr == ""
        return read_traffic(read_records(ran.stdout))


def classic(total: int) -> dict[str, object]:
    """Return the counters that an InfiniBand port has by its standard, in words of four bytes."""
    words = total // 2 // WORD
    data: dict[str, object] = {f"counters/port_{way}_data": words for way in ("xmit", "rcv")}
    return data | {f"counters/port_{way}_packets": words // 512 for way in ("xmit", "rcv")}
