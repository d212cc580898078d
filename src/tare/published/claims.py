"""Judge published claims by the published figures: supported, contradicted, undecided or not in the data.

The claims of the articles are in data/claims.toml. A claim is judged by the interval of its figures, in the
same way as a measurement by Tare. A figure that was measured once has no interval. It can only lean to one
side; it decides nothing.
"""

from __future__ import annotations

import enum
import functools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
import numpy as np

from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.core.decoding import convert
from tare.core.margins import is_beyond, is_within
from tare.core.values import Scalar, Settings
from tare.published.runs import as_campaign
from tare.published.tables import DATA, read_publication
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS
from tare.stats.ratios import ratios

Chosen = Mapping[str, Scalar | tuple[Scalar, ...]]
"""Settings that select runs; if a setting has several values, their runs are pooled."""


class Judgement(enum.StrEnum):
    """What a claim asserts about its figures."""

    EQUIVALENT = "equivalent"
    """Each ratio lies within the margin."""
    HIGHER = "higher"
    """Each ratio is above 1."""
    LOWER = "lower"
    """Each ratio is below 1."""
    FOLLOWS = "follows"
    """The figures have the same rank order as those of a cause."""
    FOLLOWS_INVERSELY = "follows inversely"
    """The figures have the opposite rank order to those of a cause."""
    ABSENT = "absent"
    """The data set has no figures for it."""


class ClaimVerdict(enum.StrEnum):
    """What the data say about a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_IN_THE_DATA = "not in the data"

    @property
    def sign(self) -> str:
        """Return a symbol with its own shape for each verdict."""
        return _SIGNS[self]


_SIGNS = {
    ClaimVerdict.SUPPORTED: "✓",
    ClaimVerdict.CONTRADICTED: "✗",
    ClaimVerdict.UNDECIDED: "▨",
    ClaimVerdict.NOT_IN_THE_DATA: "–",
}


class Held(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two sets of runs to compare. `fom` defaults to the claim's own; `at` are the figure's coordinates."""

    contender: dict[str, Scalar | tuple[Scalar, ...]]
    reference: dict[str, Scalar | tuple[Scalar, ...]]
    fom: str | None = None
    at: dict[str, Scalar] = {}


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claim and how to test it. `data` names the table; None if there is none.

    Ratios within `margin` count as equal. `cause` and `over` are for a claim that one figure follows another
    over the levels of a setting. `note` gives facts about the data that the numbers do not show.
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
    """One ratio (contender / reference) or one rank correlation (`tau`), and the verdict from it alone.

    `chance` is the probability that a rank order at least this close occurs by accident. `leans_to` is the
    verdict that the point estimate alone would give; it decides nothing.
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
    """A claim, its evidence, and its verdict: supported only where all of the evidence supports it."""

    claim: Claim
    verdict: ClaimVerdict
    evidence: tuple[Evidence, ...] = ()
    why: str = ""


class _ClaimsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    claims: tuple[Claim, ...]


def read_claims() -> tuple[Claim, ...]:
    """Return every claim in the order of the file, including those without figures in a table."""
    text = (DATA / "claims.toml").read_text(encoding="utf-8")
    return convert(tomllib.loads(text), _ClaimsFile).claims


def judge_claims(table: str | None = None) -> list[ClaimFinding]:
    """Return the finding for each claim, or only for the claims that are based on `table`.

    Raises UsageError if there is no such table.
    """
    if table is not None:
        table = read_publication(table).name
    campaigns = functools.cache(_campaign)
    return [
        judge_claim(claim, campaigns(claim.data) if claim.data else None)
        for claim in read_claims()
        if table is None or claim.data == table
    ]


def _campaign(table: str) -> Campaign:
    return as_campaign(read_publication(table))


def judge_claim(claim: Claim, data: Campaign | None) -> ClaimFinding:
    """Judge `claim` by `data`, the claim's table as a campaign."""
    if claim.kind is Judgement.ABSENT or data is None:
        why = claim.note or "no published figures in the data set"
        return ClaimFinding(claim=claim, verdict=ClaimVerdict.NOT_IN_THE_DATA, why=why)
    if claim.kind in (Judgement.FOLLOWS, Judgement.FOLLOWS_INVERSELY):
        evidence: tuple[Evidence, ...] = (_ranked(claim, data),)
    else:
        evidence = tuple(_held(claim, held, data) for held in claim.held)
    return ClaimFinding(claim=claim, verdict=_overall(evidence), evidence=evidence, why=claim.note)


