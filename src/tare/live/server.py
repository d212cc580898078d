"""Open the listening socket, serve the campaigns, and shut down cleanly."""

from __future__ import annotations

import errno
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import msgspec
import uvicorn

from tare.core.errors import UsageError, not_written
from tare.core.user_files import read_given
from tare.live.access import Access, host_names
from tare.live.app import make_app
from tare.live.connections import ACCEPTED_AT_ONCE, Connections, Limits, guarded, limit_logs
from tare.live.watch import Hub

_LEAST_TOKEN = 16
_QUEUE = 1024
_LONGEST_HEADER = 32 * 1024


class Listener(msgspec.Struct, frozen=True):
    """An open socket, and who may read through it; `url` is the URL to print, with the token if any."""

    socket: socket.socket
    access: Access
    url: str


def listen(host: str, port: int, token_file: Path | None = None, *, is_for_anybody: bool = False) -> Listener:
    """Open a socket on `host` and `port`; port 0 takes any free port.

    Readers need the token in `token_file`, or a new one if that is None. With `is_for_anybody` they need no
    token; this is only allowed on a loopback address and without a `token_file`. Raises UsageError, which
    says how to fix the problem.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError, OverflowError) as error:
        raise UsageError(f"--host {host}: not an address of this machine ({error})") from error
    is_local = ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
    if is_for_anybody and (token_file or not is_local):
        raise UsageError("--no-token: only without --token-file, and on a loopback address such as 127.0.0.1")
    token = read_token(token_file) if token_file else None if is_for_anybody else secrets.token_urlsafe(24)
    opened = _open(family, (str(address[0]), *address[1:]), host, port)
    port = opened.getsockname()[1]
    names = host_names([host, *([] if is_local else (socket.gethostname(), socket.getfqdn()))])
    shown = _shown(host, str(address[0]))
    url = f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
    return Listener(opened, Access(is_local=is_local, token=token, names=names, port=port), url)


def serve(folders: Sequence[Path], listener: Listener, redacted: Sequence[str] = ()) -> None:
    """Serve the campaigns in `folders` until SIGINT or SIGTERM; the words in `redacted` are never shown."""
    Server(folders, listener, redacted=redacted).run()


class Server(uvicorn.Server):
    """A uvicorn server that ends open event streams on shutdown, and treats an interrupt as a normal end."""

    def __init__(
        self,
        folders: Sequence[Path],
        listener: Listener,
        limits: Limits | None = None,
        redacted: Sequence[str] = (),
    ) -> None:
        self.hub = Hub(folders, redacted=redacted)
        self._listener = listener
        connections = Connections(limits or Limits.of_this_process())
        super().__init__(
            uvicorn.Config(
                make_app(self.hub, listener.access),
                log_level="warning",
                access_log=False,  # the log would contain the token
                server_header=False,
                proxy_headers=False,
                ws="none",
                loop="asyncio",
                http=guarded(connections),
                h11_max_incomplete_event_size=_LONGEST_HEADER,
                backlog=ACCEPTED_AT_ONCE,
                timeout_graceful_shutdown=3,
            )
        )

        limit_logs()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; the kernel's queue is longer than what the event loop accepts at once."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_QUEUE)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until `end` is called or a signal arrives."""
        super().run(sockets or [self._listener.socket])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the server; a second signal ends it at once."""
        self.force_exit = self.should_exit
        self.end()

    def end(self) -> None:
        """End all event streams, then stop the server; may be called from any thread."""
        self.should_exit = True
        self.hub.close()


def read_token(path: Path) -> str:
    """Return the token in the file at `path`.

    If the file does not exist, it is created with a new token, readable only by its owner. Raises UsageError
    if the file cannot be made or read, is readable by others, or holds no valid token; InfrastructureError if
    the disk does not take it.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _known_token(path)
    except OSError as error:
        raise not_written(path, error, "choose another --token-file") from error
    token = secrets.token_urlsafe(24)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{token}\n")
    except OSError as error:
        path.unlink(missing_ok=True)  # what is in it is no token
        raise not_written(path, error, "choose another --token-file") from error
    return token


def _known_token(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        token = read_given(path).decode("ascii").strip()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--token-file {path}: cannot be read as ASCII text: {error}") from error
    if len(token) < _LEAST_TOKEN or not token.isprintable() or " " in token:
        raise UsageError(
            f"--token-file {path}: not a token: at least {_LEAST_TOKEN} signs without spaces; name a new "
            "file, and one will be made"
        )
    if mode & (stat.S_IRWXG | stat.S_IRWXO):  # of a token alone: another file's rights are not for Tare
        raise UsageError(f"--token-file {path}: others may read it; chmod 600 {path}")
    return token


def _open(family: int, address: tuple[str | int, ...], host: str, port: int) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
        opened.listen(128)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} of {host} is taken, perhaps by another 'tare serve'; choose another with "
                "--port, or --port 0 for any that is free"
            ) from error
        if error.errno == errno.EACCES:
            raise UsageError(f"port {port} is for root only; choose one above 1023 with --port") from error
        raise UsageError(f"--host {host} --port {port}: cannot listen there: {error.strerror}") from error
    return opened


def _shown(host: str, address: str) -> str:
    """Return the host for the printed URL; if the server listens on all addresses, this machine's name."""
    if ipaddress.ip_address(address.partition("%")[0]).is_unspecified:
        return socket.getfqdn()
    return f"[{host}]" if ":" in host else host
