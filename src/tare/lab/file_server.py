"""Serve files of a lab to its nodes: ``python -m tare.lab.file_server PROGRAM PORT``, in the server's host.

Each connection gets an sftp-server(8) of its own, which speaks its protocol over the connection itself. There
is no login, and nothing is encrypted: the listener is in the network namespace of a lab, which only the lab's
owner can enter, and ciphers would cost the processor time that a measurement needs.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

ANY_ADDRESS = "0.0.0.0"  # noqa: S104  # a namespace of its own: only nodes of the lab are connected to it


def main(arguments: Sequence[str]) -> int:
    """Fork a daemon that serves; return when it listens, so that clients may connect."""
    program, port = arguments
    listener = socket.create_server((ANY_ADDRESS, int(port)), backlog=128)
    if os.fork() != 0:
        return 0
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    serve(listener, program)
    return 0


def serve(listener: socket.socket, program: str) -> None:
    """Give each connection a process of `program`. Never returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them (wait(2))
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            subprocess.Popen([program, "-e"], stdin=connection.fileno(), stdout=connection.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
