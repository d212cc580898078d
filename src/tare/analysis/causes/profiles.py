"""Read the profiles of a campaign's profiled runs, and pair those of a contender with its reference's."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from tare.core.attempt import Attempt, State
from tare.core.campaign import Campaign
from tare.core.case import Pass
from tare.core.profile import Calls, Profile, Split, read
from tare.stats.intervals import Floats

ComponentKey = tuple[str, str, int]
"""Kind, name and size class: ("function", "MPI_Alltoall", 8192); other kinds have no size."""

COMPUTATION: ComponentKey = ("computation", "", 0)
WAITING: ComponentKey = ("waiting", "", 0)
UNEXPLAINED: ComponentKey = ("unexplained", "", 0)
_ALWAYS = frozenset({COMPUTATION, WAITING, UNEXPLAINED})


_WITHOUT_RESULT = frozenset({State.FAILED, State.INVALID, State.LOST})

_ROUNDING = 1e-9
"""As a share of the wall time: a smaller rest is rounding of the sums."""


class Profiled(NamedTuple):
    """A profiled run with its profile."""

    attempt: Attempt
    profile: Profile


class Profiles(NamedTuple):
    """The profiles of a campaign, by case and pass, and how often a case has none, by reason."""

    by_case: dict[str, dict[Pass, Profiled]]
    missing: dict[str, Counter[str]]

    def why_missing(self, *cases: str) -> str:
        """Return the most frequent reason why profiled runs of `cases` have no profile; empty if all have."""
        reasons = sum((self.missing.get(case, Counter()) for case in cases), Counter[str]())
        return reasons.most_common(1)[0][0] if reasons else ""


def profiles(campaign: Campaign) -> Profiles:
    """Return the profiles of all profiled runs; read once, since a campaign does not change."""
    return campaign.memo.get((profiles,), lambda: _read(campaign))


def _read(campaign: Campaign) -> Profiles:
    found: dict[str, dict[Pass, Profiled]] = {}
    missing: dict[str, Counter[str]] = {}
    for one in campaign.profiled():
        profile = read(campaign.folder / one.folder)
        if isinstance(profile, Profile):
            found.setdefault(one.case, {})[one.together] = Profiled(one, profile)
        else:
            missing.setdefault(one.case, Counter())[profile] += 1
    for one in _without_result(campaign):
        missing.setdefault(one.case, Counter())[one.reason or f"a profiled run is {one.state}"] += 1
    return Profiles(found, missing)


def _without_result(campaign: Campaign) -> list[Attempt]:
    """Return the last attempt of each profiled run that does not count."""
    last: dict[tuple[str, int], Attempt] = {}
    for one in (*campaign.attempts, *campaign.profiled_attempts):
        key = one.case, one.block
        if one.is_profiled and one.block >= 1 and one.supersedes(last.get(key)):
            last[key] = one
    return [one for one in last.values() if one.state in _WITHOUT_RESULT]


def common_passes(found: Profiles, *cases: str) -> list[Pass]:
    """Return the passes in which each of `cases` has a profile, in the order of time."""
    return sorted(set.intersection(*({*found.by_case.get(case, {})} for case in cases)))


def inside_s(row: Calls) -> float:
    """Return the mean over ranks of the time in a call apart from waiting for late ranks, in seconds."""
    return mean(row.seconds) - waiting_s(row)


def waiting_s(row: Calls) -> float:
    """Return the mean over ranks of waiting for late ranks; 0 where only an upper bound is known."""
    return mean(row.waiting_s) if row.split is Split.EXACT else 0.0


def components(profile: Profile) -> dict[ComponentKey, float]:
    """Return the parts of the mean wall time over ranks, in seconds; they sum to it exactly.

    Each rank's wall time is computation, calls, waits and files. So the means over ranks of these parts sum
    to the mean wall time, which is that of each rank in a program whose ranks end together. What the profile
    does not cover is `UNEXPLAINED`.
    """
    found: dict[ComponentKey, float] = {COMPUTATION: mean(profile.computation_s)}
    for row in profile.functions:
        key = ("function", row.function, row.size_class)
        found[key] = found.get(key, 0.0) + inside_s(row)
        found[WAITING] = found.get(WAITING, 0.0) + waiting_s(row)
    for file in profile.files:
        key = ("files", " on ".join(filter(None, (file.operation, file.file_system))), 0)
        found[key] = found.get(key, 0.0) + mean(file.seconds)
    wall = mean(profile.wall_s)
    rest = wall - sum(found.values())
    found[UNEXPLAINED] = rest if abs(rest) > _ROUNDING * wall else 0.0
    return {key: seconds for key, seconds in found.items() if seconds or key in _ALWAYS}


def matrix(rows: list[dict[ComponentKey, float]], keys: list[ComponentKey]) -> Floats:
    """Return components as an array, blocks × `keys`; what a run lacks took no time."""
    return np.array([[row.get(key, 0.0) for key in keys] for row in rows], np.float64).reshape(
        len(rows), len(keys)
    )


def mean(values: list[float] | list[int]) -> float:
    """Return the mean over ranks; 0 where nothing was counted."""
    return sum(values) / len(values) if values else 0.0
