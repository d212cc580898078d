"""Count packets by size on one interface until standard input ends. Python 3.6 and its standard library.

Runs on a node, sent there as text. The kernel puts the first bytes of each packet into a ring (packet_mmap,
TPACKET_V3); only its length is looked at, and no byte of it is kept. Where packets come faster than a tenth
of a core can count, the ring runs over: how many are lost is told, and the rest is a sample.
"""

import collections
import ctypes
import json
import mmap
import os
import select
import socket
import struct
import sys
import time

SOL_PACKET, RX_RING, STATISTICS, VERSION = 263, 5, 6, 10  # linux/if_packet.h
TPACKET_V3, TO_USER, OUTGOING, ALL_PROTOCOLS = 2, 1, 4, 0x0003
SO_ATTACH_FILTER, BPF_RET = 26, 0x06
BLOCK_BYTES, N_BLOCKS, RETIRE_MS, SNAP_BYTES = 1 << 18, 32, 50, 16
DUTY = 0.1  # of one core, at most
PAUSE_S = 0.1
ENTRY = struct.Struct("=I12xI38xB")  # tp_next_offset, tp_len; sll_pkttype of the address behind the header
BLOCK = struct.Struct("=8xIII")  # block_status, num_pkts, offset_to_first_pkt
STATS = struct.Struct("=III")  # packets, drops, freezes


def open_ring(interface: str) -> "tuple[socket.socket, mmap.mmap]":
    """Return a socket that sees all packets of an interface, and its ring."""
    ring = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    program = ctypes.create_string_buffer(struct.pack("=HBBI", BPF_RET, 0, 0, SNAP_BYTES))
    pointer = struct.pack("@HL", 1, ctypes.addressof(program))
    ring.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pointer)
    ring.setsockopt(SOL_PACKET, VERSION, TPACKET_V3)
    n_frames = BLOCK_BYTES // 2048 * N_BLOCKS
    ring.setsockopt(
        SOL_PACKET, RX_RING, struct.pack("=7I", BLOCK_BYTES, N_BLOCKS, 2048, n_frames, RETIRE_MS, 0, 0)
    )
    blocks = mmap.mmap(ring.fileno(), BLOCK_BYTES * N_BLOCKS)
    ring.bind((interface, ALL_PROTOCOLS))
    return ring, blocks


def count_block(blocks: mmap.mmap, start: int, sizes: "collections.Counter[tuple[int, bool]]") -> bool:
    """Count the packets of the block at `start`, if the kernel is done with it; return whether it was."""
    status, n_packets, offset = BLOCK.unpack_from(blocks, start)
    if not status & TO_USER:
        return False
    place = start + offset
    unpack = ENTRY.unpack_from
    for _ in range(n_packets):
        step, length, kind = unpack(blocks, place)
        sizes[length, kind == OUTGOING] += 1
        place += step
    struct.pack_into("=I", blocks, start + 8, 0)
    return True


def count(interface: str) -> "dict[str, object]":
    """Return what was counted until standard input ends."""
    ring, blocks = open_ring(interface)
    say({"ready": True})
    sizes = collections.Counter()  # type: collections.Counter[tuple[int, bool]]
    seen = dropped = number = 0
    pause_s = PAUSE_S
    is_over = False
    while not is_over:
        is_over = bool(select.select([0], [], [], pause_s)[0]) and not os.read(0, 4096)
        if is_over:
            time.sleep(2 * RETIRE_MS / 1000)  # until the kernel has given up the block that it fills
        began = time.perf_counter()
        while count_block(blocks, number * BLOCK_BYTES, sizes):
            number = (number + 1) % N_BLOCKS
        packets, drops, _ = STATS.unpack(ring.getsockopt(SOL_PACKET, STATISTICS, STATS.size))
        seen += packets
        dropped += drops
        pause_s = max(PAUSE_S, (time.perf_counter() - began) / DUTY)
    return {
        "interface": interface,
        "n_packets": seen,
        "n_dropped": dropped,
        "sent": sorted([length, n] for (length, is_out), n in sizes.items() if is_out),
        "received": sorted([length, n] for (length, is_out), n in sizes.items() if not is_out),
        "cpu_s": time.process_time(),
    }


def say(answer: "dict[str, object]") -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def run(interface: str) -> None:
    """Say when counting begins, and what was counted; or why it cannot be."""
    try:
        say(count(interface))
    except PermissionError:
        say(
            {"fault": "only who has CAP_NET_RAW sees packets (capabilities(7)): run as root, or leave it out"}
        )
    except OSError as error:
        say({"fault": f"{interface}: {error.strerror or error}"})
