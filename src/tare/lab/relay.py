"""Connect standard input and output with a TCP port of this host: ``python -m tare.lab.relay PORT``.

ssh calls it inside the lab, as its ProxyCommand (ssh_config(5)).
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_CHUNK_BYTES = 65_536


def main() -> None:
    """Relay until the far end closes the connection."""
    try:
        connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    except ConnectionRefusedError:
        name = socket.gethostname()
        sys.exit(f"{name} is no member of the cluster; tare lab join {name.removesuffix('-pod')}")
    with connection:
        threading.Thread(target=_send, args=(connection,), daemon=True).start()
        while data := connection.recv(_CHUNK_BYTES):
            while data:
                data = data[os.write(1, data) :]


def _send(connection: socket.socket) -> None:
    while data := os.read(0, _CHUNK_BYTES):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
