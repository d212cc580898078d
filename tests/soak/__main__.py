"""`python -m soak`: campaigns under random faults, and a table at the end; exit code 1 if books differ.

It works in namespaces of its own (unshare(1)), where it sees no other processes and may mount a disk to fill;
where none can be had, what needs them is left out. The folder of a campaign that does not balance is kept.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from soak.leftovers import MARK
from soak.places import PLACES, Absent, Place, can_mount, namespaces
from soak.soaking import Soak, table

_DISK = "size=48m,nr_inodes=20000"


def main() -> int:
    """Do as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="(default: 60)")
    parser.add_argument(
        "--seed", type=int, help="repeats the choices of an earlier soak (default: a random one)"
    )
    parser.add_argument("--campaigns", type=int, help="so many campaigns, however long they take")
    parser.add_argument("--faults", type=int, default=8, help="in each campaign (default: %(default)s)")
    parser.add_argument("--places", default=",".join(PLACES), help="(default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if unknown := set(asked.places.split(",")) - set(PLACES):
        parser.error(f"no such place: {', '.join(sorted(unknown))}; use some of {', '.join(PLACES)}")
    if not asked.alone and can_mount():
        # A shell is the first process of these namespaces: it takes leave of what is left without a parent.
        inner = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-m", "soak", "--alone", *sys.argv[1:]]
        return subprocess.call([*namespaces(), *inner])
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):  # tare must hear them, also under nohup(1)
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)
    seed = random.SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
    _say(f"soak: seed {seed}" + ("" if asked.alone else "; without namespaces: no full disks"))
    return _soak(asked, seed)


def _soak(asked: argparse.Namespace, seed: int) -> int:
    home = Path(tempfile.mkdtemp(prefix="tare-soak-", dir="/tmp"))
    env = {**os.environ, MARK: home.name}
    for name, folder in (
        ("TMPDIR", "tmp"),
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_STATE_HOME", "state"),
        ("", "disk"),
    ):
        (home / folder).mkdir()
        env |= {name: str(home / folder)} if name else {}
    if asked.alone:
        subprocess.run(["mount", "-t", "tmpfs", "-o", _DISK, "tmpfs", home / "disk"], check=True)
    soak = Soak(home, home / "disk", env, seed, is_alone=asked.alone)
    with ExitStack() as stack:
        places = _places(asked.places.split(","), home, env, stack)
        ends_at = time.monotonic() + asked.minutes * 60
        while places and _goes_on(soak, asked.campaigns, ends_at):
            for place in places:
                if _goes_on(soak, asked.campaigns, ends_at):
                    soak.campaign(place, asked.faults, _say)
    _say("", *table(soak))
    is_wrong = any(soak.tally.wrong.values()) or not sum(soak.campaigns.values())
    if is_wrong:
        _say("", f"the books do not balance; kept: {', '.join(map(str, soak.kept))}")
        return 1
    _say("", "the books balance")
    if asked.alone:
        subprocess.run(["umount", "-l", home / "disk"], check=False)
    subprocess.run(["rm", "-rf", home], check=False)
    return 0


def _goes_on(soak: Soak, n_campaigns: int | None, ends_at: float) -> bool:
    if n_campaigns is not None:
        return sum(soak.campaigns.values()) < n_campaigns
    return time.monotonic() < ends_at


def _places(names: list[str], home: Path, env: dict[str, str], stack: ExitStack) -> list[Place]:
    found: list[Place] = []
    for name in names:
        (home / name).mkdir(exist_ok=True)
        try:
            found.append(stack.enter_context(PLACES[name](home / name, env)))
        except Absent as error:
            _say(f"{name} is left out: {error}")
    return found


def _say(*lines: str) -> None:
    with suppress(BrokenPipeError):
        print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
