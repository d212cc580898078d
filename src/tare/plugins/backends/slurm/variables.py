"""Keep variables of the user's shell from changing what Tare asks Slurm. Pure.

sbatch(1): "environment variables will override any options set in a batch script".
Those of squeue(1) and sinfo(1) leave out jobs and nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_DIRECTIVE = re.compile(r"^#SBATCH --([a-z-]+)", re.MULTILINE)
_NEVER = ("SBATCH_ARRAY_INX", "SBATCH_WAIT", "SBATCH_ERROR", "SBATCH_INPUT")
"""They would make an array of a job, wait for its end, or part its messages from its output."""
_OTHER_NAMES = {
    "time": ("SBATCH_TIMELIMIT",),
    "no-requeue": ("SBATCH_REQUEUE",),
    "mem": ("SBATCH_MEM_PER_NODE", "SBATCH_MEM_PER_CPU", "SBATCH_MEM_PER_GPU"),
    "threads-per-core": ("SBATCH_THREADS_PER_CORE", "SBATCH_HINT", "SLURM_HINT"),
}
_FILTERS = (
    *(f"SQUEUE_{name}" for name in ("ACCOUNT", "LICENSES", "NAMES", "PARTITION", "QOS", "USERS")),
    "SINFO_PARTITION",
)


def submitting(argv: Sequence[str], script: str) -> list[str]:
    """Return the command without variables that would override what `script`, a text, states."""
    return _without([*_NEVER, *_overriding(script)], argv)


def asking(argv: Sequence[str]) -> list[str]:
    """Return the command without variables that would leave out jobs or nodes."""
    return _without(_FILTERS, argv)


def _overriding(script: str) -> Iterator[str]:
    for option in dict.fromkeys(_DIRECTIVE.findall(script)):
        yield from _OTHER_NAMES.get(option, (f"SBATCH_{option.upper().replace('-', '_')}",))


def _without(names: Sequence[str], argv: Sequence[str]) -> list[str]:
    return ["env", *(f"--unset={name}" for name in names), *argv]
