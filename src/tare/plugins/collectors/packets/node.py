"""Count packets by size on one interface until standard input ends. Python 3.6 and its standard library.

Runs on a node, as ``python3 node.py INTERFACE``. The kernel puts the first bytes of each packet into a ring
(packet_mmap, TPACKET_V3). Only the packet's length is read, and no byte of it is kept. If packets arrive
faster than a tenth of a core can count, the ring overflows: the number of lost packets is reported, and the
rest is a sample.

The program prints lines of JSON: the first when it begins, the last when it ends. In between it prints the
counts so far, so that only the end is missing if it is killed.
"""

import collections
import ctypes
import errno
import json
import mmap
import os
import select
import socket
import struct
import sys
import time

SOL_PACKET, RX_RING, STATISTICS, VERSION = 263, 5, 6, 10  # linux/if_packet.h
TPACKET_V3, TO_USER, VLAN_VALID, OUTGOING, ALL_PROTOCOLS = 2, 1, 1 << 4, 4, 0x0003
SO_ATTACH_FILTER, BPF_RET = 26, 0x06
BLOCK_BYTES, N_BLOCKS, RETIRE_MS, SNAP_BYTES = 1 << 18, 32, 50, 16
VLAN_BYTES = 4  # of a tag, which the kernel stores apart from the packet
PRIVILEGED = "python3-packets"
"""A copy of Python with CAP_NET_RAW (setcap(8)), which root may put on the PATH of a group."""
DUTY = 0.1  # of one core, at most
PAUSE_S = 0.1
# The least pause between lines: in seconds, and as a share of the time so far (some 120 an hour).
PRINT_S, PRINT_SHARE = 1.0, 0.05
LAYOUT = "=I12xII34xB"  # tp_next_offset, tp_len, tp_status; sll_pkttype of the address after it
ENTRY = struct.Struct(LAYOUT)
BLOCK = struct.Struct("=8xIII")  # block_status, num_pkts, offset_to_first_pkt
STATS = struct.Struct("=III")  # packets (dropped ones included), drops, freezes


class Tally:
    """The counts so far: packets by length, status (with a VLAN tag or not) and direction."""

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self.seen = collections.Counter()  # type: collections.Counter[tuple[int, int, int]]
        self.n_dropped = 0
        self.fault = ""

    def counted(self) -> "dict[str, object]":
        """Return the counts in the form of `tare.core.packets.Counted`."""
        sent = collections.Counter()  # type: collections.Counter[int]
        received = collections.Counter()  # type: collections.Counter[int]
        for (length, status, kind), n in self.seen.items():
            size = length + VLAN_BYTES if status & VLAN_VALID else length
            (sent if kind == OUTGOING else received)[size] += n
        return {
            "interface": self.interface,
            "n_packets": sum(self.seen.values()),
            "n_dropped": self.n_dropped,
            "sent": sorted(sent.items()),
            "received": sorted(received.items()),
            "cpu_s": time.process_time(),
            "fault": self.fault,
        }


def open_ring(interface: str) -> "tuple[socket.socket, mmap.mmap]":
    """Return a socket that receives all packets of an interface, and its ring."""
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
    socket.if_nametoindex(interface)  # raises for a long name, which bind would cut to 15 characters
    ring.bind((interface, ALL_PROTOCOLS))
    return ring, blocks


def count_block(blocks: mmap.mmap, start: int, tally: Tally) -> bool:
    """Count the packets of the block at `start` if the kernel has finished it. Return whether it had."""
    status, n_packets, offset = BLOCK.unpack_from(blocks, start)
    if not status & TO_USER:
        return False
    position = start + offset
    stride = ENTRY.unpack_from(blocks, position)[0] if n_packets > 1 else ENTRY.size
    row = struct.Struct(f"{LAYOUT}{stride - ENTRY.size}x")
    with memoryview(blocks) as view:
        found = collections.Counter(row.iter_unpack(view[position : position + n_packets * stride]))
    if all(step in (stride, 0) for step, _, _, _ in found):  # the last packet has 0
        for (_, length, status, kind), n in found.items():
            tally.seen[length, status, kind] += n
    else:  # headers of several lengths: after the first odd one, offsets were wrong
        for _ in range(n_packets):
            step, length, status, kind = ENTRY.unpack_from(blocks, position)
            tally.seen[length, status, kind] += 1
            position += step
    struct.pack_into("=I", blocks, start + 8, 0)
    return True


def look(ring: socket.socket, tally: Tally) -> None:
    """Read how many packets were lost, and whether the interface was down."""
    tally.n_dropped += STATS.unpack(ring.getsockopt(SOL_PACKET, STATISTICS, STATS.size))[1]
    error = ring.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error == errno.ENETDOWN:
        tally.fault = f"{tally.interface} was down, or went away, for some of the time"
    elif error:
        tally.fault = f"{tally.interface}: {os.strerror(error)}"


def count(interface: str) -> None:
    """Count and print the counts until standard input ends."""
    ring, blocks = open_ring(interface)
    tally = Tally(interface)
    print_line({"counted": tally.counted()})
    began_at = printed_at = time.monotonic()
    number = 0
    pause_s = PAUSE_S
    is_over = False
    while not is_over:
        is_over = bool(select.select([0], [], [], pause_s)[0]) and not os.read(0, 4096)
        if is_over:
            time.sleep(2 * RETIRE_MS / 1000)  # until the kernel has finished the block that it fills
        spent_s = time.process_time()
        for _ in range(N_BLOCKS):  # at most once around: the kernel may refill blocks as fast as this
            if not count_block(blocks, number * BLOCK_BYTES, tally):
                break
            number = (number + 1) % N_BLOCKS
        look(ring, tally)
        now = time.monotonic()
        if is_over or now - printed_at >= max(PRINT_S, PRINT_SHARE * (now - began_at)):
            printed_at = now
            print_line({"counted": tally.counted(), "is_over": is_over})
        pause_s = max(PAUSE_S, (time.process_time() - spent_s) / DUTY)


def print_line(line: "dict[str, object]") -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def become_privileged() -> None:
    """Restart in the Python that has the capability, if there is one."""
    with open("/proc/self/cmdline", "rb") as command:
        own, *rest = command.read().split(b"\0")[:-1]
    if os.path.basename(own) == PRIVILEGED.encode():
        return
    for folder in os.get_exec_path():
        path = os.path.join(folder, PRIVILEGED)
        if os.access(path, os.X_OK):
            os.execv(path, [path.encode(), *rest])


def run(interface: str) -> None:
    """Print the counts, or why counting is impossible."""
    try:
        try:
            count(interface)
        except PermissionError:
            become_privileged()
            print_line({"is_refused": True})
    except PermissionError:  # this process may not gain the capability (execve(2), EPERM)
        print_line({"is_refused": True})
    except OSError as error:
        fault = f"{interface}: {error.strerror or error}"
        print_line({"counted": {"interface": interface, "fault": fault}, "is_over": True})


if __name__ == "__main__":
    run(sys.argv[1])
