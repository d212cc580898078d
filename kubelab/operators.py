"""The MPI Operator of a cluster: the double, or a real one that somebody has built."""

from __future__ import annotations

import sys

from kubelab.control_plane import ControlPlane
from kubelab.limits import DEFAULT, Limits
from kubelab.processes import Daemon

QUICK = Limits(200, 400, 500, 1000)
"""For tests of something else."""
USER = "mpi-operator"
"""Whom the API server knows it as."""
_LOCKS = "default"  # the namespace of the real one's lease, which must be there
_AGAIN = 'while :; do setpriv --pdeathsig KILL -- "$@"; sleep 1; done'
"""As its Deployment would: the real one ends when the API server does not answer for five seconds."""


def operator(cluster: ControlPlane, limits: Limits = DEFAULT) -> Daemon:
    """Return the operator of `cluster`, to be started.

    The real one answers at port 8080 of all addresses whether it is well, and ends where that is taken.
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
