"""Notes on a plan and its site: cores that threads share, and network options that reach no rank. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.case import Case
from tare.core.site import Site
from tare.plan.layouts import fits

_ANY_MPI = "srun"
"""The launcher that starts the ranks of any MPI, and so does not read the options of a certain MPI."""


def site_notes(cases: Sequence[Case], site: Site) -> Iterator[str]:
    """Yield a note on cases with more threads than cores, and one for each network with unused options."""
    if site.slots_per_node > 1 and site.shared_cores is None:
        yield from _crowded(cases, site)
    for platform, network in sorted({(one.platform, one.network or "") for one in cases}):
        launcher = site.platforms[platform].launcher if platform in site.platforms else ""
        options = site.networks[network].options if network in site.networks else {}
        if launcher == _ANY_MPI and options and launcher not in options:
            yield (
                f"site {site.name}: the options of network {network} for {', '.join(options)} do not reach "
                f"ranks of platform {platform}, which srun starts; give them as 'options: {{srun: …}}' too"
            )


def _crowded(cases: Sequence[Case], site: Site) -> Iterator[str]:
    crowded = [one for one in cases if not fits(one.layout, site)]
    if crowded:
        layout = max((one.layout for one in crowded), key=lambda one: one.ranks_per_node * one.threads)
        what = "1 case shares" if len(crowded) == 1 else f"{len(crowded)} cases share"
        threads = "1 thread" if layout.threads == 1 else f"{layout.threads} threads"
        yield (
            f"site {site.name}: {what} cores: up to {layout.ranks_per_node} ranks with {threads} "
            f"each on a node of {site.slots_per_node} slots; ask for fewer, or mend slots_per_node"
        )
