"""What is taken for a process that a job left, by the shell text that looks for them on nodes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import until
from tare.plugins.backends.ownership.stray_processes import sweep_script


class Orphan:
    """A copy of sleep(1) called `name`, without environment, parent or terminal, in `folder`."""

    def __init__(self, name: str, folder: Path) -> None:
        program = folder.parent / name
        shutil.copy(shutil.which("sleep") or "", program)
        script = f"env -i setsid '{program}' 60 >/dev/null 2>&1 & echo $!"
        started = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, check=True)
        self.pid = int(started.stdout)
        until(lambda: Path(f"/proc/{self.pid}/comm").read_text().strip() == name)

    def is_alive(self) -> bool:
        with contextlib.suppress(OSError):
            return self._stat()[0] != "Z"
        return False

    def parent(self) -> int:
        return int(self._stat()[1])

    def _stat(self) -> list[str]:
        """Return the fields of proc_pid_stat(5) from the third, the state, on."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    return folder


@pytest.fixture
def orphans(folder: Path) -> Iterator[tuple[Orphan, Orphan]]:
    both = Orphan("program", folder), Orphan("slurmstepd", folder)
    yield both
    for one in both:
        if one.is_alive():
            os.kill(one.pid, signal.SIGKILL)


def test_the_daemon_that_starts_a_step_in_the_folder_is_not_ended(
    folder: Path, orphans: tuple[Orphan, Orphan]
) -> None:
    """A node's sweep saw that of another node of the same machine, and its srun waited for two minutes."""
    program, daemon = orphans
    if program.parent() != 1:
        pytest.skip("orphans of this test have another parent than process 1")
    began_up_s = time.clock_gettime(time.CLOCK_BOOTTIME) - 30
    script = sweep_script("tare:no:such:job", str(folder), 30, began_up_s)
    swept = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert f"tare-found {program.pid} " in swept.stdout
    assert not program.is_alive()
    assert daemon.is_alive()
    assert str(daemon.pid) not in swept.stdout
