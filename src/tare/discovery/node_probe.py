"""Ask a node what it is, with one shell script, and read the answer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources

from tare.core.units import whole_number
from tare.discovery.facts import FabricPort, Folder, Interface, Mpi, NodeFacts
from tare.discovery.file_systems import Mount, file_system_of, read_mounts
from tare.discovery.modules import (
    loaded_modules,
    modules_script,
    read_eessi,
    read_module_mpis,
    read_module_system,
    with_bringers,
    with_eessi,
)
from tare.discovery.mpi import IS_USABLE, read_mpis
from tare.discovery.spack import packages, read_spack
from tare.probes.records import BEGIN_RECORD, read_records

SCRIPT = resources.files(__package__).joinpath("node_probe.sh")

_NO_FABRIC = re.compile(
    r"lo$|veth|cali|lxc|docker|virbr|br-[0-9a-f]|cni|flannel\.|tunl|ip6tnl|sit\d|gre|erspan"
)
"""Interfaces of containers and tunnels: they belong to no network between nodes."""
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) Gb/sec")


def probe_script(
    *, node: str = "", marker: str = "", folders: Sequence[str] = (), prefixes: Sequence[str] = ()
) -> str:
    """Return the script. `marker` is a file that a node sees if it shares the campaigns' folder.

    `folders` are looked at as storage paths, and `prefixes` as places of MPIs.
    """
    values = {
        "node": node,
        "marker": marker,
        "folders": "\n".join(folders),
        "prefixes": "\n".join(prefixes),
        "modules": modules_script(),
        "packages": " ".join(packages()),
    }
    assigned = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    return f"exec 2>/dev/null\n{BEGIN_RECORD}{IS_USABLE}{assigned}{SCRIPT.read_text()}"


def read_node(text: str, origins: Mapping[str, str], node: str = "") -> NodeFacts | None:
    """Return the facts in a node's answer; None if it is incomplete.

    `origins` says for each folder and prefix that was asked about who names it. `node` is the node's name
    where the node itself does not know it.
    """
    records = {name: content.strip("\n") for name, content in read_records(text).items()}
    if "end" not in records:
        return None
    mounts = read_mounts(records.get("/proc/self/mountinfo", ""))
    memory = re.search(r"^MemTotal: +([0-9]+) kB", records.get("/proc/meminfo", ""), re.MULTILINE)
    routes = records.get("routes", "").split()
    of_eessi, eessi = read_eessi(records)
    of_spack, spack = read_spack(records)
    return NodeFacts(
        node=records.get("node", "").strip() or node or records.get("hostname", "").strip(),
        machine=records.get("machine", ""),
        cores=_cores(records),
        memory_kib=int(memory[1]) if memory else 0,
        interfaces=_interfaces(records),
        fabrics=_fabrics(records.get("fabrics", "")),
        default_interface=routes[routes.index("dev") + 1] if "dev" in routes[:-1] else "",
        folders=_folders(records.get("folders", ""), mounts, origins),
        mpis=(*_own_mpis(records, origins), *of_eessi, *of_spack),
        containers=tuple(records.get("containers", "").split()),
        loaded=loaded_modules(records),
        module_system=read_module_system(records),
        eessi=eessi,
        spack=spack,
        sees_folder="seen" in records and records["seen"] == "yes",
        reached_at=tuple(records.get("ssh", "").split()[2:3]),  # ssh(1), SSH_CONNECTION
    )


def _own_mpis(records: Mapping[str, str], origins: Mapping[str, str]) -> Iterator[Mpi]:
    """Yield the MPIs that are asked about, that on the PATH, and those of the modules that are seen."""
    found = read_mpis(records, origins)
    yield from (one for one in found if one.prefix in origins)
    on_path = with_bringers((one for one in found if one.prefix not in origins), records)
    yield from with_eessi((*on_path, *read_module_mpis(records)), records)


def _cores(records: Mapping[str, str]) -> int:
    """Return the node's physical cores; its CPUs where /proc/cpuinfo names no cores."""
    cores, socket, n_cpus = set(), "0", 0
    for line in records.get("/proc/cpuinfo", "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "processor":
            n_cpus += 1
        elif name.strip() == "physical id":
            socket = value.strip()
        elif name.strip() == "core id":
            cores.add((socket, value.strip()))
    return len(cores) or whole_number(records.get("threads", "")) or n_cpus or 1


def _interfaces(records: Mapping[str, str]) -> tuple[Interface, ...]:
    """Return the interfaces with an address that may lead to other nodes."""
    names: dict[str, list[str]] = {}
    for line in (records.get("names", "") + "\n" + records.get("aliases", "")).splitlines():
        address, *known = line.split()[:8] or [""]
        names.setdefault(address, []).extend(known)
    addresses: dict[str, list[str]] = {}
    for line in records.get("addresses", "").splitlines():
        words = line.split()
        if len(words) >= 4 and words[2] in ("inet", "inet6") and "link" not in words[4:7]:
            addresses.setdefault(words[1].partition("@")[0], []).append(words[3])
    return tuple(
        _interface(name, own, names, records) for name, own in addresses.items() if not _NO_FABRIC.match(name)
    )


def _fabrics(text: str) -> tuple[FabricPort, ...]:
    """Return the active ports of fabrics, in lines ``DEVICE:PORT|LINK LAYER|STATE|RATE``."""
    rows = (line.split("|") for line in text.splitlines())
    return tuple(
        FabricPort(name=row[0], link_layer=row[1], rate=row[3].strip())
        for row in rows
        if len(row) == 4 and row[0].isprintable() and "ACTIVE" in row[2]
    )


def _interface(
    name: str, addresses: Sequence[str], names: Mapping[str, Sequence[str]], records: Mapping[str, str]
) -> Interface:
    device, layer, rate = [*records.get(f"port {name}", "").split(maxsplit=2), "", "", ""][:3]
    own_rate = whole_number(records.get(f"rate {name}", ""))
    of_port = _RATE.match(rate)
    known = dict.fromkeys(one for address in addresses for one in names.get(address.partition("/")[0], ()))
    return Interface(
        name=name,
        addresses=tuple(addresses),
        names=tuple(known),
        rate_mbit_per_s=round(float(of_port[1]) * 1000) if of_port else own_rate,
        ports=(device,) if device else (),
        link_layer=layer,
    )


def _folders(text: str, mounts: Sequence[Mount], origins: Mapping[str, str]) -> tuple[Folder, ...]:
    found = []
    for line in text.splitlines():
        right, _, paths = line.partition(" ")
        real, _, path = paths.partition("\t")
        if (mount := file_system_of(real, mounts)) and path:
            found.append(
                Folder(
                    path=path,
                    file_system=mount.file_system,
                    source=mount.source,
                    is_writable=right == "w",
                    origin=origins.get(path, ""),
                )
            )
    return tuple(found)
