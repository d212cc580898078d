"""What happens to a campaign while it runs. Adding a fault is one function with `@fault`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from soak.campaigns import SANE, Session
from soak.places import call, end_server, processes, start_server, wait_until
from tare.storage.journal import is_held

_MOST_STARTS = 10
_KILLED, _INTERRUPTED, _INFRASTRUCTURE = -signal.SIGKILL, 130, 3


class Fault(NamedTuple):
    """A kind of fault: how it is inflicted, how `tare run` may then end, and the places that have it."""

    name: str
    inflict: Callable[[Session], None]
    codes: frozenset[int]
    places: tuple[str, ...]


FAULTS: dict[str, Fault] = {}


def fault(
    name: str, *codes: int, places: tuple[str, ...] = ()
) -> Callable[[Callable[[Session], None]], Callable[[Session], None]]:
    """Return what registers a function as a fault after which `tare run` may end with 0, 1 or `codes`."""

    def register(inflict: Callable[[Session], None]) -> Callable[[Session], None]:
        FAULTS[name] = Fault(name, inflict, SANE | set(codes), places)
        return inflict

    return register


def kill(pids: Iterable[int], number: int = signal.SIGKILL) -> None:
    """Send a signal to each of `pids` that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@fault("nothing")
def nothing(session: Session) -> None:
    """Let it be."""


@fault("tare killed", _KILLED)
def tare_killed(session: Session) -> None:
    """Kill `tare run` alone: its guard cleans up."""
    session.runner.kill()


@fault("guard killed")
def guard_killed(session: Session) -> None:
    """Kill the guard alone: `tare run` goes on."""
    kill(session.guards())


@fault("tare and guard killed", _KILLED)
def both_killed(session: Session) -> None:
    """Kill the guard, then `tare run`: what it started is alive until the next session."""
    guards = session.guards()
    kill([*guards, session.runner.pid])


@fault("ranks killed")
def ranks_killed(session: Session) -> None:
    """Kill the program."""
    kill(session.ranks())


@fault("tare and ranks killed", _KILLED)
def tare_and_ranks_killed(session: Session) -> None:
    """Kill `tare run` and the program."""
    kill([session.runner.pid, *session.ranks()])


@fault("all killed", _KILLED)
def all_killed(session: Session) -> None:
    """Kill the guard, the program and `tare run`."""
    kill([*session.guards(), *session.ranks(), session.runner.pid])


@fault("SIGTERM", _INTERRUPTED, -signal.SIGTERM)
def terminated(session: Session) -> None:
    """End it as systemd and Slurm do."""
    kill([session.runner.pid], signal.SIGTERM)


@fault("SIGINT", _INTERRUPTED, -signal.SIGINT)
def interrupted(session: Session) -> None:
    """End it as Ctrl-C does."""
    kill([session.runner.pid], signal.SIGINT)


@fault("SIGINT, twice", _INTERRUPTED, -signal.SIGINT)
def interrupted_twice(session: Session) -> None:
    """End it as somebody does who does not wait."""
    kill([session.runner.pid], signal.SIGINT)
    time.sleep(session.campaign.chance.uniform(0, 0.2))
    kill([session.runner.pid], signal.SIGINT)


@fault("SIGHUP", _INTERRUPTED, -signal.SIGHUP)
def hung_up(session: Session) -> None:
    """End it as a terminal does that is closed."""
    kill([session.runner.pid], signal.SIGHUP)


@fault("suspended")
def suspended(session: Session) -> None:
    """Stop it for a while, as Ctrl-Z and fg do."""
    kill([session.runner.pid], signal.SIGSTOP)
    time.sleep(session.campaign.chance.uniform(0.2, 1))
    kill([session.runner.pid], signal.SIGCONT)


@fault("a second tare", _INFRASTRUCTURE)  # where it comes first, it is the first that is refused
def second_tare(session: Session) -> None:
    """Start another on the same campaign, which must refuse."""
    campaign = session.campaign
    was_first = not is_held(campaign.journal)
    second = campaign.tare("run", str(campaign.study), "--out", str(campaign.folder))
    is_refused = second.returncode == 3 and "another tare is running" in second.stderr
    if not session.is_over and not was_first:
        campaign.tally.check("a second tare is refused", is_refused, second.stdout + second.stderr)
    campaign.look_at(second.stderr, "a second tare")


@fault("readers")
def readers(session: Session) -> None:
    """Look at the campaign while it runs."""
    campaign = session.campaign
    for words in (("status",), ("compare",), ("export",), ("verify",)):
        campaign.tare(*words, str(campaign.folder))


@fault("disk filled", _INFRASTRUCTURE)
def disk_filled(session: Session) -> None:
    """Fill the disk, and free it when the session has ended."""
    with _filled(session.campaign.disk):
        wait_until(lambda: session.is_over, session.campaign.place.limit_s)


