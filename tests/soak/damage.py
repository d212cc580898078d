"""What happens to the files of a campaign between two sessions, and whether Tare notices."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import msgspec

from soak.campaigns import Soaked
from tare.core.attempt import Attempt, State
from tare.storage.journal import AttemptBegan, AttemptEnded, BlockBegan, Event

_decode = msgspec.json.Decoder(Event).decode

DAMAGES: dict[str, Callable[[Soaked], None]] = {}


def damage(name: str) -> Callable[[Callable[[Soaked], None]], Callable[[Soaked], None]]:
    """Return what registers a function as a kind of damage."""

    def register(inflict: Callable[[Soaked], None]) -> Callable[[Soaked], None]:
        DAMAGES[name] = inflict
        return inflict

    return register


@damage("journal: a byte changed")
def byte_of_journal(campaign: Soaked) -> None:
    """Change a byte; follow the cure of the error, or put a copy back."""
    before = campaign.journal.read_bytes()
    lines = before.split(b"\n")[:-1]
    number = campaign.chance.choice([one for one, line in enumerate(lines) if not _is_again(line)])
    start = sum(len(line) + 1 for line in lines[:number])
    at = start + campaign.chance.randrange(len(lines[number]) + 1)
    bit = 1 << campaign.chance.randrange(8)
    campaign.journal.write_bytes(before[:at] + bytes([before[at] ^ bit]) + before[at + 1 :])
    _must_be_told(campaign, f"journal.jsonl:{number + 1}")
    hit = lines[number : number + (2 if at == start + len(lines[number]) else 1)]
    is_last = number + len(hit) >= len(lines)
    if not is_last:  # a damaged last line is taken for a torn one
        refused = campaign.tare("run", str(campaign.folder))
        is_told = refused.returncode == 3 and f"journal.jsonl:{number + 1}: " in refused.stderr
        campaign.tally.check("a damaged journal is refused", is_told, refused.stdout + refused.stderr)
    if campaign.chance.random() < 0.5:
        campaign.journal.write_bytes(before)
        return
    if not is_last:
        rest = lines[:number] + lines[number + len(hit) :]
        campaign.journal.write_bytes(b"".join(line + b"\n" for line in rest))
    campaign.forget(_runs(hit))


@damage("journal: half a line")
def half_a_line(campaign: Soaked) -> None:
    """Append what a crash leaves of a line."""
    data = campaign.journal.read_bytes()
    line = data.split(b"\n")[-2]
    campaign.journal.write_bytes(data + line[: campaign.chance.randrange(1, len(line))])
    number = data.count(b"\n") + 1
    _must_be_told(campaign, f"journal.jsonl:{number}")


@damage("journal: lines cut off")
def lines_cut(campaign: Soaked) -> None:
    """Take the last lines away, as a file system does that lost what was not synced."""
    lines = campaign.journal.read_bytes().split(b"\n")[:-1]
    n_kept = max(len(lines) - campaign.chance.randrange(1, 4), 1)
    if any(_is_again(line) for line in lines[n_kept:]):
        return
    campaign.journal.write_bytes(b"".join(line + b"\n" for line in lines[:n_kept]))
    campaign.forget(_runs(lines[n_kept:]))


@damage("an attempt: a byte changed")
def byte_of_attempt(campaign: Soaked) -> None:
    """Change a byte of a file that a run left."""
    files = [
        path
        for run in _intact(campaign)
        for path in (campaign.folder / "attempts" / run).iterdir()
        if path.is_file() and path.stat().st_size and path.name != "SHA256SUMS"
    ]
    if files:
        path = campaign.chance.choice(sorted(files))
        data = bytearray(path.read_bytes())
        data[campaign.chance.randrange(len(data))] ^= 1 << campaign.chance.randrange(8)
        path.write_bytes(data)
        _damaged(campaign, str(path.relative_to(campaign.folder)))


@damage("an attempt: its folder removed")
def folder_of_attempt(campaign: Soaked) -> None:
    """Remove what a run left."""
    runs = _intact(campaign)
    if runs:
        run = campaign.chance.choice(sorted(runs))
        shutil.rmtree(campaign.folder / "attempts" / run)
        _damaged(campaign, f"attempts/{run}")


def verify_at_end(campaign: Soaked) -> None:
    """Check that `tare verify` tells of all that was damaged, and of nothing else."""
    told = _verified(campaign)
    lost = tuple(f"attempts/{run}" for run in campaign.gone)  # listed anew, as they are found
    for place in campaign.damaged:
        if place.startswith(lost):
            continue
        is_told = any(one.startswith(place) for one in told)
        campaign.tally.check("damage is told", is_told, f"{place} was damaged; told: {told}")
    may_be = (*campaign.damaged, *lost)
    for one in told:
        if one.endswith("/job.out") and campaign.lost_daemons:  # what srun says of a lost slurmd
            continue
        campaign.tally.check(
            "nothing else is told", one.startswith(may_be), f"{one} is told; {may_be} may be"
        )
    campaign.tally.check("nothing else is told", True, "")


def _damaged(campaign: Soaked, place: str) -> None:
    campaign.damaged.add(place)
    _must_be_told(campaign, place)


def _must_be_told(campaign: Soaked, place: str) -> None:
    told = _verified(campaign)
    is_told = any(one.startswith(place) for one in told)
    campaign.tally.check("damage is told", is_told, f"{place} was damaged; told: {told}")


def _verified(campaign: Soaked) -> list[str]:
    done = campaign.tare("verify", "--json", str(campaign.folder))
    try:
        told = [str(one["where"]) for one in json.loads(done.stdout)["faults"]]
    except (ValueError, KeyError):
        campaign.tally.check("verify answers", False, done.stdout + done.stderr)
        return []
    campaign.tally.check(
        "verify answers", done.returncode == (1 if told else 0), f"{done.returncode}: {told}"
    )
    return told


def _intact(campaign: Soaked) -> set[str]:
    """Return the runs that are on record as ended, not as lost, and whose folders nobody touched."""
    ended = set()
    for line in campaign.journal.read_bytes().split(b"\n")[:-1]:
        event = _decode(line)
        if (
            isinstance(event, AttemptEnded)
            and event.attempt.evidence
            and event.attempt.state is not State.LOST
        ):
            ended |= _runs([line])
    touched = {place.removeprefix("attempts/").rpartition("/")[0] for place in campaign.damaged}
    touched |= {place.removeprefix("attempts/") for place in campaign.damaged}
    return ended - touched - campaign.gone


def _is_again(line: bytes) -> bool:
    event = _decode(line)
    return isinstance(event, BlockBegan) and bool(event.again)


def _runs(lines: list[bytes]) -> set[str]:
    """Return the runs that lines of a journal tell of."""
    found = set()
    for line in lines:
        event = _decode(line)
        one = event.attempt if isinstance(event, AttemptEnded) else event
        if isinstance(one, AttemptBegan | Attempt):
            found.add(f"{one.case}/{one.block}.{one.attempt}")
    return found
