"""Serve the logs of simulated pods to the API server: the only part of a kubelet that kwok lacks."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from kubelab.pki import Authority

_LONGEST_S, _STEP_S = 600.0, 0.2


class SimulatedLogs:
    """A double of the kubelets' port: ``/containerLogs/NAMESPACE/POD/CONTAINER``, and nothing else.

    `write_log` returns the log of a pod, given its namespace and name. A client that follows the log of a pod
    whose `is_running` is true receives it when the pod has ended.
    """

    def __init__(
        self,
        authority: Authority,
        write_log: Callable[[str, str], bytes],
        is_running: Callable[[str, str], bool] = lambda namespace, pod: False,
    ) -> None:
        serving = authority.issue("simulated-logs", "simulated-logs", hosts=["IP:127.0.0.1"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(serving.certificate, serving.key)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.write_log = write_log
        self._server.is_running = is_running
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, name="simulated logs", daemon=True)

    def start(self) -> None:
        """Start to serve, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    write_log: Callable[[str, str], bytes]
    is_running: Callable[[str, str], bool]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body is sent after its head, and does not wait 40 ms for a delayed ACK
    server: _Server

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        match url.path.strip("/").split("/"):
            case ["containerLogs", namespace, pod, _]:
                until = time.monotonic() + _LONGEST_S
                while "follow=true" in url.query and self.server.is_running(namespace, pod):
                    if time.monotonic() > until:
                        break
                    time.sleep(_STEP_S)
                status, body = 200, self.server.write_log(namespace, pod)
            case _:
                status, body = 404, b"a simulated kubelet has logs, and nothing else\n"
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Print nothing: the API server logs its own requests."""
