"""Make networks of a site file of those that were found on nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.app.init.site_draft import NetworkDraft
from tare.discovery.networks import NetworkFacts

_TO_MEASURE = "To measure this one too, take it out of 'management':"


def network_drafts(
    networks: Sequence[NetworkFacts], control: Sequence[NetworkFacts]
) -> tuple[NetworkDraft, ...]:
    """Return the networks for data, and those of `control` as comments."""
    return (*_drafts(networks), *_drafts(control, preface=_TO_MEASURE, is_off=True))


def _drafts(
    networks: Sequence[NetworkFacts], *, preface: str = "", is_off: bool = False
) -> Iterator[NetworkDraft]:
    """Yield drafts by names of which no two are alike."""
    taken: set[str] = set()
    for one in networks:
        name = one.name if one.name not in taken else f"{one.name}-{one.interface}"
        taken.add(name)
        yield NetworkDraft(
            name=name, options=_options(one), origin=network_origin(one), preface=preface, is_off=is_off
        )


def _options(one: NetworkFacts) -> dict[str, object]:
    values: dict[str, object] = {"interface": one.interface}
    if one.address:
        values["address"] = one.address
    if one.provider != "tcp":
        values |= {"provider": one.provider, "device": list(one.ports)}
    return values


def network_origin(one: NetworkFacts) -> str:
    """Return where a network comes from, and what its line lacks."""
    rate = f", {one.rate_mbit_per_s / 1000:g} Gbit/s" if one.rate_mbit_per_s else ""
    origin = f"{one.subnet}{rate}, by `ip` and /sys/class/net on the nodes"
    if one.address is None:
        origin += "; no name of a node on it was found: programs with servers, as iperf3, need 'address'"
    if one.ports and one.provider == "tcp":
        origin += (
            f"; RDMA device {one.ports[0]}: for RoCE add 'provider: verbs, device: [\"{one.ports[0]}\"]'"
        )
    return origin
