"""Watch campaign folders: find campaigns, read new events of their journals, and notify the readers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from tare.core.errors import STORAGE_FAULTS, CampaignError, UnreadableFile
from tare.core.pseudonyms import Pseudonyms, merged
from tare.core.safe_folder import SafeFolder
from tare.live.campaign_state import CampaignState
from tare.live.statistics import Statistics, compute_statistics
from tare.live.tail import JournalTail
from tare.storage.campaign import JOURNAL, PLAN, is_campaign, read_plan
from tare.storage.journal import is_held
from tare.storage.pseudonymous import PseudonymousView
from tare.storage.pseudonyms import read_pseudonyms

POLL_S = 0.5
"""Seconds between two polls of the folders while there are readers."""

STATISTICS_S = 2.0
"""The least time in seconds between two computations of the statistics; slow ones wait longer."""

_LEAST_SHARE = 10  # the statistics use at most a tenth of one core: the machine may be measuring
_INTEREST_S = 30.0


class FollowedCampaign:
    """One campaign folder that is watched; `name` is the campaign's name in URLs."""

    def __init__(self, name: str, folder: Path, redacted: Sequence[str] = ()) -> None:
        self.name = name
        self.folder = folder
        self.pseudonyms = Pseudonyms(tuple(redacted))
        self._redacted = redacted
        self._view = PseudonymousView(self.pseudonyms)
        self.campaign_state: CampaignState | None = None
        self.statistics: Statistics | None = None
        self.statistics_revision = 0
        self.fault = ""
        self.revision = 0
        self.asked_at = float("-inf")
        self.report: tuple[int, str] | None = None
        self.reporting = threading.Lock()
        self._tail = JournalTail(folder / JOURNAL)
        self._plan_seen: tuple[int, ...] = ()
        self._statistics_due = float("-inf")

    @property
    def shown_folder(self) -> str:
        """Return the folder's path with pseudonyms, as readers may see it."""
        return self.pseudonyms.only(str(self.folder))

    def poll(self, revision: int) -> bool:
        """Read new events; return whether anything changed. A change sets the campaign's revision."""
        fault = self._read_plan(revision)
        if self.campaign_state is not None and not fault:
            fault = self._read_journal(self.campaign_state, revision)
        is_changed = fault != self.fault or (
            self.campaign_state is not None and self.campaign_state.revision == revision
        )
        self.fault = fault
        if is_changed:
            self.revision = revision
        return is_changed

    def _read_journal(self, campaign_state: CampaignState, revision: int) -> str:
        # Check this before reading the journal: a process that held it then may have ended since, and its
        # last events are then read as well.
        is_running = is_held(self.folder / JOURNAL)
        news = self._tail.read()
        if news.is_fresh:
            campaign_state = self.campaign_state = CampaignState(self.folder, campaign_state.plan, revision)
            self.statistics = None
        for event in news.events:
            campaign_state.apply(self._view.event(event), revision)
        campaign_state.run_by(revision, is_running=is_running)
        return news.fault

    def fail(self, error: Exception, revision: int) -> None:
        """Show `error` in place of the campaign.

        A file that cannot be read is tried again. Any other error is a defect of Tare: it is logged, and
        shown until the plan changes.
        """
        self.revision = revision
        self.campaign_state = self.statistics = None
        self._tail = JournalTail(self.folder / JOURNAL)  # the next state needs all events again
        if isinstance(error, CampaignError | UnreadableFile):
            self._plan_seen = ()
            self.fault = self.pseudonyms.text(_reason(error))
            return
        logging.getLogger("uvicorn.error").error("campaign %s", self.name, exc_info=error)
        kind, text = type(error).__name__, self.pseudonyms.text(str(error))
        self.fault = f"a defect of Tare: {kind}: {text}; 'tare status {self.shown_folder}' may tell more"

    def are_statistics_due(self, now: float) -> bool:
        """Return whether to compute the statistics again: something changed, and the waiting time is over."""
        if self.campaign_state is None:
            return False
        if self.statistics is None:
            return True
        is_stale = self.statistics.revision != max(
            self.campaign_state.ended_revision, self.campaign_state.matrix_revision
        )
        return is_stale and now >= self._statistics_due

    def set_statistics(self, statistics: Statistics, took_s: float, now: float) -> None:
        """Store `statistics`, and set the earliest time of the next computation."""
        self.statistics = statistics
        self._statistics_due = now + max(STATISTICS_S, took_s * _LEAST_SHARE)

    def _read_plan(self, revision: int) -> str:
        try:
            status = SafeFolder(self.folder, PLAN).status()
            seen = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
            if seen == self._plan_seen:
                return self.fault if self.campaign_state is None else ""
            self._show_with(read_pseudonyms(self.folder, self._redacted))
            plan = self._view.plan(read_plan(self.folder))
        except (CampaignError, OSError) as error:
            return self.pseudonyms.text(_reason(error))
        self._plan_seen = seen
        if self.campaign_state is None:
            self.campaign_state = CampaignState(self.folder, plan, revision)
        else:
            self.campaign_state.replan(plan, revision)
            self.statistics = None  # they do not have the new cases
        return ""

    def _show_with(self, pseudonyms: Pseudonyms) -> None:
        if pseudonyms != self.pseudonyms:
            self.pseudonyms, self._view = pseudonyms, PseudonymousView(pseudonyms)


