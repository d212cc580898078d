from __future__ import annotations

import mmap
import os
import socket
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.core.packets import Counted, by_power_of_two, faults, peaks, read
from tare.plugins.backends.hosts.packet_counters import PacketCounters
from tare.plugins.collectors.packets import command, gather, node, program, read_counts, store

BEGUN = '{"counted": {"interface": "fab0"}}'
HALF = '{"counted": {"interface": "fab0", "n_packets": 2, "sent": [[66, 2]]}, "is_over": false}'
OVER = '{"counted": {"interface": "fab0", "n_packets": 3, "sent": [[66, 3]]}, "is_over": true}'


def test_sizes_are_counted_by_the_power_of_two_that_holds_them() -> None:
    assert by_power_of_two([(64, 1), (65, 2), (128, 3), (1500, 4), (2048, 5)]) == {64: 1, 128: 5, 2048: 9}


@given(st.lists(st.tuples(st.integers(1, 70000), st.integers(1, 10**9))))
def test_no_packet_is_lost_between_the_bins(sizes: list[tuple[int, int]]) -> None:
    found = by_power_of_two(sizes)
    assert sum(found.values()) == sum(n for _, n in sizes)
    assert all(size <= bin_ for size, _ in sizes for bin_ in [1 << (size - 1).bit_length()] if bin_ in found)


def test_peaks_are_exact_sizes_that_are_frequent() -> None:
    assert peaks([(66, 500), (1514, 499), (90, 1)]) == [(66, 500), (1514, 499)]


def test_a_counter_that_ends_without_counts_is_reported_with_its_output() -> None:
    assert read_counts("sh: python3: not found").fault == "sh: python3: not found"
    assert "printed nothing" in read_counts("").fault


def test_what_was_counted_is_kept_and_read_again(tmp_path: Path) -> None:
    assert read(tmp_path) == {}
    counted = {"n1": read_counts(f"{BEGUN}\n{OVER}\n")}
    store(tmp_path, counted)
    assert read(tmp_path) == counted
    assert counted["n1"].sent == [(66, 3)]


def test_a_counter_that_was_killed_leaves_its_counts_and_they_are_reported_as_incomplete() -> None:
    whole, cut = read_counts(f"{BEGUN}\n{HALF}\n{OVER}\n"), read_counts(f"{BEGUN}\n{HALF}\n{OVER[:50]}")
    assert (whole.n_packets, whole.fault) == (3, "")
    assert (cut.n_packets, cut.sent) == (2, [(66, 2)])
    assert "did not live" in cut.fault
    assert "did not live" in read_counts(BEGUN).fault


def test_missing_permission_to_see_packets_is_reported_with_the_cure_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for host in ("n1", "n2"):
            (tmp_path / name / f"packets.{host}.txt").write_text('{"is_refused": true}\n')
        gather(tmp_path / name, ["n1", "n2"], "ask root")
    (reason,) = faults([tmp_path / "a", tmp_path / "b"])
    assert "CAP_NET_RAW" in reason
    assert reason.endswith(": ask root")
    assert faults([tmp_path / "a", tmp_path / "b"])[reason] == 2


def test_what_nodes_wrote_is_gathered_and_who_wrote_nothing_is_named(tmp_path: Path) -> None:
    for name in ("n1", "n1+server"):
        (tmp_path / f"packets.{name}.txt").write_text(f"{BEGUN}\n{OVER}\n")
    gather(tmp_path, ["n1", "n1/1", "n2"], "")
    found = read(tmp_path)
    assert {host: one.n_packets for host, one in found.items()} == {"n1": 3, "n1/server": 3, "n2": 0}
    assert {host for host, one in found.items() if one.fault} == {"n2"}
    assert not list(tmp_path.glob("*.txt"))


@pytest.mark.parametrize("name", ["no-such-if0", "", "it's $(x)", "lo" * 10, "-x"])
def test_an_interface_that_is_not_there_is_a_fault(name: str) -> None:
    with PacketCounters(label="test").count({None: command(name)}) as output:
        pass
    assert read_counts(output[None]).fault


def test_a_host_that_cannot_be_asked_is_a_fault_and_stops_nothing() -> None:
    with PacketCounters(label="test", agent=["/no/such/agent"]).count({"n1": "true"}) as output:
        pass
    assert read_counts(output["n1"]).fault


def test_the_program_compiles_for_old_pythons() -> None:
    text = program()
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
    with PacketCounters(label="test").count({None: command("lo")}) as output:
        for _ in range(n_packets):
            receiver.sendto(bytes(payload), receiver.getsockname())
    receiver.close()
    found = read_counts(output[None])
    assert dict(found.sent)[size] >= n_packets - found.n_dropped
    assert dict(found.received)[size] >= n_packets - found.n_dropped
    assert found.n_packets == sum(n for _, n in (*found.sent, *found.received)), "those dropped are beside it"


@pytest.mark.parametrize("strides", [[104] * 5, [104, 104, 112, 104, 96], [104], [112, 104]])
def test_a_block_of_the_ring_is_counted_whatever_the_lengths_of_its_headers(strides: list[int]) -> None:
    blocks = mmap.mmap(-1, 4096)
    node.BLOCK.pack_into(blocks, 0, node.TO_USER, len(strides), 48)
    position = 48
    for number, stride in enumerate(strides, 1):
        is_last = number == len(strides)
        tagged = node.VLAN_VALID if number == 1 else 0
        node.ENTRY.pack_into(blocks, position, 0 if is_last else stride, 100 * number, tagged, node.OUTGOING)
        position += stride
    tally = node.Tally("fab0")
    assert node.count_block(blocks, 0, tally)
    assert not node.count_block(blocks, 0, tally), "it is the kernel's again"
    assert msgspec.convert(tally.counted(), Counted).sent == [
        (104, 1),
        *((100 * n, 1) for n in range(2, len(strides) + 1)),
    ]


def test_the_shell_takes_the_program_as_it_is() -> None:
    checked = subprocess.run(["/bin/sh", "-n", "-c", command("a'b")], check=False)
    assert checked.returncode == 0


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_counts_of_a_strangers_campaign_are_read_from_files_alone(tmp_path: Path, kind: str) -> None:
    """A report neither waits for a pipe nor reads what a link leads to."""
    outside = tmp_path / "outside.json"
    outside.write_text('{"n1": {"n_packets": 3}}')
    place = tmp_path / "attempts" / "a" / "packets.json"
    place.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(outside)
    (told,) = read(tmp_path, "attempts/a").values()
    assert (told.n_packets, told.sent) == (0, [])
    assert "cannot be read" in told.fault


@pytest.mark.parametrize(
    "sizes", ["[[64, 0]]", "[[64, -1], [65, 2]]", f"[[{10**400}, 1]]", f"[[64, {10**400}]]", "{}"]
)
def test_counts_that_cannot_be_are_damage_and_no_counts(tmp_path: Path, sizes: str) -> None:
    """They ended in a division by zero, or in a number that is too large for one."""
    (tmp_path / "packets.json").write_text(f'{{"n1": {{"n_packets": 1, "sent": {sizes}}}}}')
    (told,) = read(tmp_path).values()
    assert told.fault.startswith("packets.json is damaged: ")
