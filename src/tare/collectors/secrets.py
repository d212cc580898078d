"""Keep secrets out of what is recorded: environment variables are denied unless their name is known.

The same patterns filter on the node, in awk, so that a secret does not even reach a file or a wire, and
here once more. They are POSIX extended regular expressions, which Python reads alike.
"""

from __future__ import annotations

import re

ALLOWED = (
    "^(OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|BLIS_|I_MPI_|MPI|OMPI_|OPAL_|PMIX_|PRTE_|PRRTE_|ORTE_|HYDRA_|MPICH_|"
    "MV2_|UCX_|FI_|PSM|HFI_|IBV_|RDMAV_|MLX[45]_|NCCL_|RCCL_|CUDA_VISIBLE|ROCR_|SLURM_|GMX_|WM_PROJECT|"
    "MALLOC_|TZ$|LANG$|LC_|PATH$|LD_LIBRARY_PATH$|LD_PRELOAD$|LD_BIND_NOW$|LIBRARY_PATH$|LOADEDMODULES$|"
    "_LMFILES_$|MODULEPATH$|CONDA_DEFAULT_ENV$|VIRTUAL_ENV$|TMPDIR$)"
)
"""Names of variables that say how a program runs, each from the manual of its library."""

DENIED = (
    "(TOKEN|SECRET|PASS|PASSWD|PWD|KEY|CRED|AUTH|COOKIE|SIGNATURE|CERT|PRIVATE|SESSION|JWT|"
    "(^|_)(PAT|PW|CREDS?)(_|$))"
)
"""What no recorded variable has in its name, in any case, however it begins."""

VOLATILE = (
    "^(SLURM_|PMIX_|PMI_|OMPI_|HYDRA_).*(ID|IDS|PID|PORT|PORTS|NODELIST|NODEID|RANK|ADDR|TIME|HOST|NODE|"
    "NAME|GTIDS|IPADDR|USER|UID|GID|DIR|URI|URI2|NAMESPACE|FD|TOPOLOGY_ADDR|VERSION)$"
)
"""Variables that are of one job or process, and would make every attempt's environment a new one."""

HIDDEN = "(hidden)"

_ALLOWED, _DENIED, _VOLATILE = re.compile(ALLOWED), re.compile(DENIED), re.compile(VOLATILE)
_USER_INFO = re.compile(r"(?<=://)[^/\s@]*@")
_ASSIGNMENT = re.compile(r"([A-Za-z0-9_.-]+)=(\"[^\"]*\"|'[^']*'|\S+)")
_BEARER = re.compile(r"\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
_LOOKS_SECRET = re.compile(  # tokens of well-known makers, JSON Web Tokens, private keys
    r"\b(AKIA[0-9A-Z]{12,}|gh[pousr]_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{8,}|sk-[\w-]{16,}|hf_\w{20,}|"
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY-----.*"
)


def is_told(name: str) -> bool:
    """Return whether the value of the environment variable `name` may be recorded."""
    return bool(_ALLOWED.search(name)) and not _DENIED.search(name.upper()) and not _VOLATILE.search(name)


def redact(text: str) -> str:
    """Return `text` without what looks like a secret: users in URLs, ``password=…``, well-known tokens."""
    text = _USER_INFO.sub(f"{HIDDEN}@", text)
    text = _ASSIGNMENT.sub(lambda found: _assigned(found[1], found[0]), text)
    text = _BEARER.sub(lambda found: f"{found[1]} {HIDDEN}", text)
    return _LOOKS_SECRET.sub(HIDDEN, text)


def _assigned(name: str, text: str) -> str:
    return f"{name}={HIDDEN}" if _DENIED.search(name.upper()) else text
