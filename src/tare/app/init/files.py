"""Write the text of the site file and of the first study from a draft. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from tare.app.init.draft import PlatformDraft, SiteDraft
from tare.app.init.yaml_text import flow, line, scalar
from tare.core.visible_text import visible_line
from tare.discovery.file_systems import SHARED
from tare.discovery.networks import NetworkFacts

SITE, STUDY = "site.yaml", "first.yaml"
_WIDTH = 108


def site_text(draft: SiteDraft, host: str, tried: str) -> str:
    """Return the site file. `tried` says how its platforms were tried; `host` is where it was written."""
    lines = _comment(
        f"Written by `tare init` on {host}. Comments say where each line comes from: change what you know "
        "better. `tare schema site` lists all keys; `tare doctor --site site.yaml` checks them again."
    )
    lines += [
        one
        for key, stated in draft.keys.items()
        for one in line(f"{key}: {flow(stated.value)}", stated.origin)
    ]
    if draft.networks:
        lines += ["", "networks:    # the first is what a study gets that names none"]
        lines += [text for name, one in named(draft.networks).items() for text in _network(name, one)]
        for name, one in named(draft.control).items():
            lines += line("To measure this one too, take it out of 'management':", indent=2, is_off=True)
            lines += _network(name, one, is_off=True)
    lines += [
        "",
        *_comment(f"The first platform is what a study gets that names none. {tried}"),
        "platforms:",
    ]
    lines += [text for one in draft.platforms for text in _platform(one)]
    if draft.storage:
        lines += ["", "storage:"]
        for name, folder in draft.storage.items():
            kind = SHARED.get(folder.file_system, folder.file_system)
            where = f"{kind}, {'shared' if folder.file_system in SHARED else 'of each node'}; {folder.origin}"
            lines += line(f"{scalar(name)}: {scalar(folder.path)}", where, 2)
    if draft.remarks:
        lines += ["", "# What else was found:"]
        lines += [text for one in draft.remarks for text in _comment(one, "- ")]
    return "\n".join([*lines, ""])


def named(networks: tuple[NetworkFacts, ...]) -> dict[str, NetworkFacts]:
    """Return the networks by names of which no two are alike."""
    found: dict[str, NetworkFacts] = {}
    for one in networks:
        found[one.name if one.name not in found else f"{one.name}-{one.interface}"] = one
    return found


def _network(name: str, one: NetworkFacts, *, is_off: bool = False) -> Iterator[str]:
    values: dict[str, object] = {"interface": one.interface}
    if one.address:
        values["address"] = one.address
    if one.provider != "tcp":
        values |= {"provider": one.provider, "device": list(one.ports)}
    rate = f", {one.rate_mbit_per_s / 1000:g} Gbit/s" if one.rate_mbit_per_s else ""
    origin = f"{one.subnet}{rate}, by `ip` and /sys/class/net on the nodes"
    if one.address is None:
        origin += "; no name of a node on it was found: programs with servers, as iperf3, need 'address'"
    if one.ports and one.provider == "tcp":
        origin += (
            f"; RDMA device {one.ports[0]}: for RoCE add 'provider: verbs, device: [\"{one.ports[0]}\"]'"
        )
    yield from line(f"{scalar(name)}: {flow(values)}", origin, 2, is_off=is_off)


def _platform(one: PlatformDraft) -> Iterator[str]:
    if one.fault:
        fault = f"{one.name} does not work: {one.fault}"
        yield from (f"  {text}" for text in _comment(visible_line(fault)))
    yield from line(f"{scalar(one.name)}:", one.origin, 2, is_off=bool(one.fault))
    for key, value in one.options.items():
        yield from line(f"{key}: {flow(value)}", _reason(key, value), 4, is_off=bool(one.fault))


def _reason(key: str, value: object) -> str:
    if key == "slurm" and isinstance(value, Mapping):
        return "whole nodes, since other jobs disturb; one run at a time, since runs share switches"
    return ""


def study_text(draft: SiteDraft) -> str:
    """Return a first study that works at the site: two ranks, small messages, a few minutes."""
    platform = draft.working[0] if draft.working else None
    networks = list(named(draft.networks))
    mpis = [one.name for one in draft.working if one.is_mpi]
    site = str(draft.keys["site"].value)
    lines = _comment(
        "A first study, written by `tare init`. `tare plan first.yaml --show` prints its runs and commands, "
        "`tare run first.yaml` carries them out."
    )
    lines.append("study: first")
    if platform is None or not platform.is_mpi:
        return "\n".join([*lines, *_without_mpi(site), ""])
    factor, levels = ("network", networks) if len(networks) > 1 else ("platform", mpis)
    is_compared = len(levels) > 1
    question = (
        f"What does the {factor} cost, next to {levels[0]}?" if is_compared else "How fast are messages here?"
    )
    lines += [f"question: {scalar(question)}", f"site: {SITE}"]
    if is_compared:
        lines.append(f"reference: {flow({factor: levels[0]})}")
    lines += line(f"workload: {flow(_workload(platform))}", _workload_reason(platform))
    if is_compared:
        lines += line(f"factors: {flow({factor: levels})}", f"each {factor} of {SITE} that works")
    n_nodes = min(2, draft.n_nodes)
    lines += [f"nodes: {n_nodes}", f"ranks_per_node: {2 // n_nodes}", "repeats: 5", "timeout: 2 min"]
    return "\n".join([*lines, ""])


def _workload(platform: PlatformDraft) -> dict[str, object]:
    if platform.has_compiler or not platform.has_imb:
        return {"tare.p2p": {"max_bytes": "1MiB", "time_s": 0.2}}
    return {"imb.pingpong": {"max_bytes": "1MiB"}}


def _workload_reason(platform: PlatformDraft) -> str:
    if platform.has_compiler:
        return f"comes with Tare; mpicc of {platform.name} compiles it"
    return f"IMB-MPI1 is beside the mpirun of {platform.name}" if platform.has_imb else "needs an mpicc"


def _without_mpi(site: str) -> Iterator[str]:
    """Yield a study of a program that every Linux has, for a place without an MPI that works."""
    yield f"question: {scalar(f'Which block size copies fastest at {site}?')}"
    yield f"site: {SITE}"
    yield "reference: {block: 64K}"
    yield "workloads:"
    yield "  copy:    # no MPI was found that works, so this is a program that every Linux has"
    yield "    command: dd if=/dev/zero of=/dev/null bs={block} count=2G iflag=count_bytes"
    yield "    parameters: {block: 64K}"
    yield "    env: {LC_ALL: C}"
    yield r"    foms: [{name: elapsed, unit: s, better: lower, regex: 'copied, (\S+) s'}]"
    yield "    checks: [{matches: bytes}]"
    yield "    output: stderr"
    yield "workload: copy"
    yield "factors: {block: [4K, 64K, 1M]}"
    yield "repeats: 5"
    yield "timeout: 2 min"


def _comment(text: str, mark: str = "") -> list[str]:
    """Return `text` as lines of comments."""
    wrapped = textwrap.wrap(
        visible_line(text), _WIDTH - len(mark), break_long_words=False, break_on_hyphens=False
    )
    return [f"# {mark if number == 0 else ' ' * len(mark)}{one}" for number, one in enumerate(wrapped)]
