"""What a campaign has on record while it runs or after its tare was killed, and what is left of it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tare.app.executors import campaign_hash
from tare.core.attempt import State
from tare.plugins.backends.ownership import process_labels
from tare.storage.campaign import JOURNAL
from tare.storage.journal import AttemptEnded, read_events


def ended_runs(campaign: Path) -> Counter[tuple[int, str]]:
    """Return how often each run is on record as done."""
    return Counter(
        (event.attempt.block, event.attempt.case)
        for event in read_events(campaign / JOURNAL)
        if isinstance(event, AttemptEnded) and event.attempt.state is State.DONE
    )


def left_over(campaign: Path, within_s: float = 5) -> list[int]:
    """Return the processes of a campaign that are still there after a moment."""
    scope = f"{campaign_hash(campaign)}:"
    deadline = time.monotonic() + within_s
    while process_labels.labelled_pids(scope) and time.monotonic() < deadline:
        time.sleep(0.05)
    return process_labels.labelled_pids(scope)