@fault("disk filled for a while", _INFRASTRUCTURE)
def disk_filled_for_a_while(session: Session) -> None:
    """Fill the disk, and free it while the session goes on."""
    with _filled(session.campaign.disk):
        time.sleep(session.campaign.chance.uniform(0.05, 0.5))


@fault("inodes used up", _INFRASTRUCTURE)
def inodes_used_up(session: Session) -> None:
    """Make files until there can be no more, and remove them when the session has ended."""
    folder = session.campaign.disk / "many"
    folder.mkdir()
    with contextlib.suppress(OSError):
        for number in range(10**6):
            (folder / str(number)).touch()
    wait_until(lambda: session.is_over, session.campaign.place.limit_s)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


@contextlib.contextmanager
def _filled(disk: Path) -> Iterator[None]:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(65536 if os.statvfs(disk).f_bavail > 16 else 4096))
    try:
        yield
    finally:
        filler.unlink()


@fault("link down", _INFRASTRUCTURE, places=("lab",))
def link_down(session: Session) -> None:
    """Take a node's link down, and up again after some seconds."""
    _set_link("down")
    wait_until(lambda: session.is_over, session.campaign.chance.uniform(1, 30))
    _set_link("up")


@fault("a node dies", _INFRASTRUCTURE, _INTERRUPTED, places=("lab",))
def node_dies(session: Session) -> None:
    """Kill what holds a node of the lab."""
    kill(_holders()[-1:])


@fault("the lab dies", _INFRASTRUCTURE, _INTERRUPTED, places=("lab",))
def lab_dies(session: Session) -> None:
    """Kill all that holds the lab."""
    kill(_holders())


def _holders() -> list[int]:
    """Return what holds the session's own lab, its nodes last; not Slurm's, which outlives sessions."""
    return sorted(
        pid
        for pid, words in processes().items()
        if "tare.lab.holder" in words and Path(words[-1]).name.startswith("lab.")
    )


def _set_link(state: str) -> None:
    for pid in _holders()[-1:]:
        words = ["nsenter", "-t", str(pid), "--net", "ip", "link", "set", "fab0", state]
        subprocess.run(words, check=False, capture_output=True)


def _in_lab(session: Session, host: str, *words: str) -> None:
    call(session.campaign.env, "lab", "exec", host, "--", *words)


@fault("sshd restarted", _INFRASTRUCTURE, places=("ssh",))
def sshd_restarted(session: Session) -> None:
    """Kill the server with its sessions, and start it again after a moment."""
    folder = Path(session.campaign.place.own[0]).parent
    end_server(folder)
    time.sleep(session.campaign.chance.uniform(0, 1))
    start_server(folder)


@fault("connections killed", _INFRASTRUCTURE, places=("ssh",))
def connections_killed(session: Session) -> None:
    """Kill ssh on this side."""
    kill(
        pid
        for pid, words in processes().items()
        if words[0].rpartition("/")[2].startswith("ssh") and "-F" in words
    )


@fault("slurmctld restarted", _INFRASTRUCTURE, places=("slurm",))
def controller_restarted(session: Session) -> None:
    """Kill Slurm's controller, and start it again from what it has saved.

    Of jobs that began since, it starts a second time those that it had not saved: slurmd refuses, and the
    node is drained, which somebody must mend.
    """
    _restart_daemon(session, "slurmctld", "n1")
    for _ in range(20):
        if wait_until(lambda: session.is_over, 5):
            break
        _resume_nodes(session)
    _resume_nodes(session)


@fault("slurmd restarted", _INFRASTRUCTURE, places=("slurm",))
def slurmd_restarted(session: Session) -> None:
    """Kill the daemon of a node with its steps, and start it again."""
    session.campaign.lost_daemons = True
    _restart_daemon(session, "slurmd", session.campaign.chance.choice(("n1", "n2")))


def _resume_nodes(session: Session) -> None:
    found = call(session.campaign.env, "lab", "exec", "n1", "--", "sinfo", "--noheader", "-N", "-o", "%N %T")
    for node, state in (line.split() for line in found.stdout.splitlines()):
        if state.startswith("drain"):
            _in_lab(session, "n1", "scontrol", "update", f"nodename={node}", "state=resume")


def _restart_daemon(session: Session, name: str, host: str) -> None:
    found = {
        pid: words
        for pid, words in processes().items()
        if words[0].rpartition("/")[2] == name and (name == "slurmctld" or host in words)
    }
    kill(found)
    if name == "slurmd":
        kill(pid for pid, words in processes().items() if words[0].startswith("slurmstepd"))
    time.sleep(session.campaign.chance.uniform(0.2, 2))
    for _ in range(_MOST_STARTS):  # its port may still be held
        for words in found.values():
            _in_lab(session, host, *[word for word in words if word != "-i"])
        if name != "slurmctld" or wait_until(lambda: _answers(session), 10):
            break


def _answers(session: Session) -> bool:
    return call(session.campaign.env, "lab", "exec", "n1", "--", "scontrol", "ping").returncode == 0
