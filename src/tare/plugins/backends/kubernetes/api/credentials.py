"""Read the address and credentials of a cluster; they are read again whenever they may have changed."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
import ssl
import tempfile
from pathlib import Path
from urllib.request import getproxies

import httpx2
from lightkube.config.client_adapter import BearerAuth, BearerTokenFileAuth
from lightkube.config.kubeconfig import SERVICE_ACCOUNT
from lightkube.core.exceptions import ConfigError

from tare.core.errors import UsageError
from tare.core.user_files import read_given
from tare.plugins.backends.kubernetes.api.exec_plugin import PlugInAuth
from tare.plugins.backends.kubernetes.api.kubeconfig import (
    ClusterEntry,
    Entry,
    UserEntry,
    kubeconfig_files,
    read_entry,
)
from tare.plugins.backends.kubernetes.options import KubernetesOptions

FAULTS = (ConfigError, OSError, ValueError, KeyError, TypeError, AttributeError, ImportError)
"""Errors of a half-written or odd kubeconfig, of a proxy that needs another library, and of certificates."""


class Credentials:
    """The configuration from a kubeconfig, or from our own pod's account; chosen as kubectl would."""

    def __init__(self, options: KubernetesOptions) -> None:
        self._options = options

    def token_name(self) -> str:
        """Return a name of the token, for messages. Raises UsageError where there is no token."""
        name = self._chosen().context
        return f"the token of context {name}" if name else "the token"

    def client(self, timeout_s: float) -> httpx2.Client:
        """Return a client with the current credentials. Raises UsageError."""
        chosen = self._chosen()
        try:
            return _client(chosen, timeout_s)
        except FAULTS as error:
            raise UsageError(f"the cluster's configuration cannot be used: {error}") from error

    def _chosen(self) -> Entry:
        path = self._options.kubeconfig
        if path and not Path(path).expanduser().exists():
            raise UsageError(f"the cluster's configuration cannot be used: {path} is not there")
        files = [Path(path).expanduser()] if path else kubeconfig_files(os.environ, Path.home())
        chosen = read_entry(files, self._options.context) or (None if path else _own_account())
        if chosen is None:
            raise UsageError(
                f"no cluster is configured: {', '.join(map(str, files))} names none; set KUBECONFIG, or "
                "'kubeconfig' in the site file"
            )
        return chosen


def _own_account() -> Entry | None:
    """Return the account of the pod in which Tare runs; None outside of pods."""
    folder, host = Path(SERVICE_ACCOUNT), os.environ.get("KUBERNETES_SERVICE_HOST", "")
    if not host or not (folder / "token").exists():
        return None
    address = f"[{host}]" if ":" in host else host
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    cluster = ClusterEntry(server=f"https://{address}:{port}", certificate_authority=str(folder / "ca.crt"))
    return Entry("", cluster, UserEntry(token_file=str(folder / "token")))


def _client(chosen: Entry, timeout_s: float) -> httpx2.Client:
    cluster, user = chosen.cluster, chosen.user
    tls = _tls(cluster, user)
    client = httpx2.Client(
        base_url=cluster.server,
        verify=tls,
        auth=_auth(cluster, user, tls),
        headers=_impersonation(user),
        timeout=httpx2.Timeout(timeout_s),
        proxy=cluster.proxy_url or None,
        trust_env=not cluster.proxy_url and not _is_direct(cluster.server),
    )
    if cluster.tls_server_name:
        name = cluster.tls_server_name
        client.event_hooks["request"].append(lambda one: one.extensions.update(sni_hostname=name))
    return client


def _tls(cluster: ClusterEntry, user: UserEntry) -> ssl.SSLContext:
    """Return how the cluster's certificate is checked, and what ours is."""
    if cluster.certificate_authority_data:
        text = _decoded(cluster.certificate_authority_data).decode()
        tls = ssl.create_default_context(cadata=text)
    elif cluster.certificate_authority:
        tls = ssl.create_default_context(cafile=cluster.certificate_authority)
    else:
        tls = httpx2.create_ssl_context(verify=not cluster.insecure_skip_tls_verify)
    if user.client_certificate_data or user.client_certificate:
        certificate = _content(user.client_certificate_data, user.client_certificate)
        key = _content(user.client_key_data, user.client_key)
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # readable by its owner alone
            file.write(certificate + b"\n" + key)
            file.flush()
            tls.load_cert_chain(file.name)
    return tls


def _content(data: str | None, path: str | None) -> bytes:
    return _decoded(data) if data else read_given(Path(path or ""))


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except binascii.Error as error:
        raise ValueError(f"a certificate or key is no base64: {error}") from error


def _auth(cluster: ClusterEntry, user: UserEntry, tls: ssl.SSLContext) -> httpx2.Auth | None:
    if user.token_file:
        return BearerTokenFileAuth(user.token_file)
    if user.token:
        return BearerAuth(user.token)
    if user.exec is not None:
        return PlugInAuth(user.exec, cluster, tls)
    if user.username and user.password:
        return httpx2.BasicAuth(user.username, user.password)
    if user.auth_provider:
        raise ValueError("'auth-provider' is gone since Kubernetes 1.26; log in again, for an 'exec' plug-in")
    return None


def _impersonation(user: UserEntry) -> list[tuple[str, str]]:
    """Return the headers by which requests are made as somebody else (kubectl --as)."""
    found = [("Impersonate-User", user.impersonate)] if user.impersonate else []
    found += [("Impersonate-Uid", user.impersonate_uid)] if user.impersonate_uid else []
    found += [("Impersonate-Group", one) for one in user.impersonate_groups or ()]
    extra = (user.impersonate_extra or {}).items()
    return found + [(f"Impersonate-Extra-{key}", value) for key, values in extra for value in values]


def _is_direct(server: str) -> bool:
    """Return whether NO_PROXY has a network (CIDR) with the server's address, as Go's programs read it."""
    try:
        address = ipaddress.ip_address(httpx2.URL(server).host)
    except ValueError:
        return False
    for part in getproxies().get("no", "").split(","):
        try:
            if "/" in part and address in ipaddress.ip_network(part.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False
