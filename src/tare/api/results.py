"""What a campaign answers, as tuples of records that also are tables.

Each record is one of `tare.core.comparison` or `tare.core.scaling`, where its fields are explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.api.frames import Table, frame, plain, spread
from tare.core.comparison import Comparison, Estimate
from tare.core.plan import Plan
from tare.core.scaling import ScalingCurve

if TYPE_CHECKING:
    import polars as pl

_FINDING = (
    *("n_blocks", "change", "ratio", "low", "high", "confidence", "verdict"),
    *("p_value", "p_adjusted", "p_equivalence", "p_equivalence_adjusted", "family", "correction"),
    *("detectable", "more_blocks", "is_primary", "is_answer", "is_paired", "note"),
)
_SIDES, _PARTS = ("reference", "contender"), ("value", "low", "high")
_ESTIMATE = ("n_blocks", "value", "low", "high", "confidence", "cv", "minimum", "maximum", "note")
_HEAD = ("fom", "unit", "better")
_POINT = ("scale", "case", "n_blocks")
_BOUNDED = ("value", "speedup", "efficiency", "gain")


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
        fixed = {name: [plain(getattr(one, name)) for one in self] for name in (*_HEAD, *_FINDING)}
        cases = {
            name: [plain(getattr(one, name)) for one in self] for name in ("contender_case", "reference_case")
        }
        levels = {
            f"{side}_{part}": [plain(getattr(getattr(one, f"{side}_level"), part, None)) for one in self]
            for side in _SIDES
            for part in _PARTS
        }
        taken = {*fixed, *cases, *levels}
        settings = {
            **spread("at_", [one.at for one in self], taken),
            **spread("contender_", [one.contender for one in self], taken),
            **spread("reference_", [one.reference for one in self], taken),
        }
        head = {name: fixed.pop(name) for name in _HEAD}
        return frame({**settings, **head, **fixed, **levels, **cases})


class Estimates(Table, tuple[Estimate, ...]):
    """The level of each figure of merit of each case, in the order of the plan."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each figure of a case at one point of its coordinates `at_NAME`.

        `value` is the mean over the blocks in `unit`, `low` and `high` are its interval, null with fewer than
        three blocks, and `cv` is the coefficient of variation, a share.
        """
        fixed = {name: [plain(getattr(one, name)) for one in self] for name in ("case", *_HEAD, *_ESTIMATE)}
        at = spread("at_", [one.at for one in self], set(fixed))
        head = {name: fixed.pop(name) for name in ("case", *_HEAD)}
        return frame({**head, **at, **fixed})


class ScalingCurves(Table, tuple[ScalingCurve, ...]):
    """How workloads scale: one curve for each workload, variant and figure of merit."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each scale of each curve.

        `setting_NAME` are the settings of the curve and `at_NAME` the coordinates of its figure. `value` is
        in `unit`; `speedup`, `efficiency` and `gain` are shares without a unit. Each has its interval in
        columns with ``_low`` and ``_high``. What was not measured is null.
        """
        rows = [(curve, point) for curve in self for point in curve.points]
        of_curve = ("workload", *_HEAD, "kind", "along", "p_ref")
        fixed = {name: [plain(getattr(curve, name)) for curve, _ in rows] for name in of_curve}
        points = {name: [plain(getattr(point, name)) for _, point in rows] for name in _POINT}
        notes = [point.note for _, point in rows]
        bounded = {
            f"{name}{end}": [plain(getattr(getattr(point, name), part, None)) for _, point in rows]
            for name in _BOUNDED
            for end, part in (("", "value"), ("_low", "low"), ("_high", "high"))
        }
        settings = {
            **spread("setting_", [curve.settings for curve, _ in rows], ()),
            **spread("at_", [curve.at for curve, _ in rows], ()),
        }
        return frame({**settings, **fixed, **points, **bounded, "note": notes})


def cases_frame(plan: Plan) -> pl.DataFrame:
    """Return one row for each case of `plan`: its id as `case`, and a column for each setting."""
    import polars as pl

    from tare.storage.frame import settings_frame

    return settings_frame(plan).cast({pl.Categorical: pl.String})