def _overall(evidence: Sequence[Evidence]) -> ClaimVerdict:
    verdicts = {one.verdict for one in evidence}
    if ClaimVerdict.CONTRADICTED in verdicts:
        return ClaimVerdict.CONTRADICTED
    return ClaimVerdict.SUPPORTED if verdicts == {ClaimVerdict.SUPPORTED} else ClaimVerdict.UNDECIDED


def _held(claim: Claim, held: Held, data: Campaign) -> Evidence:
    fom = held.fom or claim.fom
    reference, contender = (
        list(_values(data, one, fom, held.at)) for one in (held.reference, held.contender)
    )
    if not reference or not contender:
        raise ValueError(f"claim {claim.id}: {claim.data} has no {fom} of both sides")  # a test judges all
    # Runs of different days have no block in common: they are stacked, so that no row has both sides.
    nothing = [math.nan]
    found = ratios(
        np.array([reference + nothing * len(contender)]).T,
        np.array([nothing * len(reference) + contender]).T,
    )
    ratio = float(found.ratio[0])
    has_interval = bool(np.isfinite(found.low[0]))
    low, high = (float(found.low[0]), float(found.high[0])) if has_interval else (None, None)
    leans_to = _of_interval(claim, ratio, ratio)
    counts = (len(reference), len(contender))
    return Evidence(
        what=f"{fom}{_at_words(held.at)}, {_words(held.contender)} / {_words(held.reference)}",
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
    """Return the verdict that an interval gives; a point estimate is an interval of width 0."""
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
        runs = f"{counts[1]} and {count(counts[0], 'run')}: an interval takes {MIN_BLOCKS} on both sides"
    leaning = _LEANINGS[leans_to]
    if claim.kind is Judgement.EQUIVALENT:
        position = "within" if leans_to is ClaimVerdict.SUPPORTED else "beyond"
        return f"{runs}; the ratio lies {position} ± {claim.margin * 100:g} % and leans {leaning}"
    return f"{runs}; the ratio leans {leaning}"


_LEANINGS = {
    ClaimVerdict.SUPPORTED: "to the claim",
    ClaimVerdict.CONTRADICTED: "against the claim",
    ClaimVerdict.UNDECIDED: "to neither side",
}


def _ranked(claim: Claim, data: Campaign) -> Evidence:
    """Return how well two figures agree in their order over the levels of a setting.

    Uses Kendall's tau with its exact one-sided distribution (Kendall 1938, Biometrika 30:81). Each level
    counts as one observation, however often it was measured.
    """
    from scipy.stats import kendalltau

    levels = list(dict.fromkeys(case.settings[claim.over] for case in data.plan.cases))
    effect, cause = ([_one(claim, data, level, fom) for level in levels] for fom in (claim.fom, claim.cause))
    sign = 1 if claim.kind is Judgement.FOLLOWS else -1
    found = kendalltau(effect, [sign * value for value in cause], method="exact", alternative="greater")
    against = kendalltau(effect, [-sign * value for value in cause], method="exact", alternative="greater")
    tau, chance = float(found.statistic), float(found.pvalue)
    alpha = (1 - CONFIDENCE) / 2
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
            f"{round(chance * n_orders)} of the {n_orders} orders of {count(len(levels), 'level')} come as "
            "close to "
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
    """Yield the values of `fom` at these coordinates from the cases with the chosen settings, one per run."""
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


def _at_words(at: Mapping[str, Scalar]) -> str:
    return f" ({', '.join(map(str, at.values()))})" if at else ""


def _words(chosen: Chosen) -> str:
    return " ".join(
        f"{name}={'|'.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in chosen.items()
    )
