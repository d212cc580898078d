"""The facts on which trust in the results rests: noise, load, transport, repeats and order of the runs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from tare.analysis.estimate import EstimateRows
from tare.analysis.proofs import Weakness, uncrossed
from tare.analysis.trust.calibration import Calibration
from tare.core.attempt import Attempt, Proof
from tare.core.campaign import Campaign
from tare.core.counting import count
from tare.report.charts.panels import shown_by_case
from tare.report.history import History, history
from tare.report.sections.design import further_sentences, order_sentences
from tare.report.sections.imported import imported_order
from tare.report.variants import Configuration, Variant, Variants
from tare.report.words.accounting import Account
from tare.report.words.numbers import NARROW, coordinate, number, percent, words


@dataclasses.dataclass(frozen=True)
class Noise:
    """The scatter of a case from block to block: coefficients of variation over its sizes, and as a whole."""

    variant: Variant
    configuration: Configuration
    case: str
    n_blocks: int
    median: float
    largest: float
    largest_at: str
    whole: str


def noises(
    estimates: EstimateRows,
    campaign: Campaign,
    variants: Variants,
    whole: Mapping[str, str] | None = None,
) -> list[Noise]:
    """Return the noise of each case's shown figures of merit, in the order of configurations and variants.

    `whole` maps a case to a text on the scatter of its mean over all sizes.
    """
    shown = shown_by_case(campaign)
    found = (
        _noise(case, shown[case], estimates, variants, (whole or {}).get(case, ""))
        for case in estimates.cases
    )
    order = {configuration: rank for rank, configuration in enumerate(variants.configurations)}
    return sorted(filter(None, found), key=lambda row: (order[row.configuration], row.variant.index))


def _noise(
    case: str, shown: Collection[str], estimates: EstimateRows, variants: Variants, whole: str
) -> Noise | None:
    """Return the noise of the figures of merit `shown` of a case; None where no scatter is known."""
    cells = [cell for cell in estimates.cells(case) if cell.fom in shown]
    columns = estimates.columns(case, cells)
    cvs = estimates.found.cv[columns]
    known = np.flatnonzero(np.isfinite(cvs))
    if not known.size:
        return None
    worst = int(known[cvs[known].argmax()])
    where = " · ".join(coordinate(name, value) for name, value in cells[worst].at)
    return Noise(
        variant=variants.variant_of[case],
        configuration=variants.configuration_of[case],
        case=case,
        n_blocks=int(estimates.found.n_blocks[columns[known]].max()),
        median=statistics.median(cvs[known].tolist()),
        largest=float(cvs[worst]),
        largest_at=f"{words(cells[worst].fom)} {where}".rstrip(),
        whole=whole,
    )


def quality_facts(
    campaign: Campaign, account: Account, noise: Sequence[Noise], calibration: Calibration | None = None
) -> list[tuple[str, str]]:
    """Return the facts on which trust rests, each as a term and a text."""
    record = history(campaign)
    found = [
        ("Noise", _noise_sentence(noise)),
        ("Load", _load_sentence(campaign)),
        ("Transport", f"{_transport_sentence(campaign)}{_one_node_sentence(campaign)}"),
        ("Repeats", _repeats_sentence(campaign, account, record)),
        ("Order", _order_sentence(campaign, record)),
    ]
    return [*found, ("A/A", _calibration_sentence(calibration))] if calibration else found


def _calibration_sentence(calibration: Calibration) -> str:
    """Return the result of the A/A study: the number of false alarms among its comparisons."""
    alarms = count(calibration.false_alarms, "false alarm")
    text = (
        f"The reference against itself, measured apart: {alarms} in "
        f"{count(calibration.n_comparisons, 'comparison')}."
    )
    if calibration.alarm_rate is None:
        return text
    rate = percent(calibration.alarm_rate, is_signed=False)
    return f"{text} With its labels exchanged at random, {rate} of comparisons alarm."


def _noise_sentence(noise: Sequence[Noise]) -> str:
    if not noise:
        return "Not known: no case has two measured blocks with a figure whose mean is not zero."
    low, high = min(row.median for row in noise), max(row.median for row in noise)
    ends = percent(low, is_signed=False), percent(high, is_signed=False)
    span = ends[1] if ends[0] == ends[1] else f"{ends[0].removesuffix(f'{NARROW}%')} to {ends[1]}"
    what = "coefficient of variation, by case; of several figures or sizes their median"
    return f"Runs of one case scatter by {span} ({what})."


def _load_sentence(campaign: Campaign) -> str:
    loads = [one.load for one in campaign.measured() if one.load is not None]
    if not loads:
        return "The load of the machine was not recorded."
    low, high, median = (number(one, 2) for one in (min(loads), max(loads), statistics.median(loads)))
    if low == high:
        return f"The one-minute load average was {low} when runs started."
    return f"The one-minute load average was {low} to {high} when runs started (median {median})."


def _transport_sentence(campaign: Campaign) -> str:
    """Return for how many runs the network is proven, and by which evidence."""
    cases = campaign.cases
    runs = [
        one for one in campaign.measured() if cases[one.case].layout.nodes > 1 and cases[one.case].network
    ]
    if not runs:
        return "No measured run spans several nodes over a named network; there was nothing to prove."
    judged = [one for one in runs if one.proof is not None]
    older = [one for one in runs if one.proof is None and one.transport]
    n_others = len(runs) - len(judged) - len(older)
    if not judged and not older:
        return "No measured run had to prove which network its data took between nodes."
    parts = [_strength_sentence(proof, judged) for proof in Proof]
    if older:
        parts.append(
            f"{count(len(older), 'run was', 'runs were')} judged by an earlier version of Tare, which may "
            "have taken start-up traffic for proof."
        )
    if n_others:
        parts.append(f"{count(n_others, 'run')} had nothing to prove.")
    return " ".join([*filter(None, parts), _words_sentence([*judged, *older])])


def _one_node_sentence(campaign: Campaign) -> str:
    """Return a remark on one-node cases that differ from their reference in the network; may be empty."""
    n_cases = sum(1 for one in uncrossed(campaign) if one.weakness is Weakness.ONE_NODE)
    if not n_cases:
        return ""
    some = count(n_cases, "case differs", "cases differ")
    return (
        f" {some} from the reference in the network, with all ranks on one node: nothing that they send each "
        "other crosses it."
    )


def _strength_sentence(proof: Proof, judged: Sequence[Attempt]) -> str:
    """Return the sentence on the runs with a proof of that strength; empty if there are none."""
    n_runs = sum(1 for one in judged if one.proof is proof)
    if n_runs == 0:
        return ""
    share = "each" if n_runs == len(judged) else str(n_runs)
    of = f"{share} of {count(len(judged), 'measured run')}"
    network = "the network which was asked for"
    match proof:
        case Proof.COUNTED:
            return f"Counted on {of}: byte counters show that {network} carried the data."
        case Proof.REPORTED:
            return f"Reported on {of}: no counter shows it, but the MPI itself names {network}."
        case Proof.NOT_PROVEN:
            return (
                f"Not proven on {of}: no counter shows that {network} carried the data, and the MPI did not "
                "report it."
            )


def _words_sentence(runs: Sequence[Attempt]) -> str:
    """Return for how many of `runs` the MPI library itself reported its transport."""
    n_reported = sum(1 for one in runs if one.chosen)
    if n_reported == len(runs):
        return "On each, the MPI itself reported its transport."
    if n_reported:
        return f"On {n_reported} of them the MPI itself reported its transport; on the others it did not."
    return "The MPI did not report which transport it chose."


def _order_sentence(campaign: Campaign, found: History) -> str:
    sentences = [*order_sentences(campaign, found)]
    if sentences:
        return " ".join(sentences)
    if campaign.is_imported:
        runs = [one for one in campaign.measured() if one.source is not None]
        return f"These runs were imported: {imported_order(runs)}."
    return "No two runs were made in one pass over the cases."


def _repeats_sentence(campaign: Campaign, account: Account, found: History) -> str:
    blocks = {one.block for one in campaign.measured()}
    warm = f"; {count(account.n_warmup, 'warm-up run')} beside them" if account.n_warmup else ""
    sessions = f" in {len(found.sessions)} sessions" if len(found.sessions) > 1 else ""
    further = " ".join(further_sentences(found)) if found.sessions else ""
    return f"{count(len(blocks), 'block')} measured{sessions}{warm}. {further}".strip()
