"""What published figures say of the claims that were made with them: supported, contradicted or undecided.

A claim is judged as a measurement of one's own would be: by its interval. A figure that was measured once has
none, so it can lean to one side and decide nothing, however plausible.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from tare.core.campaign import Campaign
from tare.core.margins import is_beyond, is_within
from tare.core.values import Scalar, Settings
from tare.stats.intervals import MIN_BLOCKS
from tare.stats.ratios import ratios

Chosen = Mapping[str, Scalar | tuple[Scalar, ...]]
"""Settings that choose runs; several values of one setting pool their runs."""


class Judgement(enum.StrEnum):
    """What a claim asserts of its figures."""

    EQUIVALENT = "equivalent"
    """Each ratio lies within the margin."""
    HIGHER = "higher"
    """Each ratio is above 1."""
    LOWER = "lower"
    """Each ratio is below 1."""
    FOLLOWS = "follows"
    """The figures rise with those of a cause, in rank."""
    FOLLOWS_INVERSELY = "follows inversely"
    """The figures fall where those of a cause rise, in rank."""
    ABSENT = "absent"
    """The data set has no figures of it."""


class ClaimVerdict(enum.StrEnum):
    """What the data say."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_IN_THE_DATA = "not in the data"

    @property
    def sign(self) -> str:
        """Return a shape of its own for each."""
        return _SIGNS[self]


_SIGNS = {
    ClaimVerdict.SUPPORTED: "✓",
    ClaimVerdict.CONTRADICTED: "✗",
    ClaimVerdict.UNDECIDED: "▨",
    ClaimVerdict.NOT_IN_THE_DATA: "–",
}