def _reason(error: CampaignError | OSError) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: cannot read: {error.strerror}"
    return str(error)


class Hub:
    """All campaigns in `folders` and directly below them, with one watcher for all readers.

    A thread that reads or writes a campaign state must hold `lock`. Revisions only grow, also from one
    server process to the next. So a page that was loaded from an earlier server asks for everything anew.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        clock: Callable[[], float] = time.monotonic,
        redacted: Sequence[str] = (),
    ) -> None:
        self.folders = tuple(folders)
        self.redacted = tuple(redacted)
        self.campaigns: dict[str, FollowedCampaign] = {}
        self.revision = time.time_ns() // 1_000_000
        self.lock = threading.RLock()
        self._computing = threading.Lock()
        self.is_closed = False
        self._clock = clock
        self._names: dict[Path, str] = {}
        self._polled_at = float("-inf")
        self._n_readers = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    def shown(self, text: str) -> str:
        """Return `text`, such as the path of a folder, with the pseudonyms of all campaigns."""
        known = (one.pseudonyms.entries for one in self.campaigns.values())
        return Pseudonyms(merged(self.redacted, *known)).only(text)

    def refresh(self) -> None:
        """Poll, unless the last poll was a moment ago; requests call this, since the watcher may be idle."""
        if self._clock() - self._polled_at > POLL_S / 2:
            self.poll()

    def poll(self) -> bool:
        """Read every folder once; return whether anything changed."""
        with self.lock:
            self._polled_at = self._clock()
            revision = self.revision + 1
            found = dict(self._find())
            is_changed = found.keys() != self.campaigns.keys()
            self.campaigns = found
            for watched in found.values():
                try:
                    is_changed |= watched.poll(revision)
                except Exception as error:  # one campaign must not take the others with it
                    watched.fail(error, revision)
                    is_changed = True
            if is_changed:
                self.revision = revision
            return is_changed

    @contextlib.contextmanager
    def opened(self, watched: FollowedCampaign) -> Iterator[tuple[CampaignState, Statistics] | None]:
        """Lock a campaign's state and statistics, and yield them; yield None if its plan cannot be read.

        The statistics are computed now if there are none yet. They are updated as long as requests for this
        campaign arrive.
        """
        watched.asked_at = self._clock()
        while True:
            if watched.statistics is None:
                self._update_statistics(watched)
            with self.lock:
                if watched.campaign_state is None or watched.statistics is not None:
                    yield (
                        (watched.campaign_state, watched.statistics)
                        if watched.campaign_state and watched.statistics
                        else None
                    )
                    return

    def revisions(self) -> dict[str, int]:
        """Return the revision of each campaign."""
        with self.lock:
            return {name: watched.revision for name, watched in self.campaigns.items()}

    async def watch(self) -> None:
        """Poll while there are readers, until cancelled."""
        self._loop = asyncio.get_running_loop()
        announced = self.revision
        while True:
            if self._n_readers:
                await asyncio.to_thread(self._work)
            if self.revision != announced:  # this poll or a request has found a change
                announced = self.revision
                self._wake()
            await asyncio.sleep(POLL_S)

    async def changes(self) -> AsyncIterator[dict[str, int] | None]:
        """Yield the revisions of all campaigns now and at every change; yield None after 15 s without one."""
        self._n_readers += 1
        try:
            while not self.is_closed:
                changed = self._changed
                yield self.revisions()
                while not self.is_closed and not changed.is_set():
                    try:
                        await asyncio.wait_for(changed.wait(), 15)
                    except TimeoutError:
                        yield None
        finally:
            self._n_readers -= 1

    def close(self) -> None:
        """End the event streams of all readers; may be called from a signal handler."""
        self.is_closed = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _work(self) -> None:
        self.poll()
        now = self._clock()
        for watched in list(self.campaigns.values()):
            if now - watched.asked_at < _INTEREST_S and watched.are_statistics_due(now):
                self._update_statistics(watched)

    def _update_statistics(self, watched: FollowedCampaign) -> None:
        """Compute statistics on a copy, so that readers need not wait; one computation runs at a time."""
        with self._computing:
            if watched.are_statistics_due(self._clock()):
                self._compute_statistics(watched)

    def _compute_statistics(self, watched: FollowedCampaign) -> None:
        with self.lock:
            campaign_state = watched.campaign_state
            if campaign_state is None:
                return
            campaign = campaign_state.campaign()
            revision = max(campaign_state.ended_revision, campaign_state.matrix_revision)
        began = self._clock()
        try:
            statistics = compute_statistics(campaign, revision)
        except Exception as error:  # one campaign must not take the others with it
            with self.lock:
                self.revision += 1
                watched.fail(error, self.revision)
            return
        with self.lock:
            if watched.campaign_state is campaign_state:
                now = self._clock()
                watched.set_statistics(statistics, now - began, now)
                self.revision += 1
                watched.revision = watched.statistics_revision = self.revision

    def _find(self) -> Iterator[tuple[str, FollowedCampaign]]:
        for folder in self._campaign_folders():
            name = self._names.get(folder) or self._name(folder)
            yield name, self.campaigns.get(name) or FollowedCampaign(name, folder, self.redacted)

    def _campaign_folders(self) -> Iterator[Path]:
        """Yield the folders of campaigns, and those that may be one: what is shown must not look absent."""
        for folder in self.folders:
            if self._is_shown(folder):
                yield folder
                continue
            try:
                inside = sorted(folder.iterdir())
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                inside = sorted(one for one in self._names if one.parent == folder)
            yield from (one for one in inside if self._may_be_campaign(one))

    def _is_shown(self, folder: Path) -> bool:
        """Return whether a folder that the user named is a campaign, not one that holds campaigns."""
        try:
            return is_campaign(folder)
        except UnreadableFile:
            return folder in self._names or not any(one.parent == folder for one in self._names)

    def _may_be_campaign(self, folder: Path) -> bool:
        try:
            return is_campaign(folder)
        except UnreadableFile as error:  # folders of other users are not for this reader
            return folder in self._names or error.errno in STORAGE_FAULTS

    def _signs_of(self, folder: Path) -> Pseudonyms:
        try:
            return read_pseudonyms(folder, self.redacted)
        except CampaignError:  # it is reported where the plan is read
            return Pseudonyms(self.redacted)

    def _name(self, folder: Path) -> str:
        shown = self._signs_of(folder).only(folder.resolve().name)
        plain = re.sub(r"[^\w.-]+", "-", shown) or "campaign"
        taken = set(self._names.values())
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain}~{number}", number + 1
        self._names[folder] = name
        return name
