"""Can I trust it? Noise, load, repeats, retries, and the proof of the network, in figures."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from tare.answers.calibration import Calibration
from tare.model.attempt import Attempt
from tare.model.campaign import Campaign
from tare.model.comparison import Estimate
from tare.report.charts.panels import is_shown
from tare.report.sections.accounting import Account
from tare.report.sides import Place, Side, Sides
from tare.report.words.numbers import NARROW, coordinate, count, number, percent, words


@dataclasses.dataclass(frozen=True)
class Noise:
    """How a case scatters from block to block: coefficients of variation over its sizes, and as a whole."""

    side: Side
    place: Place
    case: str
    n_blocks: int
    median: float
    largest: float
    largest_at: str
    whole: str


def noises(
    estimates: Sequence[Estimate], campaign: Campaign, sides: Sides, whole: Mapping[str, str] | None = None
) -> list[Noise]:
    """Return the noise of each case's primary figures of merit, in the order of places and sides.

    `whole` says, by case, how the mean over all sizes scatters.
    """
    found: dict[str, list[Estimate]] = {}
    for one in estimates:
        if one.cv is not None and is_shown(campaign, one.case, one.fom):
            found.setdefault(one.case, []).append(one)
    rows = [_noise(case, alike, sides, (whole or {}).get(case, "")) for case, alike in found.items()]
    return sorted(rows, key=lambda row: (sides.places.index(row.place), row.side.index))


def _noise(case: str, alike: list[Estimate], sides: Sides, whole: str) -> Noise:
    worst = max(alike, key=lambda one: one.cv or 0.0)
    where = " · ".join(coordinate(name, value) for name, value in worst.at.items())
    return Noise(
        side=sides.side_of[case],
        place=sides.place_of[case],
        case=case,
        n_blocks=max(one.n_blocks for one in alike),
        median=statistics.median(one.cv or 0.0 for one in alike),
        largest=worst.cv or 0.0,
        largest_at=f"{words(worst.fom)} {where}".rstrip(),
        whole=whole,
    )


def facts(
    campaign: Campaign, account: Account, noise: Sequence[Noise], calibration: Calibration | None = None
) -> list[tuple[str, str]]:
    """Return what bears on trust, as a term and a sentence each."""
    found = [
        ("Noise", _noise_sentence(noise)),
        ("Load", _load_sentence(campaign)),
        ("Transport", _transport_sentence(campaign)),
        ("Repeats", _repeats_sentence(campaign, account)),
        ("Order", _order_sentence(campaign)),
    ]
    return [*found, ("A/A", _calibration_sentence(calibration))] if calibration else found


def _calibration_sentence(calibration: Calibration) -> str:
    """Return what the reference against itself showed at this place: ``false alarms 3 of 96``."""
    alarms = count(calibration.false_alarms, "false alarm")
    said = (
        f"The reference against itself, measured apart: {alarms} in {calibration.n_comparisons} comparisons."
    )
    if calibration.alarm_rate is None:
        return said
    rate = percent(calibration.alarm_rate, is_signed=False)
    return f"{said} With its labels exchanged at random, {rate} of comparisons alarm."


def _noise_sentence(noise: Sequence[Noise]) -> str:
    if not noise:
        return "Not known: no case has two measured blocks."
    low, high = min(row.median for row in noise), max(row.median for row in noise)
    ends = percent(low, is_signed=False), percent(high, is_signed=False)
    span = ends[1] if ends[0] == ends[1] else f"{ends[0].removesuffix(f'{NARROW}%')} to {ends[1]}"
    return f"Runs of one case scatter by {span} (coefficient of variation, median over sizes, by case)."


def _load_sentence(campaign: Campaign) -> str:
    loads = [one.load for one in campaign.measured() if one.load is not None]
    if not loads:
        return "The load of the machine was not recorded."
    return (
        f"The one-minute load average was {number(min(loads), 2)} to {number(max(loads), 2)} "
        f"when runs started (median {number(statistics.median(loads), 2)})."
    )


def _transport_sentence(campaign: Campaign) -> str:
    cases = campaign.cases
    runs = [
        one for one in campaign.measured() if cases[one.case].layout.nodes > 1 and cases[one.case].network
    ]
    if not runs:
        return "No measured run spans several nodes over a named network; there was nothing to prove."
    proven = [one for one in runs if one.transport]
    words = _words_sentence(runs)
    if len(proven) == len(runs):
        return (
            f"Proven on every one of {count(len(runs), 'measured run')}: byte counters show that the network "
            f"which was asked for carried the data. {words}"
        )
    return (
        f"Proven on {len(proven)} of {count(len(runs), 'measured run')} by byte counters; "
        f"not on the other {len(runs) - len(proven)}. {words}"
    )


def _words_sentence(runs: Sequence[Attempt]) -> str:
    """Return on how many of `runs` the MPI itself told its transport."""
    told = sum(1 for one in runs if one.chosen)
    if told == len(runs):
        return "On each, the MPI itself says that it chose it."
    if told:
        return f"On {told} of them the MPI itself says that it chose it; on the others it said nothing."
    return "Which transport the MPI chose is not known in its own words."


def _order_sentence(campaign: Campaign) -> str:
    if campaign.is_imported:
        return "These runs were imported: in what order they were made, Tare cannot say."
    return f"Each block passes once over all cases, in a random order (seed {campaign.plan.seed})."


def _repeats_sentence(campaign: Campaign, account: Account) -> str:
    blocks = {one.block for one in campaign.measured()}
    warm = f", after {count(account.n_warmup, 'warm-up run')} that do not count" if account.n_warmup else ""
    again = (
        f"{count(account.n_repeated, 'further attempt was', 'further attempts were')} made because "
        "the infrastructure had failed, or tare had ended before the run did."
        if account.n_repeated
        else "No run had to be tried again."
    )
    return f"{count(len(blocks), 'block')} measured{warm}. {again}"
