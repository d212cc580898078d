"""Start the MPI Operator of a cluster: the double, or a real one that was built before."""

from __future__ import annotations

import sys

from kubelab.control_plane import ControlPlane
from kubelab.limits import DEFAULT, Limits
from kubelab.processes import Daemon

QUICK = Limits(200, 400, 500, 1000)
"""For tests that do not test these limits."""
USER = "mpi-operator"
"""The operator's user name on the API server."""
_LOCKS = "default"  # the namespace of the real operator's lease, which must exist
_AGAIN = 'while :; do setpriv --pdeathsig KILL -- "$@"; sleep 1; done'
"""Restart it as its Deployment would: it ends when the API server does not answer for five seconds."""


def operator(cluster: ControlPlane, limits: Limits = DEFAULT) -> Daemon:
    """Return the operator of `cluster`, not started yet.

    The real one serves health checks on port 8080 of all addresses, and ends if that port is in use.
    """
    kubeconfig = cluster.kubeconfig_for(USER, ["system:masters"])
    real = cluster.prebuilt.operator
    if real is None:
        command = [sys.executable, "-m", "kubelab.operator", "--kubeconfig", str(kubeconfig)]
        command += limits.options()
    else:
        command = ["sh", "-c", _AGAIN, "sh", str(real), "-kubeConfig", str(kubeconfig)]
        command += ["-lock-namespace", _LOCKS, *limits.options()]
    return Daemon(USER, command, cluster.folder / f"{USER}.log", cluster.inside)
