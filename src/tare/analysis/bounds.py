"""Find the upper bound of a figure: the most that the link, memory or processors of its nodes can give."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tare.analysis.confounding import environments_of
from tare.core.bounds import Bound, Link, Resource
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.units import Dimension, unit_factor

_RATE_OF_PORT = re.compile(r"(\d+(?:\.\d+)?) Gb/sec")
"""The rate of an RDMA port as sysfs writes it: ``100 Gb/sec (4X EDR)``."""


def bound(campaign: Campaign, case: Case, fom: str, unit: str) -> Bound | None:
    """Return the bound of a figure of `case` in the figure's unit; None where no bound is known.

    The site file takes precedence. Otherwise the rate of a link is the lowest rate of the hardware behind the
    network's interface that the nodes of the case's runs recorded. A virtual interface has no rate of its
    own.
    """
    limit = _limit(campaign, case, fom)
    if limit is None:
        return None
    if limit is Resource.FLOPS:
        return _of_nodes(limit, campaign.plan.peaks.flops, case, unit, Dimension.FLOPS)
    if limit is Resource.MEMORY:
        peak = campaign.plan.peaks.memory_bytes_per_s
        return _of_nodes(limit, peak, case, unit, Dimension.BYTES_PER_SECOND)
    if case.layout.nodes < 2 or case.network is None or case.parameters.get("bidirectional"):
        return None  # with both directions measured at once, a figure may count one direction or both
    return _of_link(limit, campaign, case, unit)


def _limit(campaign: Campaign, case: Case, fom: str) -> Resource | None:
    foms = campaign.plan.foms.get(case.workload, ())
    return next((one.limit for one in foms if one.name == fom), None)


def _of_nodes(
    resource: Resource, peak: float | None, case: Case, unit: str, dimension: Dimension
) -> Bound | None:
    factor = unit_factor(unit, dimension)
    if peak is None or factor is None:
        return None
    nodes = case.layout.nodes
    source = f"site file, {nodes} nodes" if nodes > 1 else "site file"
    return Bound(resource=resource, value=peak * nodes / factor, unit=unit, source=source)


def _of_link(resource: Resource, campaign: Campaign, case: Case, unit: str) -> Bound | None:
    link = campaign.plan.links.get(case.network or "")
    factor = unit_factor(unit, Dimension.BYTES_PER_SECOND)
    if link is None or factor is None:
        return None
    found = _rate(campaign, case, link)
    if found is None:
        return None
    bits_per_s, source = found
    directions = 2 if resource is Resource.LINK_BOTH_WAYS else 1
    return Bound(resource=resource, value=directions * bits_per_s / 8 / factor, unit=unit, source=source)


def _rate(campaign: Campaign, case: Case, link: Link) -> tuple[float, str] | None:
    """Return the rate of a link in bits per second, and the source of this number."""
    if link.rate_bits_per_s is not None:
        return link.rate_bits_per_s, "site file"
    names = environments_of(campaign).get(case.id, ())
    hosts = [facts for name in names for facts in campaign.environments[name].values()]
    rates = [_hardware_rate(facts, link.interface) for facts in hosts]
    known = [one for one in rates if one is not None]
    if not known or len(known) < len(rates):
        return None
    return min(known), f"{link.interface} of the nodes"


def _hardware_rate(facts: Mapping[str, str], interface: str) -> float | None:
    """Return the rate of a real adapter's port in bits per second; None for others, which have no driver."""
    device, _, port = interface.partition(":")
    if known := _RATE_OF_PORT.match(facts.get(f"rdma.{device}.port{port or 1}.rate", "")):
        return float(known[1]) * 1e9
    speed = facts.get(f"nic.{interface}.speed", "")
    if f"nic.{interface}.driver" not in facts or not speed.isdigit():
        return None
    return int(speed) * 1e6
