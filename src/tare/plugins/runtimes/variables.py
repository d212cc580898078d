"""Which variables of its host a rank gets in a container: a list of what may pass, and nothing else.

A shell decides that on the host, since only there is known what the MPI gave to this rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

START = "^(PMI|PALS_|OMPI_|OPAL_|ORTE_|PRTE_|PRRTE_|HYDRA_|HYDI_|TARE_)"
"""By these an MPI tells a rank which one it is, and whom to ask; a key among them is of this job alone."""

PASSED = (
    f"{START}|"
    "^(MPI|I_MPI_|MV2_|MVP_|SLURM_|FLUX_|UCX_|UCC_|FI_|PSM|HFI_|IBV_|RDMAV_|MLX[45]_|HCOLL_|SHARP_|"
    "SLINGSHOT_|NCCL_|RCCL_|CUDA_|HIP_|ROCR_|NVIDIA_|ZE_|GPU_|OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|BLIS_|GMX_|"
    "MALLOC_|LC_|LD_|GLIBC_TUNABLES$|PATH$|HOME$|USER$|LOGNAME$|TMPDIR$|TZ$|LANG$|TERM$)"
)
"""Names of variables that say how a rank starts, talks and computes, each from the manual of its library."""

WITHHELD = "(SECRET|TOKEN|PASSW|CREDENTIAL|JWT|COOKIE|(API|ACCESS|PRIVATE|AUTH)_?KEY)"
"""What no name has that passes, unless it begins as `START` says: Slurm's own SLURM_JWT is one."""

PROXIES = "^([Hh][Tt][Tt][Pp][Ss]?|[Aa][Ll][Ll]|[Nn][Oo])_[Pp][Rr][Oo][Xx][Yy]$"

_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"


def print_passed(names: Iterable[str], *, without: Iterable[str] = ()) -> str:
    """Return shell text whose value is ``--env=NAME`` for each variable that passes (docker-run(1)).

    `names` pass whatever they are called: what study, platform and network set. None of `without` does,
    unless it is one of them.
    """
    given = sorted(set(names))
    kept = "".join(f' && n != "{name}"' for name in sorted(set(without) - set(given)))
    return _awk(f'if (n ~ /{_NAME}/ && ({_condition(given)}){kept}) print "--env=" n')


def exec_without_others(names: Iterable[str], *, more: Iterable[str] = ()) -> str:
    """Return shell text that becomes the command of its arguments, without variables that do not pass.

    `names` pass, and what matches a pattern of `more`. Without awk nothing starts.
    """
    others = _awk(f'if (!({_condition(names, more)})) print "-u" n')  # env(1)
    return f'others={others} || exit 127; set -f; IFS=\'\n\'; exec env $others "$0" "$@"'


def _condition(names: Iterable[str], more: Iterable[str] = ()) -> str:
    """Return an awk expression: may the variable called ``n`` pass?"""
    plain = sorted({name for name in names if re.fullmatch(_NAME[1:-1], name)})
    patterns = "|".join((PASSED, *more))
    condition = f"n ~ /{patterns}/ && (toupper(n) !~ /{WITHHELD}/ || n ~ /{START}/)"
    return f"n ~ /^({'|'.join(plain)})$/ || {condition}" if plain else condition


def _awk(statement: str) -> str:
    return f"$(awk 'BEGIN {{ for (n in ENVIRON) {statement} }}')"
