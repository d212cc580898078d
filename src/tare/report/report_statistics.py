"""The statistics that a report shows, each computed once."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Sequence

from tare.analysis.causes.attribution import attributions
from tare.analysis.causes.correlates import Reason, explanations
from tare.analysis.estimate import EstimateRows, estimate_rows
from tare.analysis.predictions.prediction import predictions
from tare.analysis.predictions.tolerance import tolerances
from tare.analysis.scales.curves import Curves, curves
from tare.analysis.scales.scaling import scalings
from tare.analysis.trust.calibration import Calibration, calibration
from tare.analysis.trust.quality import Quality, quality
from tare.analysis.verdicts.compare import aggregates, comparison_rows, overview_of
from tare.analysis.verdicts.comparison_rows import ComparisonRows
from tare.analysis.verdicts.distribution import Diagnosis, diagnose
from tare.analysis.verdicts.headline import Headline, headlines
from tare.analysis.verdicts.variability import Variability, variabilities
from tare.core.attribution import Attribution
from tare.core.campaign import Campaign
from tare.core.comparison import Comparison
from tare.core.prediction import Prediction, Tolerance
from tare.core.scaling import ScalingCurve
from tare.report.listing import MOST_ROWS


@dataclasses.dataclass(frozen=True, eq=False)
class ReportStatistics:
    """The statistics of a campaign; tare.analysis explains them. Each is computed when it is first used.

    So the charts, which other processes draw, are made before the rest is computed. `foms` are the figures of
    merit that a user chose.
    """

    campaign: Campaign
    calibration: Calibration | None = None
    foms: Collection[str] = ()

    @classmethod
    def of(
        cls, campaign: Campaign, calibrated: Campaign | None = None, foms: Collection[str] = ()
    ) -> ReportStatistics:
        """Return the statistics for a report on `campaign`; `calibrated` is the campaign of an A/A study.

        The scaling is that of the figures of merit `foms`, by default of those that the workloads declare.
        Figures of telemetry are estimated only if `foms` name them. Raises UsageError if `calibrated` is of
        no A/A study.
        """
        return cls(campaign, calibration(calibrated) if calibrated else None, tuple(foms))

    @functools.cached_property
    def estimates(self) -> EstimateRows:
        """Return the estimate of each figure of each case at each point."""
        return estimate_rows(self.campaign, self.foms)

    @functools.cached_property
    def comparisons(self) -> ComparisonRows:
        """Return the comparison of each point with its reference."""
        return comparison_rows(self.campaign)

    @functools.cached_property
    def aggregates(self) -> Sequence[Comparison]:
        """Return the comparison of each figure over its coordinates."""
        return aggregates(self.campaign)

    @functools.cached_property
    def overview(self) -> Sequence[Comparison]:
        """Return one comparison for each contender."""
        return overview_of(self.aggregates)

    @functools.cached_property
    def headlines(self) -> Sequence[Headline]:
        """Return the figures that answer the question."""
        return headlines(self.campaign)

    @functools.cached_property
    def quality(self) -> Quality:
        """Return the warnings, and what was tested."""
        return quality(self.campaign)

    @functools.cached_property
    def variabilities(self) -> Sequence[Variability]:
        """Return the comparisons of scatter."""
        return variabilities(self.campaign)

    @functools.cached_property
    def scalings(self) -> Sequence[ScalingCurve]:
        """Return the scaling curves."""
        return scalings(self.campaign, foms=self.foms)

    @functools.cached_property
    def curves(self) -> Curves:
        """Return what figures do along sizes and settings; of Hockney's lines, those that a page shows."""
        return curves(self.campaign, most_lines=MOST_ROWS)

    @functools.cached_property
    def diagnosis(self) -> Diagnosis:
        """Return which ratios depart from a log-normal distribution."""
        return diagnose(self.campaign)

    @functools.cached_property
    def reasons(self) -> Sequence[Reason]:
        """Return the telemetry figures that differ between the sides."""
        return explanations(self.campaign)

    @functools.cached_property
    def attributions(self) -> Sequence[Attribution]:
        """Return what differences consist of."""
        return attributions(self.campaign)

    @functools.cached_property
    def predictions(self) -> Sequence[Prediction]:
        """Return what each profiled case would take on other networks."""
        return predictions(self.campaign)

    @functools.cached_property
    def tolerances(self) -> Sequence[Tolerance]:
        """Return what more latency or less bandwidth costs each profiled case."""
        return tolerances(self.campaign)
