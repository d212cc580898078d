"""Tare: what a platform costs an HPC workload, against a reference, with its uncertainty.

From Python::

    import tare

    campaign = tare.open_campaign("campaigns/demo")
    campaign.compare().to_polars()
    campaign.measurements()

`tare.plan_study` and `tare.run_study` plan and run a study. docs/python.md explains all names, and what is
promised of them. Nothing but the version is imported before it is used.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tare.api.campaign import Campaign, open_campaign
    from tare.api.causes import Attributions, Predictions, Tolerances
    from tare.api.reparsing import reparse_campaign
    from tare.api.results import Comparisons, Estimates, ScalingCurves
    from tare.api.running import EventKind, RunEvent, run_study
    from tare.api.study_plan import StudyPlan, plan_study
    from tare.core.attribution import Attribution
    from tare.core.comparison import Comparison, Estimate
    from tare.core.errors import (
        CampaignError,
        CampaignLocked,
        DiskFull,
        Fault,
        FileFaults,
        InfrastructureError,
        NoCampaign,
        TareError,
        UsageError,
    )
    from tare.core.prediction import Prediction, Tolerance
    from tare.core.scaling import ScalingCurve

_PLACES = {
    "Attribution": "tare.core.attribution",
    "Attributions": "tare.api.causes",
    "Campaign": "tare.api.campaign",
    "CampaignError": "tare.core.errors",
    "CampaignLocked": "tare.core.errors",
    "Comparison": "tare.core.comparison",
    "Comparisons": "tare.api.results",
    "DiskFull": "tare.core.errors",
    "Estimate": "tare.core.comparison",
    "Estimates": "tare.api.results",
    "EventKind": "tare.api.running",
    "Fault": "tare.core.errors",
    "FileFaults": "tare.core.errors",
    "InfrastructureError": "tare.core.errors",
    "NoCampaign": "tare.core.errors",
    "Prediction": "tare.core.prediction",
    "Predictions": "tare.api.causes",
    "RunEvent": "tare.api.running",
    "ScalingCurve": "tare.core.scaling",
    "ScalingCurves": "tare.api.results",
    "StudyPlan": "tare.api.study_plan",
    "TareError": "tare.core.errors",
    "Tolerance": "tare.core.prediction",
    "Tolerances": "tare.api.causes",
    "UsageError": "tare.core.errors",
    "open_campaign": "tare.api.campaign",
    "plan_study": "tare.api.study_plan",
    "reparse_campaign": "tare.api.reparsing",
    "run_study": "tare.api.running",
}
"""The module of each public name, so that `import tare` need not import it."""

__all__ = [
    "Attribution",
    "Attributions",
    "Campaign",
    "CampaignError",
    "CampaignLocked",
    "Comparison",
    "Comparisons",
    "DiskFull",
    "Estimate",
    "Estimates",
    "EventKind",
    "Fault",
    "FileFaults",
    "InfrastructureError",
    "NoCampaign",
    "Prediction",
    "Predictions",
    "RunEvent",
    "ScalingCurve",
    "ScalingCurves",
    "StudyPlan",
    "TareError",
    "Tolerance",
    "Tolerances",
    "UsageError",
    "__version__",
    "open_campaign",
    "plan_study",
    "reparse_campaign",
    "run_study",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        import sys

        message = f"module 'tare' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    import importlib

    found: object = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
