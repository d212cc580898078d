"""Read the address and credentials of a cluster; they are read again whenever they may have changed."""

from __future__ import annotations

import httpx2
import yaml
from lightkube import KubeConfig
from lightkube.config.client_adapter import Client, ConnectionParams
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError

from tare.core.errors import UsageError
from tare.plugins.backends.kubernetes.options import KubernetesOptions

FAULTS = (ConfigError, OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError)
"""Errors of lightkube for a half-written or odd kubeconfig, and for a plug-in that fails."""


class Credentials:
    """The configuration from a kubeconfig, or from our own pod's account; chosen as kubectl would."""

    def __init__(self, options: KubernetesOptions) -> None:
        self._options = options

    def token_name(self) -> str:
        """Return a name of the token, for messages. Raises UsageError where there is no token."""
        name = self._chosen().context_name
        return f"the token of context {name}" if name else "the token"

    def client(self, timeout_s: float) -> httpx2.Client:
        """Return a client with the current credentials. Raises UsageError."""
        try:
            return Client(self._chosen(), ConnectionParams(timeout=httpx2.Timeout(timeout_s)))
        except FAULTS as error:
            raise UsageError(f"the cluster's configuration cannot be used: {error}") from error

    def _chosen(self) -> SingleConfig:
        path = self._options.kubeconfig
        try:
            config = KubeConfig.from_file(path) if path else KubeConfig.from_env()
            chosen = config.get(self._options.context)
        except FAULTS as error:
            raise UsageError(f"the cluster's configuration cannot be used: {error}") from error
        if chosen is None:
            raise UsageError("no cluster is configured; set KUBECONFIG, or 'kubeconfig' in the site file")
        return chosen
