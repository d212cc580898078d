"""The host's variables that a rank in a container gets: a list of permitted names, and nothing else.

A shell applies the list on the host, because only there are the variables from the rank's MPI known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

START = "^(PMI|PALS_|OMPI_|OPAL_|ORTE_|PRTE_|PRRTE_|HYDRA_|HYDI_|TARE_)"
"""Prefixes of variables by which an MPI gives a rank its number and its server's address.

A key among them is valid for this job only.
"""

PASSED = (
    f"{START}|"
    "^(MPI|I_MPI_|MV2_|MVP_|SLURM_|FLUX_|UCX_|UCC_|FI_|PSM|HFI_|IBV_|RDMAV_|MLX[45]_|HCOLL_|SHARP_|"
    "SLINGSHOT_|NCCL_|RCCL_|CUDA_|HIP_|ROCR_|NVIDIA_|ZE_|GPU_|OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|BLIS_|GMX_|"
    "MALLOC_|LC_|LD_|GLIBC_TUNABLES$|PATH$|HOME$|USER$|LOGNAME$|TMPDIR$|TZ$|LANG$|TERM$)"
)
"""Names of variables that control a rank's start, communication and computation, from libraries' manuals."""

WITHHELD = "(SECRET|TOKEN|PASSW|CREDENTIAL|JWT|COOKIE|(API|ACCESS|PRIVATE|AUTH)_?KEY)"
"""Parts of names that keep a variable out, unless the name begins as in `START`.

Slurm's own SLURM_JWT is kept out.
"""

PROXIES = "^([Hh][Tt][Tt][Pp][Ss]?|[Aa][Ll][Ll]|[Nn][Oo])_[Pp][Rr][Oo][Xx][Yy]$"

_NAME = "^[A-Za-z_][A-Za-z0-9_]*$"


def print_passed(names: Iterable[str], *, without: Iterable[str] = ()) -> str:
    """Return shell text whose value is ``--env=NAME`` for each variable that passes (docker-run(1)).

    `names` always pass: the study, the platform and the network set them. Variables in `without` do not pass,
    unless they are in `names`.
    """
    given = sorted(set(names))
    kept = "".join(f' && n != "{name}"' for name in sorted(set(without) - set(given)))
    return _awk(f'if (n ~ /{_NAME}/ && ({_condition(given)}){kept}) print "--env=" n')


def exec_without_others(names: Iterable[str], *, more: Iterable[str] = ()) -> str:
    """Return shell text that runs the command in its arguments without the variables that do not pass.

    `names` pass, and variables that match a pattern of `more`. Without awk, nothing starts.
    """
    others = _awk(f'if (!({_condition(names, more)})) print "-u" n')  # env(1)
    return f'others={others} || exit 127; set -f; IFS=\'\n\'; exec env $others "$0" "$@"'


def _condition(names: Iterable[str], more: Iterable[str] = ()) -> str:
    """Return an awk expression that is true if the variable called ``n`` passes."""
    plain = sorted({name for name in names if re.fullmatch(_NAME[1:-1], name)})
    patterns = "|".join((PASSED, *more))
    condition = f"n ~ /{patterns}/ && (toupper(n) !~ /{WITHHELD}/ || n ~ /{START}/)"
    return f"n ~ /^({'|'.join(plain)})$/ || {condition}" if plain else condition


def _awk(statement: str) -> str:
    return f"$(awk 'BEGIN {{ for (n in ENVIRON) {statement} }}')"
