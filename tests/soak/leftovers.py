"""What a campaign left behind on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from soak.campaigns import Soaked
from soak.places import call, processes, wait_until
from tare.app.executors import campaign_hash
from tare.plugins.backends.process import control_groups

_PATIENCE_S = 30
MARK = "TARE_SOAK"
"""The variable that everything inherits which a soak starts."""


class Before(NamedTuple):
    """What there was before a campaign began."""

    pids: frozenset[int]
    mounts: frozenset[str]
    temporary: frozenset[str]


def look(env: Mapping[str, str], is_alone: bool) -> Before:
    """Return what there is now. `is_alone` says that all processes which can be seen are this soak's."""
    return Before(frozenset(_ours(env, is_alone)), frozenset(_mounts()), frozenset(_files(env)))


def check_left(campaign: Soaked, before: Before, *, is_alone: bool) -> None:
    """Check that nothing is there which was not there before the campaign, but for its place's own."""
    env, own, tally = campaign.env, campaign.place.own, campaign.tally

    def left() -> dict[int, str]:
        found = {
            pid: " ".join(words) for pid, words in _ours(env, is_alone).items() if pid not in before.pids
        }
        return {pid: command for pid, command in found.items() if not any(word in command for word in own)}

    wait_until(lambda: not left(), _PATIENCE_S)
    tally.check("no processes are left", not left(), f"{left()}")
    mounts = set(_mounts()) - before.mounts
    tally.check("no mounts are left", not mounts, f"{mounts}")
    files = set(_files(env)) - before.temporary
    tally.check("no temporary files are left", not files, f"{sorted(files)}")
    mark = campaign_hash(campaign.folder)
    groups = [group for group, label in control_groups.left() if label.startswith(mark)]
    populated = [str(group.path) for group in groups if group.is_populated()]
    tally.check("no control groups are left", not populated, f"{populated}")
    if any("slurm" in word for word in own):
        queued = call(
            env, "lab", "exec", "n1", "--", "squeue", "--noheader", "--format=%i %T %k"
        ).stdout.strip()
        tally.check("no jobs are left", not queued, queued)
    said = campaign.tare("clean", "--dry-run").stdout  # others' control groups can be seen, too
    tally.check("tare clean finds nothing", mark not in said, said)


def _ours(env: Mapping[str, str], is_alone: bool) -> dict[int, list[str]]:
    """Return the processes of this soak: all that there are, or those with its mark."""
    found = processes()
    return found if is_alone else {pid: words for pid, words in found.items() if _has_mark(pid, env[MARK])}


def _has_mark(pid: int, value: str) -> bool:
    try:
        return f"{MARK}={value}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _mounts() -> list[str]:
    return [" ".join(line.split()[3:5]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def _files(env: Mapping[str, str]) -> list[str]:
    """Return what lies in the folders for temporary files and records that this soak has to itself."""
    folders = [Path(env["TMPDIR"]), Path(env["XDG_STATE_HOME"])]
    return [str(path) for folder in folders for path in folder.rglob("*") if not path.is_dir()] + [
        str(path) for path in folders[0].iterdir() if path.is_dir()
    ]
