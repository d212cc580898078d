"""Where a difference comes from: the results of attribution."""

from __future__ import annotations

import enum

import msgspec

from tare.core.interval import Bounded
from tare.core.values import Settings


class CauseKind(enum.StrEnum):
    """What a part of the wall time is spent on."""

    COMPUTATION = "computation"
    """Neither in MPI nor in file I/O."""
    FUNCTION = "function"
    """In calls of one MPI function, apart from waiting for late ranks."""
    WAITING = "waiting"
    """Waiting for ranks that come late to a collective operation, and what these ranks compute longer."""
    FILES = "files"
    """Reading, writing and synchronising files."""
    UNEXPLAINED = "unexplained"
    """In no part that the profile covers."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a difference.

    - `name` is the MPI function, or the file operation and file system; empty otherwise.
    - `least_bytes` and `most_bytes` are the sizes of the calls; both None if it has no sizes, or joins those
      of a function that are in no range.
    - `reference_s` and `contender_s` are seconds a run, the mean over ranks and blocks; `difference_s` is
      contender − reference.
    - `share` is the part of the whole difference, 1 for all of it. Negative parts compensate others.
    - `is_certain` is true if the part differs from 0 among all parts of this comparison (Holm, 5 %).
    - `reference_call_s` and `contender_call_s` are the mean times of a call, and `calls` the calls of a rank
      on the reference; None for what is no call.
    - `rank` is the rank that computes longer than the others, for waiting; None if none stands out.
      `more_ranks` is how many others do so too.
    """

    kind: CauseKind
    name: str = ""
    least_bytes: int | None = None
    most_bytes: int | None = None
    reference_s: float
    contender_s: float
    difference_s: Bounded
    share: Bounded
    is_certain: bool = False
    reference_call_s: float | None = None
    contender_call_s: float | None = None
    calls: float | None = None
    rank: int | None = None
    more_ranks: int = 0


class ScatterCause(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the scatter from run to run.

    - `kind`, `name`, `least_bytes` and `most_bytes` are as in a Cause.
    - `reference_sd_s` and `contender_sd_s` are the standard deviations between blocks of its seconds a run.
    - `share` is its part of the variance of the side that scatters more, 1 for all of it.
    - `is_certain` is true if the share differs from 0 among all parts of this comparison (Holm, 5 %).
    """

    kind: CauseKind
    name: str = ""
    least_bytes: int | None = None
    most_bytes: int | None = None
    reference_sd_s: float
    contender_sd_s: float
    share: Bounded
    is_certain: bool = False


class ScatterAttribution(msgspec.Struct, frozen=True, kw_only=True):
    """What the scatter from run to run consists of, on the side whose wall times scatter more.

    - `ratio` is the scatter of the wall times of profiled runs, contender over reference: of the mean
      absolute deviations of their logarithms.
    - `plain_ratio` is that of the elapsed times of the runs without the profile in the same blocks.
    - `p_adjusted` is for equal scatter, among all attributions of the campaign (Holm); None with fewer than
      six blocks, which cannot decide.
    - `is_decided` is true if the scatters differ for certain.
    - `causes` have the largest share first; shares sum to 1.
    """

    n_blocks: int
    ratio: Bounded
    plain_ratio: Bounded | None = None
    p_adjusted: float | None = None
    is_decided: bool = False
    causes: tuple[ScatterCause, ...] = ()


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """What the difference in wall time between a contender and its reference consists of.

    - `ratio` is that of the wall times of profiled runs, MPI_Init to MPI_Finalize, contender over reference.
    - `p_adjusted` is for no difference, among all attributions of the campaign (Holm).
    - `parts` sum to `difference_s`, and their shares to 1. `causes` join the sizes of a function, the largest
      share first.
    - `elapsed_s` is the difference in elapsed time of the runs without the profile in the same blocks, and
      `profiled_elapsed_s` that of the profiled runs; None where they are not known.
    - `cost` is the ratio of elapsed times, profiled runs over those of the same cases without the profile.
    - `scatter` is what the scatter from run to run consists of; None where a side does not scatter.
    - `note` says what to know of it; `refusal` why nothing is attributed. Then there are no parts.
    """

    workload: str
    reference_case: str
    contender_case: str
    reference: Settings
    contender: Settings
    n_blocks: int = 0
    ratio: Bounded | None = None
    difference_s: Bounded | None = None
    p_adjusted: float | None = None
    is_decided: bool = False
    parts: tuple[Cause, ...] = ()
    causes: tuple[Cause, ...] = ()
    elapsed_s: Bounded | None = None
    profiled_elapsed_s: Bounded | None = None
    cost: Bounded | None = None
    scatter: ScatterAttribution | None = None
    note: str = ""
    refusal: str = ""

    @property
    def unexplained(self) -> Cause | None:
        """Return the part that the profile does not cover."""
        return next((one for one in self.causes if one.kind is CauseKind.UNEXPLAINED), None)
