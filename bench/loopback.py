"""Send data through the loopback interface, to produce traffic with little other influence."""

from __future__ import annotations

import socket
import threading


def send(count: int) -> None:
    """Send `count` bytes through loopback, rounded down to whole MiB."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def receive() -> None:
            connection, _ = server.accept()
            with connection:
                while connection.recv(1 << 20):
                    pass

        receiver = threading.Thread(target=receive)
        receiver.start()
        with socket.create_connection(server.getsockname()) as sender:
            block = bytes(1 << 20)
            for _ in range(count // len(block)):
                sender.sendall(block)
        receiver.join()
