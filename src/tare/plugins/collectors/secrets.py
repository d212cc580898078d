"""Keep secrets out of records: a variable's value is recorded only if its name is known to be harmless.

The same rules filter twice: on the node, in awk, so that a secret is never written or sent, and once more
here. Patterns are POSIX extended regular expressions without intervals, which Python and every awk treat
alike. `redact` and the awk function ``hide`` make the same steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tare.core.redaction import HIDDEN, WELL_KNOWN

ALLOWED = (
    "^(OMP_|GOMP_|KMP_|MKL_|OPENBLAS_|BLIS_|I_MPI_|MPI|OMPI_|OPAL_|PMIX_|PRTE_|PRRTE_|ORTE_|HYDRA_|MPICH_|"
    "MV2_|UCX_|FI_|PSM|HFI_|IBV_|RDMAV_|MLX[45]_|NCCL_|RCCL_|CUDA_VISIBLE|ROCR_|SLURM_|GMX_|WM_PROJECT|"
    "MALLOC_|TZ$|LANG$|LC_|PATH$|LD_LIBRARY_PATH$|LD_PRELOAD$|LD_BIND_NOW$|LIBRARY_PATH$|LOADEDMODULES$|"
    "_LMFILES_$|MODULEPATH$|CONDA_DEFAULT_ENV$|VIRTUAL_ENV$|TMPDIR$)"
)
"""Names of variables that control how a program runs, each from the manual of its library."""

DENIED = (
    "(TOKEN|SECRET|PASS|PASSWD|PWD|KEY|CRED|AUTH|COOKIE|SIGNATURE|CERT|PRIVATE|SESSION|JWT|PSK|DSN|"
    "ENV_LIST|EXPORT_ENV|ARGV|COMMENT|(^|[_.-])(PAT|PW|CREDS?)([_.-]|$))"
)
"""Parts of names, in any letter case, that keep a variable from being recorded, also with an allowed prefix.

Those of the second line hold other variables (``mpirun -x``, ``srun --export``) or the user's own text.
"""

VOLATILE = (
    "^(SLURM_|PMIX_|PMI_|OMPI_|HYDRA_).*(ID|IDS|PID|PORT|PORTS|NODELIST|NODEID|RANK|ADDR|TIME|HOST|NODE|"
    "NAME|GTIDS|IPADDR|USER|UID|GID|DIR|URI|URI2|NAMESPACE|FD|TOPOLOGY_ADDR|VERSION)$|"
    "^SLURM_(STEP_|CPU_BIND|CONF$|WORKING_CLUSTER$)"
)
"""Variables that belong to one job or process. They would make every attempt's environment different."""

_SHORTEST_TOKEN = 16

AWK = rf"""
function is_denied(name) {{ return toupper(name) ~ /{DENIED}/ }}
function hide(text,   out, word, at) {{
  gsub(/[\001-\037\177]/, " ", text)
  gsub(/:\/\/[^ ]*@/, "://{HIDDEN}@", text)
  sub(/-----BEGIN .*/, "{HIDDEN}", text)
  out = ""
  while (match(text, "[^ /@:=,]+:[^ /@,]+@")) {{
    at = RSTART + RLENGTH
    word = substr(text, at, 3) == "sha" ? substr(text, RSTART, RLENGTH) : "{HIDDEN}@"
    out = out substr(text, 1, RSTART - 1) word
    text = substr(text, at)
  }}
  text = out text
  out = ""
  while (match(text, /[A-Za-z0-9_.-]+/)) {{
    word = substr(text, RSTART, RLENGTH)
    out = out substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    if (word ~ /{WELL_KNOWN}/ && length(word) >= {_SHORTEST_TOKEN}) {{ out = out "{HIDDEN}"; continue }}
    out = out word
    at = before_secret(word, text)
    if (at < 0) continue
    out = out substr(text, 1, at)
    text = substr(text, at + 1)
    if (match(text, /^"[^"]*"?/) || match(text, /^\047[^\047]*\047?/) || match(text, /^[^ ]+/)) {{
      out = out "{HIDDEN}"
      text = substr(text, RLENGTH + 1)
    }}
  }}
  return out text
}}
function before_secret(word, after) {{
  if (tolower(word) ~ /^(bearer|basic)$/) return match(after, /^[ ]+/) ? RLENGTH : -1
  if (word == "sshpass") return match(after, /^[ ]+-p[ ]*/) ? RLENGTH : -1
  if (!is_denied(word)) return -1
  if (match(after, /^[\\"\047]*[ ]*[=:][ ]*/))
    return index(substr(after, 1, RLENGTH), ":") && substr(after, RLENGTH + 1, 1) == "/" ? -1 : RLENGTH
  if (word ~ /^-/ && match(after, /^[ ]+/)) return substr(after, RLENGTH + 1, 1) == "-" ? -1 : RLENGTH
  return -1
}}
"""
"""The function ``hide(text)`` for awk, which treats a line as `redact` does."""

