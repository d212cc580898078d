"""The MPI Operator of a cluster: the double, or a real one that somebody has built."""

from __future__ import annotations

import sys

from kubelab.control_plane import ControlPlane
from kubelab.processes import Daemon

USER = "mpi-operator"
"""Whom the API server knows it as."""
_LOCKS = "default"  # the namespace of the real one's lease, which must be there


def operator(cluster: ControlPlane) -> Daemon:
    """Return the operator of `cluster`, to be started.

    The real one answers at port 8080 of all addresses whether it is well, and ends where that is taken.
    """
    kubeconfig = cluster.kubeconfig_for(USER, ["system:masters"])
    real = cluster.prebuilt.operator
    if real is None:
        command = [sys.executable, "-m", "kubelab.operator", "--kubeconfig", str(kubeconfig)]
    else:
        command = [str(real), "-kubeConfig", str(kubeconfig), "-lock-namespace", _LOCKS]
    return Daemon(USER, command, cluster.folder / f"{USER}.log", cluster.inside)
