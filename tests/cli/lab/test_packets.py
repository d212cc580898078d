"""Packets of two networks of the lab: their sizes show the MTU that encapsulation leaves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cli.conftest import Tare, lab_site, needs_intelmpi
from tare.core.packets import Counted, read
from tare.storage.campaign import read_campaign

pytestmark = [pytest.mark.lab, needs_intelmpi, pytest.mark.usefixtures("shared_lab")]

STUDY = """\
study: packets
site: lab
factors:
  network: [host, overlay]
  workload: [{imb.pingpong: {min_bytes: 1MiB, max_bytes: 4MiB, iterations: 30}}]
nodes: 2
repeats: 1
timeout: 60 s
"""
_ETHERNET = 14
_HEADERS = 20 + 32  # of IPv4, and of TCP with its time stamps


def test_the_packets_of_an_overlay_are_smaller_by_its_headers(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    done = tare_here("run", tmp_path / "study.yaml", "--out", tmp_path / "c", "--packets")
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = read_campaign(tmp_path / "c")
    found: dict[str, dict[str, Counted]] = {}
    for attempt in campaign.attempts:
        found[str(campaign.cases[attempt.case].network)] = read(tmp_path / "c" / attempt.folder)
    assert {host: one.interface for host, one in found["host"].items()} == {"n1": "fab0", "n2": "fab0"}
    assert {one.interface for one in found["overlay"].values()} == {"eth0"}
    for counted in (*found["host"].values(), *found["overlay"].values()):
        assert not counted.fault
        assert counted.n_dropped == 0
        total = sum(n for _, n in counted.sent) + sum(n for _, n in counted.received)
        assert total == counted.n_packets
    assert payload_divisor(found["host"]) == 1500 - _HEADERS
    assert payload_divisor(found["overlay"]) == 1450 - _HEADERS


def test_what_the_site_counts_an_option_may_leave_out(tare_here: Tare, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(f"{lab_site()}\ntelemetry: {{packets: true}}\n")
    quick = STUDY.replace("site: lab", "site: site.yaml").replace("[host, overlay]", "[host]")
    (tmp_path / "study.yaml").write_text(quick.replace("iterations: 30", "iterations: 2"))
    for options, expected in (((), 1), (("--no-packets",), 0)):
        folder = tmp_path / f"c{len(options)}"
        tare_here("run", tmp_path / "study.yaml", "--out", folder, *options)
        assert len(list(folder.glob("attempts/*/1.1/packets.json"))) == expected


def payload_divisor(hosts: dict[str, Counted]) -> int:
    """Return which MTU's segments fill the largest packets.

    With segmentation offload a packet of up to 64 KiB goes through a veth pair uncut; it is filled with whole
    segments all the same, so that its payload is a multiple of what one packet of the MTU may carry.
    """
    sizes = Counter[int]()
    for one in hosts.values():
        for size, n in one.sent:
            sizes[size - _ETHERNET - _HEADERS] += n
    large = Counter({size: n for size, n in sizes.items() if size > 30_000})
    (size, _), *_ = large.most_common(1)
    fitting = [mtu - _HEADERS for mtu in (1500, 1450) if size % (mtu - _HEADERS) == 0]
    assert len(fitting) == 1, (size, large.most_common(5))
    return fitting[0]
