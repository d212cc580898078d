"""All the answers that a report gives, computed once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tare.answers.calibration import Calibration, calibration
from tare.answers.compare import aggregates, comparisons, overview_of
from tare.answers.curves import Curves, curves
from tare.answers.distribution import Diagnosis, diagnose
from tare.answers.estimate import estimates
from tare.answers.explanation import Reason, explanations
from tare.answers.headline import Headline, headlines
from tare.answers.scaling import scalings
from tare.answers.trust import Trust, trust
from tare.answers.variability import Variability, variabilities
from tare.model.campaign import Campaign
from tare.model.comparison import Comparison, Estimate
from tare.model.scaling import ScalingCurve


@dataclasses.dataclass(frozen=True)
class ReportAnswers:
    """What the statistics say of a campaign: see tare.answers."""

    estimates: Sequence[Estimate]
    comparisons: Sequence[Comparison]
    aggregates: Sequence[Comparison]
    overview: Sequence[Comparison]
    headlines: Sequence[Headline]
    trust: Trust
    variabilities: Sequence[Variability]
    scalings: Sequence[ScalingCurve]
    curves: Curves
    diagnosis: Diagnosis
    reasons: Sequence[Reason] = ()
    calibration: Calibration | None = None

    @classmethod
    def of(cls, campaign: Campaign, calibrated: Campaign | None = None) -> ReportAnswers:
        """Return all the answers that a report of `campaign` gives; `calibrated` is an A/A campaign."""
        by_figure = aggregates(campaign)
        return cls(
            estimates=estimates(campaign),
            comparisons=comparisons(campaign),
            aggregates=by_figure,
            overview=overview_of(by_figure),
            headlines=headlines(campaign, figures=by_figure),
            trust=trust(campaign),
            variabilities=variabilities(campaign),
            scalings=scalings(campaign),
            curves=curves(campaign),
            diagnosis=diagnose(campaign),
            reasons=explanations(campaign),
            calibration=calibration(calibrated) if calibrated else None,
        )
