"""Only a user who may raise the priority of sessions is said to: others would wait for it in vain."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tare.plugins.backends.process import priority

_NOBODY = [
    *("prlimit", "--nice=0:0"),  # more would let any user raise priorities
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"),
]
_KERNEL = ["sh", "-c", "echo -20 >/proc/self/autogroup"]
_TRIAL = ["/usr/bin/python3", "-I", "-S", "-c", priority.TRIAL]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists() or not shutil.which("/usr/bin/python3"),
    reason="no autogroups, or no Python of the system that another user may run",
)


def _is_allowed(words: Sequence[str]) -> bool:
    """Return whether a command in a session of its own succeeds."""
    done = subprocess.run(words, start_new_session=True, capture_output=True, check=False)
    return done.returncode == 0


def test_a_trial_ends_as_the_kernel_decides() -> None:
    assert _is_allowed(_TRIAL) == _is_allowed(_KERNEL) == priority.may_boost()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_an_ordinary_user_is_told_that_he_may_not() -> None:
    assert not _is_allowed([*_NOBODY, *_KERNEL])
    assert not _is_allowed([*_NOBODY, *_TRIAL])
