from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.backends.packet_counting import PacketCounters
from tare.collectors.packets import command, program, read_answer, store
from tare.model.packets import by_power_of_two, peaks, read


def test_sizes_are_counted_by_the_power_of_two_that_holds_them() -> None:
    assert by_power_of_two([(64, 1), (65, 2), (128, 3), (1500, 4), (2048, 5)]) == {64: 1, 128: 5, 2048: 9}


@given(st.lists(st.tuples(st.integers(1, 70000), st.integers(1, 10**9))))
def test_no_packet_is_lost_between_the_bins(sizes: list[tuple[int, int]]) -> None:
    found = by_power_of_two(sizes)
    assert sum(found.values()) == sum(n for _, n in sizes)
    assert all(size <= bin_ for size, _ in sizes for bin_ in [1 << (size - 1).bit_length()] if bin_ in found)


def test_peaks_are_exact_sizes_that_are_frequent() -> None:
    assert peaks([(66, 500), (1514, 499), (90, 1)]) == [(66, 500), (1514, 499)]


def test_a_counter_that_ends_without_an_answer_says_what_it_said() -> None:
    assert read_answer("sh: python3: not found").fault == "sh: python3: not found"
    assert "said nothing" in read_answer("").fault


def test_what_was_counted_is_kept_and_read_again(tmp_path: Path) -> None:
    assert read(tmp_path) == {}
    counted = {"n1": read_answer('{"ready": true}\n{"interface": "fab0", "n_packets": 3, "sent": [[66, 3]]}')}
    store(tmp_path, counted)
    assert read(tmp_path) == counted
    assert counted["n1"].sent == [(66, 3)]


def test_an_interface_that_is_not_there_is_a_fault() -> None:
    counters = PacketCounters(label="test")
    with counters.count({None: command("no-such-if0")}) as said:
        pass
    assert read_answer(said[None] or "").fault


def test_the_program_compiles_for_old_pythons() -> None:
    text = program("fab0")
    compile(text, "node.py", "exec")
    assert ":=" not in text
    assert "match " not in text


def can_see_packets() -> bool:
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return False
    return True


@pytest.mark.skipif(not can_see_packets(), reason="needs CAP_NET_RAW; the lab's test has it")
def test_every_packet_of_a_known_number_is_counted_in_both_directions() -> None:
    n_packets, payload = 500, 333
    size = 14 + 20 + 8 + payload  # Ethernet, IPv4 and UDP headers
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    with PacketCounters(label="test").count({None: command("lo")}) as said:
        for _ in range(n_packets):
            receiver.sendto(bytes(payload), receiver.getsockname())
    receiver.close()
    found = read_answer(said[None])
    assert dict(found.sent)[size] >= n_packets - found.n_dropped
    assert dict(found.received)[size] >= n_packets - found.n_dropped


def test_the_shell_takes_the_program_as_it_is() -> None:
    checked = subprocess.run(["/bin/sh", "-n", "-c", command("a'b")], check=False)
    assert checked.returncode == 0
