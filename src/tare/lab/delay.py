"""A switch that forwards each frame a fixed time after it came: a network with more latency.

Where the kernel has it, tc-netem(8) does this; many kernels are built without it. Here each host's interface
is a tap(4) device, and one process of the lab reads frames from all of them, and writes each to the device of
its destination when it is due. It learns addresses as a bridge does (IEEE 802.1D, section 7.8).

Frames come as the kernel has them before segmentation, of up to 64 KiB, with their `virtio_net_hdr`
(virtio 1.2, section 5.1.6), so that the number of packets does not limit the bandwidth. The process itself
takes some microseconds for a frame; they come on top.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import select
import signal
import struct
import time
from collections import deque
from collections.abc import Sequence

from tare.lab.namespaces import die_with_parent, name_process

TAP_DEVICE = "/dev/net/tun"
_TUNSETIFF, _TUNSETOFFLOAD, _TUNSETVNETHDRSZ = 0x400454CA, 0x400454D0, 0x400454D8
_IFF_TAP, _IFF_NO_PI, _IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
_CHECKSUMS, _TSO4, _TSO6, _ECN = 0x01, 0x02, 0x04, 0x08
"""linux/if_tun.h"""

_HEADER_BYTES = 10
_FRAME_BYTES = 65_536 + 64
_MOST_WAITING_BYTES = 64 << 20
"""Beyond this the switch reads no more, and the kernel's queues drop frames, as a real switch does."""

_PR_SET_TIMERSLACK = 29


def open_tap(name: str) -> int:
    """Make the tap device `name` in this network namespace; return its descriptor, with which it ends.

    Raises OSError where /dev/net/tun is missing or not for this user.
    """
    tap = os.open(TAP_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR
        fcntl.ioctl(tap, _TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
        fcntl.ioctl(tap, _TUNSETVNETHDRSZ, struct.pack("i", _HEADER_BYTES))
        fcntl.ioctl(tap, _TUNSETOFFLOAD, _CHECKSUMS | _TSO4 | _TSO6 | _ECN)
    except BaseException:
        os.close(tap)
        raise
    return tap


class Switch:
    """Frames between tap devices, each `delay_s` late. `taps` are their descriptors; ps(1) shows `name`."""

    def __init__(self, name: str, taps: Sequence[int], delay_s: float) -> None:
        self.name = name
        self._taps = tuple(taps)
        self._delay_s = delay_s
        self._ports: dict[bytes, int] = {}
        self._waiting: deque[tuple[float, int, bytes]] = deque()
        self._waiting_bytes = 0

    def start(self) -> int:
        """Start the process that forwards frames until it is killed; return its pid."""
        pid = os.fork()
        if pid == 0:
            try:
                die_with_parent()
                name_process(f"tare-{self.name}")
                signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the holder blocks those that it waits for
                _wake_exactly()
                gc.disable()  # there are no cycles, and a collection would delay frames
                while True:
                    self.step()
            finally:
                os._exit(1)
        for tap in self._taps:
            os.close(tap)
        return pid

    def step(self) -> None:
        """Wait for a frame to come or to be due; take what came, and send what is due."""
        timeout_s = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
        sources = self._taps if self._waiting_bytes < _MOST_WAITING_BYTES else ()
        ready, _, _ = select.select(sources, (), (), timeout_s)
        for tap in ready:
            self._take(tap)
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, tap, frame = self._waiting.popleft()
            self._waiting_bytes -= len(frame)
            self._send(tap, frame)

    def _take(self, tap: int) -> None:
        try:
            frame = os.read(tap, _FRAME_BYTES)
        except BlockingIOError:
            return
        due = time.monotonic() + self._delay_s
        self._ports[frame[_HEADER_BYTES + 6 : _HEADER_BYTES + 12]] = tap
        self._waiting.append((due, tap, frame))
        self._waiting_bytes += len(frame)

    def _send(self, source: int, frame: bytes) -> None:
        """Write a frame to the device of its destination; to all others if that is not known."""
        known = self._ports.get(frame[_HEADER_BYTES : _HEADER_BYTES + 6])
        for tap in self._taps if known is None else (known,):
            if tap != source:
                try:
                    os.write(tap, frame)
                except OSError:  # its queue is full, or it is down: the frame is lost
                    continue


def _wake_exactly() -> None:
    """Let timers end on time; by default the kernel may add 50 microseconds (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def prefer(pid: int) -> None:
    """Let a switch run before programs that share its processors, where this user may (sched(7)).

    Otherwise frames wait until these have used up their time. Only root may, outside of the lab.
    """
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.sched_setscheduler(pid, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
