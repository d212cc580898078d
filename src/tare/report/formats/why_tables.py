"""Write what the section *Why?* shows as CSV (RFC 4180), with all digits, a file for each kind of table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tare.core.attribution import Attribution, Cause, ScatterCause
from tare.core.interval import Bounded
from tare.core.prediction import Prediction, Tolerance
from tare.report.formats.tables import written
from tare.report.report_statistics import ReportStatistics
from tare.report.variants import Variants
from tare.report.words.scatter_causes import is_scatter_told

FOLDER = "why"

_PART = ("case", "where", "reference", "contender", "kind", "name", "least_bytes", "most_bytes")
_SHARE = ("share", "share_low", "share_high", "is_certain")
_DIFFERENCE = ("difference_s", "difference_low_s", "difference_high_s")
_ATTRIBUTION = (*_PART, "reference_s", "contender_s", *_DIFFERENCE, *_SHARE, "blocks")
_SCATTER = (*_PART, "reference_sd_s", "contender_sd_s", *_SHARE, "blocks")
_SIDES = ("reference", "reference_platform", "contender", "contender_platform")
_RATIOS = (
    "predicted_ratio",
    "predicted_low",
    "predicted_high",
    "measured_ratio",
    "measured_low",
    "measured_high",
)
_PREDICTION = (
    "workload",
    "case",
    *_SIDES,
    "reference_s",
    *_DIFFERENCE,
    *_RATIOS,
    "is_inside",
    "remarks",
    "refusal",
)
_TOLERANCE = (
    "workload",
    "case",
    "platform",
    "network",
    "nodes",
    "share",
    "latency_s",
    "latency_low_s",
    "latency_high_s",
    "bandwidth",
    "bandwidth_low",
    "bandwidth_high",
    "messages",
    "n_bytes",
    "runs",
)

_Row = tuple[object, ...]


def why_csv(statistics: ReportStatistics, variants: Variants) -> dict[str, str]:
    """Return the text of each file by its name; there is none for a table without rows."""
    made: dict[str, tuple[Sequence[str], list[_Row]]] = {
        "attribution.csv": (_ATTRIBUTION, [*_attributed(statistics.attributions, variants)]),
        "scatter.csv": (_SCATTER, [*_scattered(statistics.attributions, variants)]),
        "predictions.csv": (_PREDICTION, [*map(_predicted, statistics.predictions)]),
        "tolerances.csv": (_TOLERANCE, [*_tolerated(statistics.tolerances)]),
    }
    return {name: written(head, rows) for name, (head, rows) in made.items() if rows}


def _attributed(found: Sequence[Attribution], variants: Variants) -> Iterator[_Row]:
    for one in found:
        for cause in one.causes:
            yield (
                *_part(one, cause, variants),
                cause.reference_s,
                cause.contender_s,
                *_bounds(cause.difference_s),
                *_bounds(cause.share),
                _yes(cause.is_certain),
                one.n_blocks,
            )


def _scattered(found: Sequence[Attribution], variants: Variants) -> Iterator[_Row]:
    for one in found:
        if one.scatter is None or not is_scatter_told(one.scatter):
            continue
        for cause in one.scatter.causes:
            yield (
                *_part(one, cause, variants),
                cause.reference_sd_s,
                cause.contender_sd_s,
                *_bounds(cause.share),
                _yes(cause.is_certain),
                one.scatter.n_blocks,
            )


def _part(one: Attribution, cause: Cause | ScatterCause, variants: Variants) -> _Row:
    return (
        one.contender_case,
        variants.configuration_of[one.contender_case].label,
        variants.variant_of[one.reference_case].name,
        variants.variant_of[one.contender_case].name,
        cause.kind.value,
        cause.name,
        cause.least_bytes,
        cause.most_bytes,
    )


def _predicted(one: Prediction) -> _Row:
    return (
        one.workload,
        one.case,
        one.reference,
        one.reference_platform,
        one.contender,
        one.contender_platform,
        one.reference_s,
        *_bounds(one.difference_s),
        *_bounds(one.ratio),
        *_bounds(one.measured_ratio),
        _yes(one.is_inside),
        "; ".join(one.remarks),
        one.refusal,
    )


def _tolerated(found: Sequence[Tolerance]) -> Iterator[_Row]:
    for one in found:
        for limit in one.limits:
            yield (
                one.workload,
                one.case,
                one.platform,
                one.network,
                one.nodes,
                limit.share,
                *_bounds(limit.latency_s),
                *_bounds(limit.bandwidth),
                one.messages,
                one.n_bytes,
                one.n_runs,
            )


def _bounds(one: Bounded | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if one is None else (one.value, one.low, one.high)


def _yes(is_so: bool | None) -> str | None:
    return None if is_so is None else "yes" if is_so else "no"
