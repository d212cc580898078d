"""Where campaigns of a soak run: here, in the lab, over a real ssh, and under the lab's real Slurm."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from backends.real_ssh import sshd
from tare.lab import slurm
from tare.lab.mpi import is_installed, mpi_folder

TARE = (sys.executable, "-P", "-c", "from tare.cli.main import main; main()")
"""The command, as of this source."""


class Place(NamedTuple):
    """A kind of backend, ready to be used.

    `study` is what a study says of it, `seconds` how long a run of the program takes there, and `limit_s` how
    long a session may take. `own` are words of the command lines of what belongs to the place itself.
    """

    name: str
    study: str
    mpi: bool = False
    seconds: float = 0.1
    repeats: int = 12
    limit_s: float = 120
    own: tuple[str, ...] = ()


class Absent(Exception):
    """A place that this machine does not have."""


@contextmanager
def process(folder: Path, env: Mapping[str, str]) -> Iterator[Place]:
    """Yield this machine."""
    yield Place("process", "")


@contextmanager
def lab(folder: Path, env: Mapping[str, str]) -> Iterator[Place]:
    """Yield the lab; each session builds one of its own."""
    if not is_installed("intelmpi", mpi_folder()):
        raise Absent("no Intel MPI here; run: tare lab setup")
    up = call(env, "lab", "up")
    call(env, "lab", "down")
    if up.returncode != 0:
        raise Absent(f"this machine builds no lab: {up.stderr}")
    more = "site: lab\nnodes: 2\nfactors: {network: [host], workload: [soak], size: [1, 2]}\ntimeout: 20 s\n"
    yield Place("lab", more, mpi=True, repeats=6, limit_s=240)


_HOSTS = "site: hosts\nnodes: ['n[1-2]']\nagent: {agent}\nplatforms: {{bare: {{}}}}\n"


@contextmanager
def ssh(folder: Path, env: Mapping[str, str]) -> Iterator[Place]:
    """Yield hosts behind an sshd on loopback, whose files are in `folder`."""
    try:
        with sshd(folder) as agent:
            (folder / "hosts.yaml").write_text(_HOSTS.format(agent=list(agent)))
            more = f"site: {folder}/hosts.yaml\nnodes: 1\n"
            yield Place("ssh", more, repeats=8, own=(str(folder / "sshd_config"),))
            end_server(folder)
    except pytest.skip.Exception as error:
        raise Absent(str(error)) from None


def end_server(folder: Path) -> None:
    """Kill the sshd whose files are in `folder`, and its sessions, which have titles for command lines."""
    config = str(folder / "sshd_config")
    for pid, words in processes().items():
        if words[0].startswith(("sshd:", "sshd-session:")) or ("sshd" in words[0] and config in words):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def start_server(folder: Path) -> None:
    """Start the sshd whose files are in `folder` again."""
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is not None:
        subprocess.Popen([program, "-D", "-f", folder / "sshd_config", "-E", folder / "sshd.log"])


_QUEUE = """\
site: queue
lab: {nodes: 2, networks: {host: {kind: bridge}}}
platforms:
  job: {backend: slurm, launcher: srun, slurm: {login: n1, in_flight: 4, lines: [--overcommit]}}
"""
_DAEMONS = ("munged", "slurmctld", "slurmscriptd", "slurmd", "slurmdbd", "mariadbd", "tare.lab.holder")


@contextmanager
def queue(folder: Path, env: Mapping[str, str]) -> Iterator[Place]:
    """Yield the lab's Slurm, in a lab that outlives campaigns."""
    if os.geteuid() != 0 or slurm.missing():
        raise Absent(f"no Slurm here; {slurm.CURE}")
    (folder / "queue.yaml").write_text(_QUEUE)
    up = call(env, "lab", "up", "--spec", str(folder / "queue.yaml"), "--with", "slurm")
    if up.returncode != 0:
        raise Absent(f"this machine builds no lab with Slurm: {up.stderr}")
    try:
        more = f"site: {folder}/queue.yaml\nnodes: 1\ntimeout: 30 s\n"
        yield Place("slurm", more, mpi=True, repeats=4, limit_s=400, own=_DAEMONS)
    finally:
        call(env, "lab", "down")


PLACES: dict[str, Callable[[Path, Mapping[str, str]], AbstractContextManager[Place]]] = {
    "process": process,
    "lab": lab,
    "ssh": ssh,
    "slurm": queue,
}


def call(env: Mapping[str, str], *words: str, timeout_s: float = 200) -> subprocess.CompletedProcess[str]:
    """Call `tare`, and return how it ended."""
    return subprocess.run(
        [*TARE, *words],
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def processes() -> dict[int, list[str]]:
    """Return the words of each process that can be seen; zombies and threads of the kernel have none."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
            except OSError:
                continue
            if words != [""]:
                found[int(entry.name)] = words
    return found


def can_mount() -> bool:
    """Return whether namespaces of our own can be had, with processes that only we see."""
    words = [*namespaces(), "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which("unshare") is not None and (
        subprocess.run(words, capture_output=True, check=False).returncode == 0
    )


def namespaces() -> tuple[str, ...]:
    """Return the command that starts another in namespaces of its own."""
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    return ("unshare", *user, "--pid", "--fork", "--kill-child", "--mount", "--mount-proc")


def wait_until(is_so: Callable[[], bool], within_s: float) -> bool:
    """Wait until `is_so`, and return whether it became so in time."""
    deadline = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
