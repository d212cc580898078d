"""Ask a plug-in of a kubeconfig for credentials, as cloud providers' logins need it.

Source: k8s.io/client-go, plugin/pkg/client/auth/exec; client.authentication.k8s.io/v1.
"""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

import httpx2
import msgspec

from tare.core.decoding import decode_json
from tare.core.user_files import read_given
from tare.plugins.backends.kubernetes.api.kubeconfig import ClusterEntry, PlugIn

_PATIENCE_S = 60.0
_LOGIN_S = 600.0
"""How long a login may take that asks the user."""
_MOST_SHOWN = 300


class _Credentials(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _Answer(msgspec.Struct, frozen=True):
    status: _Credentials = _Credentials()


class PlugInAuth(httpx2.Auth):
    """Asks the plug-in once, before the first request; a client with new credentials has a new one.

    A certificate that the plug-in gives is loaded into `tls`. Failures are raised as OSError or ValueError.
    """

    def __init__(self, plug_in: PlugIn, cluster: ClusterEntry, tls: ssl.SSLContext) -> None:
        self._plug_in, self._cluster, self._tls = plug_in, cluster, tls
        self._lock = threading.Lock()
        self._found: _Credentials | None = None

    def sync_auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send a request with the token, if the plug-in gives one."""
        with self._lock:
            self._found = self._found or self._ask()
        if self._found.token:
            request.headers["Authorization"] = f"Bearer {self._found.token}"
        yield request

    def _ask(self) -> _Credentials:
        is_interactive = (
            self._plug_in.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        )
        try:
            found = decode_json(self._run(is_interactive=is_interactive), type=_Answer).status
        except msgspec.DecodeError as error:
            raise ValueError(f"{self._plug_in.command} printed no credentials: {error}") from error
        if not found.token and not found.client_certificate_data:
            raise ValueError(f"{self._plug_in.command} printed neither a token nor a certificate")
        if found.client_certificate_data:
            self._load(found.client_certificate_data, found.client_key_data or "")
        return found

    def _run(self, *, is_interactive: bool) -> bytes:
        """Return what the plug-in prints. Where there is a terminal, it may ask the user there."""
        plug_in = self._plug_in
        asked: dict[str, object] = {"interactive": is_interactive}
        if plug_in.provide_cluster_info:
            asked["cluster"] = _told(self._cluster)
        info = {"apiVersion": plug_in.api_version, "kind": "ExecCredential", "spec": asked}
        env = os.environ | {one.name: one.value for one in plug_in.env or ()}
        env["KUBERNETES_EXEC_INFO"] = msgspec.json.encode(info).decode()
        try:
            done = subprocess.run(
                [plug_in.command, *(plug_in.args or ())],
                env=env,
                stdin=None if is_interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if is_interactive else subprocess.PIPE,
                timeout=_LOGIN_S if is_interactive else _PATIENCE_S,
                check=False,
            )
        except FileNotFoundError as error:
            hint = " ".join(plug_in.install_hint.split())[:_MOST_SHOWN]
            raise OSError(f"{plug_in.command} is not there" + (f"; {hint}" if hint else "")) from error
        except subprocess.TimeoutExpired as error:
            raise OSError(
                f"{plug_in.command} did not end within {error.timeout:g} s; log in first"
            ) from error
        if done.returncode:
            said = " ".join((done.stderr or b"").decode(errors="replace").split())[-_MOST_SHOWN:]
            raise OSError(
                f"{plug_in.command} ended with exit code {done.returncode}" + (f": {said}" if said else "")
            )
        return done.stdout

    def _load(self, certificate: str, key: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # readable by its owner alone
            file.write(f"{certificate}\n{key}\n")
            file.flush()
            self._tls.load_cert_chain(file.name)


def _told(cluster: ClusterEntry) -> dict[str, object]:
    """Return what a plug-in is told of its cluster: certificates themselves, as there is no field for paths.

    Source: client.authentication.k8s.io/v1, Cluster. Raises OSError.
    """
    found: dict[str, object] = {name: value for name, value in msgspec.to_builtins(cluster).items() if value}
    path = found.pop("certificate-authority", None)
    if path and "certificate-authority-data" not in found:
        found["certificate-authority-data"] = base64.b64encode(read_given(Path(str(path)))).decode()
    return found
