"""Move bytes over one TCP connection, on hosts of a lab: ``receive ADDRESS``, ``send ADDRESS PORT COUNT``."""

import socket
import sys
import time


def receive(address: str) -> None:
    with socket.create_server((address, 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        with connection:
            count = 0
            while chunk := connection.recv(1 << 20):
                count += len(chunk)
            connection.sendall(b"!")
            print(count, flush=True)


def send(address: str, port: int, count: int) -> None:
    with socket.create_connection((address, port)) as connection:
        started = time.perf_counter()
        connection.sendall(bytes(count))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)  # it has arrived, not only left
        print(time.perf_counter() - started)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    else:
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
