"""Count packets by size on one interface until standard input ends. Python 3.6 and its standard library.

Runs on a node, as ``python3 node.py INTERFACE``. The kernel puts the first bytes of each packet into a ring
(packet_mmap, TPACKET_V3); only its length is looked at, and no byte of it is kept. Where packets come faster
than a tenth of a core can count, the ring runs over: how many are lost is told, and the rest is a sample.

It says what it has counted as lines of JSON, the first when it begins, the last when it is over. In between
come some that hold as much as there is, so that one that is killed leaves all but the end.
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
VLAN_BYTES = 4  # of a tag, which the kernel takes off the packet and keeps beside it
PRIVILEGED = "python3-packets"
"""What root may put on the PATH of a group: a copy of Python that has CAP_NET_RAW (setcap(8))."""
DUTY = 0.1  # of one core, at most
PAUSE_S = 0.1
SAY_S, SAY_SHARE = (
    1.0,
    0.05,
)  # between two lines at least, and of the time so far: an hour has some 120 of them
LAYOUT = "=I12xII34xB"  # tp_next_offset, tp_len, tp_status; sll_pkttype of the address behind
ENTRY = struct.Struct(LAYOUT)
BLOCK = struct.Struct("=8xIII")  # block_status, num_pkts, offset_to_first_pkt
STATS = struct.Struct("=III")  # packets, those dropped among them; drops; freezes


class Tally:
    """What was counted so far: how many packets of a length, with a VLAN's tag or not, in a direction."""

    def __init__(self, interface: str) -> None:
        self.interface = interface
        self.seen = collections.Counter()  # type: collections.Counter[tuple[int, int, int]]
        self.n_dropped = 0
        self.fault = ""

    def counted(self) -> "dict[str, object]":
        """Return it as `tare.core.packets.Counted` has it."""
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
    socket.if_nametoindex(interface)  # which refuses a name that bind would cut at its 15th character
    ring.bind((interface, ALL_PROTOCOLS))
    return ring, blocks


def count_block(blocks: mmap.mmap, start: int, tally: Tally) -> bool:
    """Count the packets of the block at `start`, if the kernel is done with it; return whether it was."""
    status, n_packets, offset = BLOCK.unpack_from(blocks, start)
    if not status & TO_USER:
        return False
    place = start + offset
    stride = ENTRY.unpack_from(blocks, place)[0] if n_packets > 1 else ENTRY.size
    row = struct.Struct(f"{LAYOUT}{stride - ENTRY.size}x")
    with memoryview(blocks) as view:
        found = collections.Counter(row.iter_unpack(view[place : place + n_packets * stride]))
    if all(step in (stride, 0) for step, _, _, _ in found):  # 0 is that of the last one
        for (_, length, status, kind), n in found.items():
            tally.seen[length, status, kind] += n
    else:  # headers of several lengths: what follows the first odd one was read beside its place
        for _ in range(n_packets):
            step, length, status, kind = ENTRY.unpack_from(blocks, place)
            tally.seen[length, status, kind] += 1
            place += step
    struct.pack_into("=I", blocks, start + 8, 0)
    return True


def look(ring: socket.socket, tally: Tally) -> None:
    """Take in how many packets were lost, and whether the interface was."""
    tally.n_dropped += STATS.unpack(ring.getsockopt(SOL_PACKET, STATISTICS, STATS.size))[1]
    error = ring.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error == errno.ENETDOWN:
        tally.fault = f"{tally.interface} was down, or went away, for some of the time"
    elif error:
        tally.fault = f"{tally.interface}: {os.strerror(error)}"


def count(interface: str) -> None:
    """Count, and say what, until standard input ends."""
    ring, blocks = open_ring(interface)
    tally = Tally(interface)
    say({"counted": tally.counted()})
    began_at = said_at = time.monotonic()
    number = 0
    pause_s = PAUSE_S
    is_over = False
    while not is_over:
        is_over = bool(select.select([0], [], [], pause_s)[0]) and not os.read(0, 4096)
        if is_over:
            time.sleep(2 * RETIRE_MS / 1000)  # until the kernel has given up the block that it fills
        spent_s = time.process_time()
        for _ in range(N_BLOCKS):  # and no more: what fills them anew may be as fast as this
            if not count_block(blocks, number * BLOCK_BYTES, tally):
                break
            number = (number + 1) % N_BLOCKS
        look(ring, tally)
        now = time.monotonic()
        if is_over or now - said_at >= max(SAY_S, SAY_SHARE * (now - began_at)):
            said_at = now
            say({"counted": tally.counted(), "is_over": is_over})
        pause_s = max(PAUSE_S, (time.process_time() - spent_s) / DUTY)


def say(answer: "dict[str, object]") -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def become_privileged() -> None:
    """Start anew in the Python that has the capability, where there is one."""
    with open("/proc/self/cmdline", "rb") as command:
        own, *rest = command.read().split(b"\0")[:-1]
    if os.path.basename(own) == PRIVILEGED.encode():
        return
    for folder in os.get_exec_path():
        path = os.path.join(folder, PRIVILEGED)
        if os.access(path, os.X_OK):
            os.execv(path, [path.encode(), *rest])


def run(interface: str) -> None:
    """Say what was counted, or why it cannot be."""
    try:
        try:
            count(interface)
        except PermissionError:
            become_privileged()
            say({"is_refused": True})
    except PermissionError:  # what it would become is more than this process may be (execve(2), EPERM)
        say({"is_refused": True})
    except OSError as error:
        fault = f"{interface}: {error.strerror or error}"
        say({"counted": {"interface": interface, "fault": fault}, "is_over": True})


if __name__ == "__main__":
    run(sys.argv[1])
