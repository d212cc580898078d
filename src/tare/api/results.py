"""What a campaign answers, as tuples of records that also are tables.

Each record is one of `tare.core.comparison` or `tare.core.scaling`, where its fields are explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.api.frames import Table, as_text, bounded, fields, frame, numbers, spread
from tare.core.comparison import Comparison, Estimate
from tare.core.plan import Plan
from tare.core.scaling import ScalingCurve, ScalingPoint

if TYPE_CHECKING:
    import polars as pl

_FINDING = (
    *("ratio", "low", "high", "confidence", "verdict"),
    *("p_value", "p_adjusted", "p_equivalence", "p_equivalence_adjusted", "family", "correction"),
    *("detectable", "more_blocks", "is_primary", "is_answer", "is_paired", "note"),
)
_ESTIMATE = ("n_blocks", "value", "low", "high", "confidence", "cv", "minimum", "maximum", "note")
_HEAD = ("fom", "unit", "better")
_POINT = ("scale", "case", "n_blocks")
_CURVE = ("workload", *_HEAD, "kind", "along", "p_ref")


class Comparisons(Table, tuple[Comparison, ...]):
    """Comparisons of contenders with their reference, in the order of the plan."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each comparison.

        - `contender_NAME` and `reference_NAME` are the settings in which the sides differ, `at_NAME` the
          settings and coordinates that they share.
        - `ratio` is the contender's figure over the reference's, `low` and `high` its interval, and `change`
          is `ratio` − 1. Ratios are shares without a unit; they are null where there is none.
        - `reference_value` and `contender_value` are the levels of the sides in `unit`. `reference_low` and
          `reference_high`, `contender_low` and `contender_high` are their intervals.
        - `verdict` is ``worse``, ``better``, ``equivalent`` or ``undecided``.

        The other columns are fields of `Comparison`.
        """
        head = fields(Comparison, self, _HEAD)
        found = {
            **fields(Comparison, self, ("n_blocks",)),
            "change": numbers([one.change for one in self]),
            **fields(Comparison, self, _FINDING),
        }
        levels = {
            f"{side}_{part}": numbers([getattr(getattr(one, f"{side}_level"), part, None) for one in self])
            for side in ("reference", "contender")
            for part in ("value", "low", "high")
        }
        cases = fields(Comparison, self, ("contender_case", "reference_case"))
        taken = {*head, *found, *levels, *cases}
        settings = {
            **spread("at_", [one.at for one in self], taken),
            **spread("contender_", [one.contender for one in self], taken),
            **spread("reference_", [one.reference for one in self], taken),
        }
        return frame({**settings, **head, **found, **levels, **cases})


class Estimates(Table, tuple[Estimate, ...]):
    """The level of each figure of merit of each case, in the order of the plan."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each figure of a case at one point of its coordinates `at_NAME`.

        `value` is the mean over the blocks in `unit`, `low` and `high` are its interval, null with fewer than
        three blocks, and `cv` is the coefficient of variation, a share.
        """
        head, found = fields(Estimate, self, ("case", *_HEAD)), fields(Estimate, self, _ESTIMATE)
        at = spread("at_", [one.at for one in self], {*head, *found})
        return frame({**head, **at, **found})


class ScalingCurves(Table, tuple[ScalingCurve, ...]):
    """How workloads scale: one curve for each workload, variant and figure of merit."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each scale of each curve.

        `setting_NAME` are the settings of the curve and `at_NAME` the coordinates of its figure. `value` is
        in `unit`; `speedup`, `efficiency` and `gain` are shares without a unit. Each has its interval in
        columns with ``_low`` and ``_high``. What was not measured is null.
        """
        points = [point for curve in self for point in curve.points]
        curves = [curve for curve in self for _ in curve.points]
        return frame(
            {
                **spread("setting_", [curve.settings for curve in curves], ()),
                **spread("at_", [curve.at for curve in curves], ()),
                **fields(ScalingCurve, curves, _CURVE),
                **fields(ScalingPoint, points, _POINT),
                **bounded("value", [point.value for point in points]),
                **bounded("speedup", [point.speedup for point in points]),
                **bounded("efficiency", [point.efficiency for point in points]),
                **bounded("gain", [point.gain for point in points]),
                **fields(ScalingPoint, points, ("note",)),
            }
        )


def cases_frame(plan: Plan) -> pl.DataFrame:
    """Return one row for each case of `plan`: its id as `case`, and a column for each setting."""
    from tare.storage.frame import settings_frame

    return as_text(settings_frame(plan))
