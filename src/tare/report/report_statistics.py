"""The statistics that a report shows, computed once."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from tare.analysis.attribution import attributions
from tare.analysis.calibration import Calibration, calibration
from tare.analysis.compare import aggregates, comparison_rows, overview_of
from tare.analysis.comparison_rows import ComparisonRows
from tare.analysis.correlates import Reason, explanations
from tare.analysis.curves import Curves, curves
from tare.analysis.distribution import Diagnosis, diagnose
from tare.analysis.estimate import EstimateRows, estimate_rows
from tare.analysis.headline import Headline, headlines
from tare.analysis.prediction import predictions
from tare.analysis.quality import Quality, quality
from tare.analysis.scaling import scalings
from tare.analysis.tolerance import tolerances
from tare.analysis.variability import Variability, variabilities
from tare.core.attribution import Attribution
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.prediction import Prediction, Tolerance
from tare.core.scaling import ScalingCurve


@dataclasses.dataclass(frozen=True)
class ReportStatistics:
    """The statistics of a campaign; tare.analysis explains them."""

    estimates: EstimateRows
    comparisons: ComparisonRows
    aggregates: Sequence[Comparison]
    overview: Sequence[Comparison]
    headlines: Sequence[Headline]
    quality: Quality
    variabilities: Sequence[Variability]
    scalings: Sequence[ScalingCurve]
    curves: Curves
    diagnosis: Diagnosis
    reasons: Sequence[Reason] = ()
    attributions: Sequence[Attribution] = ()
    predictions: Sequence[Prediction] = ()
    tolerances: Sequence[Tolerance] = ()
    calibration: Calibration | None = None

    @classmethod
    def of(
        cls, campaign: Campaign, calibrated: Campaign | None = None, foms: Collection[str] = ()
    ) -> ReportStatistics:
        """Return the statistics for a report on `campaign`; `calibrated` is the campaign of an A/A study.

        The scaling is that of the figures of merit `foms`, by default of those that the workloads declare.
        Figures of telemetry are estimated only if `foms` name them.
        """
        by_figure = aggregates(campaign)
        return cls(
            estimates=estimate_rows(campaign, foms),
            comparisons=comparison_rows(campaign),
            aggregates=by_figure,
            overview=overview_of(by_figure),
            headlines=headlines(campaign),
            quality=quality(campaign),
            variabilities=variabilities(campaign),
            scalings=scalings(campaign, foms=foms),
            curves=curves(campaign),
            diagnosis=diagnose(campaign),
            reasons=explanations(campaign),
            attributions=attributions(campaign),
            predictions=predictions(campaign),
            tolerances=tolerances(campaign),
            calibration=calibration(calibrated) if calibrated else None,
        )
