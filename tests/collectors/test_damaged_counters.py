"""Counters that a node garbled on the way are none: a number is taken as it was printed, or not at all."""

from __future__ import annotations

import pytest

from tare.plugins.collectors.interfaces import read_traffic
from tare.probes.traffic import ADAPTERS, INTERFACES

HEADINGS = "Inter-| Receive\n face |bytes\n"
GOOD = "  eth0: 10 1 0 0 0 0 0 0 20 2 0 0 0 0 0 0\n"
HUGE = "9" * 5000


@pytest.mark.parametrize("word", ["", "x", "0x10", "1.5", "-1", "1_0", "²", "٣", HUGE])
def test_an_interface_with_a_damaged_count_is_left_out(word: str) -> None:
    damaged = f"  eth1: 10 1 0 0 0 0 0 0 {word} 2 0 0 0 0 0 0\n"
    found = read_traffic({INTERFACES: HEADINGS + damaged + GOOD})
    assert found["eth0"].tx_bytes == 20
    assert "eth1" not in found


@pytest.mark.parametrize("word", ["²", "٣", HUGE])
def test_an_adapter_with_damaged_counts_is_left_out(word: str) -> None:
    counters = "infiniband/mlx5_0/ports/1/counters/port_"
    hsn = "cxi/cxi0/device/telemetry/hni_sts_"
    tree = f"{counters}rcv_data {word}\n{counters}xmit_data 5\n"
    tree += f"{hsn}rx_ok_octets {word}@1\n{hsn}tx_ok_octets 2@1\n"
    assert read_traffic({ADAPTERS: tree}) == {}
