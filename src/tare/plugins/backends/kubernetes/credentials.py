"""How a cluster is reached and who we are there, read again whenever that may have changed."""

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
"""What lightkube raises of a kubeconfig that is half written, or odd, and of a plug-in that fails."""


class Credentials:
    """What a kubeconfig, or the account of the pod that we are in, says; as kubectl would find it."""

    def __init__(self, options: KubernetesOptions) -> None:
        self._options = options

    def whose(self) -> str:
        """Return whose token it is, for a message. Raises UsageError where there is none to be had."""
        name = self._chosen().context_name
        return f"the token of context {name}" if name else "the token"

    def client(self, timeout_s: float) -> httpx2.Client:
        """Return a client with what is known by now. Raises UsageError."""
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