class Held(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs that are held against others. `fom` is the claim's own unless told; `at` are its coordinates."""

    contender: dict[str, Scalar | tuple[Scalar, ...]]
    reference: dict[str, Scalar | tuple[Scalar, ...]]
    fom: str | None = None
    at: dict[str, Scalar] = {}


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claim and how its data can be asked. `data` names the table; None where there is none.

    `margin` is what counts as the same. `cause` and `over` are for a claim that one figure follows another
    over the levels of a setting. `note` tells of the data what the numbers do not.
    """

    id: str
    article: str
    claim: str
    kind: Judgement
    data: str | None = None
    fom: str = ""
    margin: float = 0.05
    held: tuple[Held, ...] = ()
    cause: str = ""
    over: str = ""
    note: str = ""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One ratio, contender over reference, or one rank correlation (`tau`), and what it says by itself.

    `chance` is how often an order at least so close comes about by accident. `leans_to` is the verdict
    that the point estimate alone would give; it decides nothing.
    """

    what: str
    n_reference: int
    n_contender: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    tau: float | None = None
    chance: float | None = None
    verdict: ClaimVerdict
    leans_to: ClaimVerdict
    why: str


class ClaimFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, the evidence on it, and the verdict: supported only where all of the evidence supports it."""

    claim: Claim
    verdict: ClaimVerdict
    evidence: tuple[Evidence, ...] = ()
    why: str = ""


def judge_claim(claim: Claim, data: Campaign | None, *, confidence: float = 0.95) -> ClaimFinding:
    """Return what `data`, the claim's table as a campaign, say of `claim`."""
    if claim.kind is Judgement.ABSENT or data is None:
        why = claim.note or "no published figures in the data set"
        return ClaimFinding(claim=claim, verdict=ClaimVerdict.NOT_IN_THE_DATA, why=why)
    if claim.kind in (Judgement.FOLLOWS, Judgement.FOLLOWS_INVERSELY):
        evidence: tuple[Evidence, ...] = (_ranked(claim, data, confidence),)
    else:
        evidence = tuple(_held(claim, held, data, confidence) for held in claim.held)
    return ClaimFinding(claim=claim, verdict=_overall(evidence), evidence=evidence, why=claim.note)


def _overall(evidence: Sequence[Evidence]) -> ClaimVerdict:
    verdicts = {one.verdict for one in evidence}
    if ClaimVerdict.CONTRADICTED in verdicts:
        return ClaimVerdict.CONTRADICTED
    return ClaimVerdict.SUPPORTED if verdicts == {ClaimVerdict.SUPPORTED} else ClaimVerdict.UNDECIDED


def _held(claim: Claim, held: Held, data: Campaign, confidence: float) -> Evidence:
    fom = held.fom or claim.fom
    reference, contender = (
        list(_values(data, one, fom, held.at)) for one in (held.reference, held.contender)
    )
    if not reference or not contender:
        raise ValueError(f"claim {claim.id}: {claim.data} has no {fom} of both sides")  # a test judges all
    # Runs of different days have no block in common: stacked, no row has both sides.
    nothing = [math.nan]
    found = ratios(
        np.array([reference + nothing * len(contender)]).T,
        np.array([nothing * len(reference) + contender]).T,
        confidence,
    )
    ratio = float(found.ratio[0])
    has_interval = bool(np.isfinite(found.low[0]))
    low, high = (float(found.low[0]), float(found.high[0])) if has_interval else (None, None)
    leans_to = _of_interval(claim, ratio, ratio)
    counts = (len(reference), len(contender))
    return Evidence(
        what=f"{fom}{_place(held.at)}, {_words(held.contender)} / {_words(held.reference)}",
        n_reference=counts[0],
        n_contender=counts[1],
        ratio=ratio,
        low=low,
        high=high,
        verdict=ClaimVerdict.UNDECIDED if low is None or high is None else _of_interval(claim, low, high),
        leans_to=leans_to,
        why=_why(claim, leans_to, counts, has_interval=has_interval),
    )


def _of_interval(claim: Claim, low: float, high: float) -> ClaimVerdict:
    """Return what an interval says; a point estimate is one of no width."""
    match claim.kind:
        case Judgement.EQUIVALENT:
            holds, fails = is_within(low, high, claim.margin), is_beyond(low, high, claim.margin)
        case Judgement.HIGHER:
            holds, fails = low > 1, high < 1
        case _:
            holds, fails = high < 1, low > 1
    if holds:
        return ClaimVerdict.SUPPORTED
    return ClaimVerdict.CONTRADICTED if fails else ClaimVerdict.UNDECIDED


def _why(claim: Claim, leans_to: ClaimVerdict, counts: tuple[int, int], *, has_interval: bool) -> str:
    if has_interval:
        return "unpaired: what changed between the days of the two sides is not in the interval"
    if counts == (1, 1):
        runs = "single runs have no interval"
    else:
        runs = f"{counts[1]} and {counts[0]} runs: an interval takes {MIN_BLOCKS} on both sides"
    leaning = _LEANINGS[leans_to]
    if claim.kind is Judgement.EQUIVALENT:
        place = "within" if leans_to is ClaimVerdict.SUPPORTED else "beyond"
        return f"{runs}; the ratio lies {place} ± {claim.margin * 100:g} % and leans {leaning}"
    return f"{runs}; the ratio leans {leaning}"


_LEANINGS = {
    ClaimVerdict.SUPPORTED: "to the claim",
    ClaimVerdict.CONTRADICTED: "against the claim",
    ClaimVerdict.UNDECIDED: "to neither side",
}


def _ranked(claim: Claim, data: Campaign, confidence: float) -> Evidence:
    """Return how well two figures have the same order over the levels of a setting.

    Kendall's tau with its exact one-sided distribution (Kendall 1938, Biometrika 30:81). The levels are
    the evidence: how often each was measured does not make them more.
    """
    from scipy.stats import kendalltau

    levels = list(dict.fromkeys(case.settings[claim.over] for case in data.plan.cases))
    effect, cause = ([_one(claim, data, level, fom) for level in levels] for fom in (claim.fom, claim.cause))
    sign = 1 if claim.kind is Judgement.FOLLOWS else -1
    found = kendalltau(effect, [sign * value for value in cause], method="exact", alternative="greater")
    against = kendalltau(effect, [-sign * value for value in cause], method="exact", alternative="greater")
    tau, chance = float(found.statistic), float(found.pvalue)
    alpha = (1 - confidence) / 2
    verdict = ClaimVerdict.SUPPORTED if chance <= alpha else ClaimVerdict.UNDECIDED
    if float(against.pvalue) <= alpha:
        verdict = ClaimVerdict.CONTRADICTED
    leaning = ClaimVerdict.SUPPORTED if tau > 0 else ClaimVerdict.CONTRADICTED
    n_orders = math.factorial(len(levels))
    order = "the same order" if sign == 1 else "the opposite order"
    return Evidence(
        what=f"order of {claim.fom} over {claim.over}, against {claim.cause}",
        n_reference=len(levels),
        n_contender=len(levels),
        tau=sign * tau,
        chance=chance,
        verdict=verdict,
        leans_to=leaning if tau else ClaimVerdict.UNDECIDED,
        why=(
            f"{round(chance * n_orders)} of the {n_orders} orders of {len(levels)} levels come as close to "
            f"{order} ({chance * 100:.2g} %); at most {alpha * 100:g} % would decide"
        ),
    )


def _one(claim: Claim, data: Campaign, level: Scalar, fom: str) -> float:
    values = list(_values(data, {claim.over: level}, fom))
    if not values:
        raise ValueError(f"claim {claim.id}: {claim.data} has no {fom} at {claim.over}={level}")
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _values(
    data: Campaign, chosen: Chosen, fom: str, at: Mapping[str, Scalar] = MappingProxyType({})
) -> Iterator[float]:
    """Yield the values of `fom` at these coordinates, one a run, of the cases with the chosen settings."""
    cases = {case.id for case in data.plan.cases if _has(case.settings, chosen)}
    for attempt in data.measured():
        for series in attempt.series:
            if attempt.case in cases and series.fom == fom:
                yield from (one.value for one in series.measurements() if at.items() <= dict(one.at).items())


def _has(settings: Settings, chosen: Chosen) -> bool:
    return all(
        settings.get(name) in (value if isinstance(value, tuple) else (value,))
        for name, value in chosen.items()
    )


def _place(at: Mapping[str, Scalar]) -> str:
    return f" ({', '.join(map(str, at.values()))})" if at else ""


def _words(chosen: Chosen) -> str:
    return " ".join(
        f"{name}={'|'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in chosen.items()
    )
