"""Make, read and freeze campaign folders."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import msgspec

from tare.errors import CampaignError
from tare.model.attempt import Attempt, State
from tare.model.campaign import Campaign, Environment
from tare.model.plan import Plan
from tare.store.journal import AttemptBegan, AttemptEnded, BlockBegan, Event, Journal, is_held, read_events
from tare.store.telemetry import read_means

JOURNAL = "journal.jsonl"
PLAN = "plan.json"


def is_campaign(folder: Path) -> bool:
    """Return whether `folder` holds a campaign."""
    return (folder / PLAN).is_file()


def open_journal(folder: Path) -> Journal:
    """Make `folder` unless it is there, and hold its journal against every other process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Journal(folder / JOURNAL)
    except OSError as error:
        raise CampaignError.from_os(folder, error) from error


def freeze(folder: Path, plan: Plan, texts: dict[str, str]) -> None:
    """Write the plan, and the study and site files as they are now (`texts` by file name).

    Each file is replaced as a whole or not at all. Raises DiskFull or CampaignError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            _replace(folder / name, text.encode())
        _replace(folder / PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=1))
    except OSError as error:
        raise CampaignError.from_os(folder, error) from error


def read_plan(folder: Path) -> Plan:
    """Return the frozen plan of the campaign in `folder`."""
    path = folder / PLAN
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise CampaignError(
            f"{folder}: not a campaign folder: {PLAN}: {error.strerror}; 'tare run STUDY' makes one"
        ) from error
    except msgspec.DecodeError as error:
        raise CampaignError(f"{path}: damaged ({error}); restore it from a copy") from error


def read_campaign(folder: Path) -> Campaign:
    """Return the campaign in `folder` as far as it has come, also while it runs.

    An attempt that began and did not end is RUNNING in a live campaign, and LOST otherwise.
    Raises CampaignError when the folder holds no campaign or is damaged.
    """
    plan = read_plan(folder)
    is_running = is_held(folder / JOURNAL)
    events = tuple(read_events(folder / JOURNAL)) if (folder / JOURNAL).exists() else ()
    attempts = attempts_of(events, is_running=is_running)
    if means := read_means(folder):
        attempts = tuple(msgspec.structs.replace(one, imported=means.get(one.folder, {})) for one in attempts)
    return Campaign(
        folder=folder,
        plan=plan,
        attempts=attempts,
        orders={event.block: event.order for event in events if isinstance(event, BlockBegan)},
        environments=_read_environments(folder),
        is_running=is_running,
    )


def attempts_of(events: tuple[Event, ...], *, is_running: bool = False) -> tuple[Attempt, ...]:
    """Return the attempts that `events` tell of, those without an end as LOST (or RUNNING)."""
    attempts: dict[tuple[str, int, int], Attempt] = {}
    under_way: set[tuple[str, int, int]] = set()
    for event in events:
        if isinstance(event, AttemptBegan):
            key = (event.case, event.block, event.attempt)
            under_way.add(key)
            attempts[key] = Attempt(
                case=event.case,
                block=event.block,
                attempt=event.attempt,
                state=State.LOST,
                reason="tare ended before the run did",
                started_at=event.at,
            )
        elif isinstance(event, AttemptEnded):
            ended = event.attempt
            key = (ended.case, ended.block, ended.attempt)
            under_way.discard(key)
            attempts[key] = ended
    if is_running:
        for key in under_way:
            attempts[key] = msgspec.structs.replace(attempts[key], state=State.RUNNING, reason="")
    return tuple(attempts.values())


def store_environment(folder: Path, environment: Environment) -> str:
    """Write `environment` once, named by the hash of its content; return the hash."""
    data = msgspec.json.format(msgspec.json.encode(environment, order="sorted"), indent=1)
    name = hashlib.blake2b(data, digest_size=8).hexdigest()
    path = folder / "environments" / f"{name}.json"
    if not path.exists():
        try:
            path.parent.mkdir(exist_ok=True)
            _replace(path, data)
        except OSError as error:
            raise CampaignError.from_os(folder, error) from error
    return name


def read_environment(folder: Path, name: str) -> Environment:
    """Return what `store_environment` has written under this hash. Raises CampaignError."""
    path = folder / "environments" / f"{name}.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Environment)
    except OSError as error:
        raise CampaignError.from_os(path, error) from error
    except msgspec.DecodeError as error:
        raise CampaignError(f"{path}: damaged ({error}); delete it: figures do not depend on it") from error


def _read_environments(folder: Path) -> dict[str, Environment]:
    paths = sorted((folder / "environments").glob("*.json"))
    return {path.stem: read_environment(folder, path.stem) for path in paths}


def _replace(path: Path, data: bytes) -> None:
    """Write a file that is whole or not there: to a temporary one, synced, then renamed."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(name, path)  # noqa: PTH105  # the temporary name is a string
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
