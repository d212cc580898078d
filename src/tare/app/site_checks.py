"""Check a site before anything is measured there: its hosts, clocks, folders and networks."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tare.app.scratch_folders import scratch_folder
from tare.core.checks import Finding
from tare.core.errors import BackendError
from tare.core.job import Backend
from tare.core.site import Network, Site

_CLOCKS_APART_S = 1.0
_AT_ONCE = 16
_SEEN = "seen"


class Situation(NamedTuple):
    """The input of the checks: the site, the folder for its campaigns, and the backend to ask its hosts."""

    site: Site
    folder: Path
    backend: Backend


def check_hosts(situation: Situation) -> Iterator[Finding]:
    """Yield the findings on every host on which ranks may start without a batch system."""
    site = situation.site
    networks = {} if not _starts_ranks(site) else site.networks
    networks_of: dict[str | None, list[tuple[str, Network]]] = {node: [] for node in site.nodes}
    for name, network in networks.items():
        for node in site.nodes:
            networks_of.setdefault(network.host_of(node), []).append((name, network))
    if not site.agent:
        networks_of = {None: [(name, network) for name, network in networks.items()]}
    with scratch_folder(situation.folder) as folder:
        (folder / _SEEN).touch()
        scripts = {host: _script(site, folder, found) for host, found in networks_of.items()}
        responses: dict[str | None, tuple[str, float]] = {}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            asked = {
                host: pool.submit(_ask, situation.backend, host, script) for host, script in scripts.items()
            }
        for host, future in asked.items():
            try:
                responses[host] = future.result()
            except BackendError as error:
                message, _, cure = str(error).rpartition("; ")
                yield Finding(name=f"host {host}", is_met=False, found=message or cure, cure=cure)
    yield from _judge(site, responses, situation.folder)


def _ask(backend: Backend, host: str | None, script: str) -> tuple[str, float]:
    began = time.time()
    response = backend.ask([host], script)[host]
    return response, _clock_offset(response, began, time.time())


def _starts_ranks(site: Site) -> bool:
    """Return whether a platform starts ranks on hosts that Tare chooses, not a batch system."""
    return any(not platform.is_queued for platform in site.platforms.values())


def _script(site: Site, folder: Path, networks: Sequence[tuple[str, Network]]) -> str:
    """Return a shell script that prints the host's clock, and then one line for each fault of the host."""
    addresses = {network.address_of(node): name for name, network in networks for node in site.nodes}
    lines = ["date +clock\\ %s.%N"]
    if site.staging is not None:
        folder_path = shlex.quote(site.staging)
        lines.append(f"mkdir -p {folder_path} 2>/dev/null; [ -w {folder_path} ] || echo unstaged")
    else:
        lines.append(f"[ -e {shlex.quote(str(folder / _SEEN))} ] || echo unshared")
    lines += [
        f"[ -d {shlex.quote(path)} ] && [ -w {shlex.quote(path)} ] || echo {shlex.quote(f'storage {name}')}"
        for name, path in site.storage.items()
    ]
    lines += [
        f"grep -q {shlex.quote(f'^ *{network.interface}:')} /proc/net/dev || echo 'interface {name}'"
        for name, network in networks  # their names consist of letters, digits and dashes
    ]
    lines += [
        f"getent hosts {shlex.quote(address)} >/dev/null || echo {shlex.quote(f'address {name} {address}')}"
        for address, name in addresses.items()
    ]
    return "\n".join([*lines, "true"])


def _clock_offset(response: str, began: float, ended: float) -> float:
    """Return by how much the host's clock is wrong at least, in seconds; 0 if it may be right.

    `response` is the output of the host. Its clock was read between `began` and `ended` of this machine's
    clock.
    """
    fields = response.partition("\n")[0].split()
    clock = float(fields[1]) if len(fields) == 2 and fields[0] == "clock" else began
    return min(clock - began, 0.0) + max(clock - ended, 0.0)


def _judge(site: Site, responses: Mapping[str | None, tuple[str, float]], folder: Path) -> Iterator[Finding]:
    """Yield the findings from the answers of the hosts; one that is met covers all hosts."""
    if not responses:
        return
    faults: dict[str, list[str]] = {}
    for host, (response, _) in responses.items():
        for line in response.splitlines()[1:]:
            faults.setdefault(line.strip(), []).append(host or "this machine")
    n_hosts = len(responses)
    yield Finding(name="hosts", is_met=True, found=f"{n_hosts} answer")
    offsets = {host: offset for host, (_, offset) in responses.items() if abs(offset) > _CLOCKS_APART_S}
    far = ", ".join(f"{host} {offset:+.1f} s" for host, offset in offsets.items())
    yield Finding(
        name="clocks",
        is_met=not offsets,
        found=far or f"within {_CLOCKS_APART_S:g} s of this machine's",
        cure="keep the clocks of the nodes together: chronyd or ntpd" if offsets else "",
    )
    where = site.staging or str(folder)
    yield _shared(
        faults.get("unstaged", []) + faults.get("unshared", []), where, is_staged=bool(site.staging)
    )
    for name, path in site.storage.items():
        bad = faults.get(f"storage {name}", [])
        yield Finding(
            name=f"storage {name}",
            is_met=not bad,
            found=f"{path} is no folder that can be written on {', '.join(bad)}" if bad else path,
            cure=f"make it there, or correct 'storage: {{{name}: …}}'" if bad else "",
        )
    for name, network in site.networks.items() if _starts_ranks(site) else ():
        yield _network(name, network, faults)


def _shared(bad: Sequence[str], where: str, *, is_staged: bool) -> Finding:
    found = f"{where} on every host"
    cure = ""
    if bad:
        found = f"{where} cannot be {'written' if is_staged else 'seen'} on {', '.join(bad)}"
        cure = "run where the nodes share a folder, or add 'staging: /path/on/nodes' to the site"
        cure = f"make {where} there, or correct 'staging'" if is_staged else cure
    return Finding(name="working folder", is_met=not bad, found=found, cure=cure)


def _network(name: str, network: Network, faults: Mapping[str, Sequence[str]]) -> Finding:
    missing = faults.get(f"interface {name}", [])
    unknown = [line.split()[2] for line in faults if line.startswith(f"address {name} ")]
    found, cure = f"{network.interface}, all addresses are known", ""
    if missing:
        found = f"no interface {network.interface} on {', '.join(missing)}"
        cure = f"correct 'networks: {{{name}: {{interface: …}}}}'; `ip link` names those that are there"
    elif unknown:
        found = f"{', '.join(unknown[:5])} cannot be resolved on the hosts"
        cure = "add them to DNS or /etc/hosts of the nodes, or correct the network's 'address'"
    return Finding(name=f"network {name}", is_met=not (missing or unknown), found=found, cure=cure)