_ALLOWED, _DENIED, _VOLATILE = re.compile(ALLOWED), re.compile(DENIED), re.compile(VOLATILE)
_TOKEN = re.compile(WELL_KNOWN)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_URL_USER = re.compile(r"://[^ ]*@")
_PRIVATE_KEY = re.compile(r"-----BEGIN .*")
_USER = re.compile(r"[^ /@:=,]+:[^ /@,]+@(?!sha)")  # user:password@registry, not name:tag@sha256:…
_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_VALUE = re.compile(r"""("[^"]*"?|'[^']*'?|[^ ]+)""")
_ASSIGNMENT = re.compile(r"""[\\"']*[ ]*(=[ ]*|:[ ]*(?![ /]))""")  # not a list of folders, as in PATH
_OPTION = re.compile(r"[ ]+(?![ -])")
_BLANKS = re.compile(r"[ ]+")
_OF_SSHPASS = re.compile(r"[ ]+-p[ ]*")


def is_recordable(name: str) -> bool:
    """Return whether the value of the environment variable `name` may be recorded."""
    return bool(_ALLOWED.search(name)) and not _is_denied(name) and not _VOLATILE.search(name)


def redact(text: str) -> str:
    """Return `text` on one line, without anything that looks like a secret.

    Removed are: users in URLs and before hosts; values that are assigned to a name like that of a secret, or
    that follow such an option of a command; and tokens in well-known formats.
    """
    text = _URL_USER.sub(f"://{HIDDEN}@", _CONTROL.sub(" ", text))
    text = _USER.sub(f"{HIDDEN}@", _PRIVATE_KEY.sub(HIDDEN, text))
    return "".join(_without_secrets(text))


def _without_secrets(text: str) -> Iterator[str]:
    at = 0
    while word := _WORD.search(text, at):
        if _TOKEN.match(word[0]) and len(word[0]) >= _SHORTEST_TOKEN:
            yield text[at : word.start()] + HIDDEN
            at = word.end()
            continue
        before = _before_secret(word[0], text, word.end())
        value = _VALUE.match(text, before.end()) if before else None
        if value:
            yield text[at : value.start()] + HIDDEN
            at = value.end()
        else:
            yield text[at : word.end()]
            at = word.end()
    yield text[at:]


def _before_secret(word: str, text: str, at: int) -> re.Match[str] | None:
    """Return the match between `word`, which ends at `at`, and the secret after it.

    Return None without a secret.
    """
    if word.lower() in {"bearer", "basic"}:
        return _BLANKS.match(text, at)
    if word == "sshpass":
        return _OF_SSHPASS.match(text, at)
    if not _is_denied(word):
        return None
    return _ASSIGNMENT.match(text, at) or (_OPTION.match(text, at) if word.startswith("-") else None)


def _is_denied(name: str) -> bool:
    return bool(_DENIED.search(name.upper()))
