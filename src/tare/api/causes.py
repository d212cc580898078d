"""Where differences come from, what curves predict, and how much network programs need, as tables.

Each record is one of `tare.core.attribution` or `tare.core.prediction`, where its fields are explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tare.api.frames import Table, bounded, fields, frame, numbers, spread
from tare.core.attribution import Attribution, Cause
from tare.core.prediction import Prediction, Tolerance

if TYPE_CHECKING:
    import polars as pl

_PART = ("kind", "name", "least_bytes", "most_bytes", "reference_s", "contender_s", "is_certain")
_WHOLE = ("workload", "n_blocks", "is_decided", "contender_case", "reference_case", "note")
_PREDICTION = (
    *("workload", "case", "reference", "reference_platform", "contender", "contender_platform"),
    *("reference_s", "is_inside", "refusal"),
)
_TOLERANCE = ("workload", "case", "platform", "network", "nodes", "n_runs", "wall_s", "messages", "hidden")


class Attributions(Table, tuple[Attribution, ...]):
    """What the difference of each contender with profiled runs comes from, in the order of the plan."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each part of each difference; a difference without parts has no row.

        - `contender_NAME` and `reference_NAME` are the settings in which the sides differ.
        - `kind`, `name`, `least_bytes` and `most_bytes` say what the part is; `reference_s` and `contender_s`
          are its seconds in a run, the mean over ranks and blocks.
        - `difference_s` is contender − reference, and `share` its share of the whole difference, each with
          its interval of 95 % in columns with ``_low`` and ``_high``.
        - `is_certain` is true if the part differs among all parts of its difference, and `is_decided` if the
          whole difference does.
        """
        causes = [cause for one in self for cause in one.causes]
        wholes = [one for one in self for _ in one.causes]
        part = {
            **fields(Cause, causes, _PART),
            **bounded("difference_s", [cause.difference_s for cause in causes]),
            **bounded("share", [cause.share for cause in causes]),
        }
        whole = fields(Attribution, wholes, _WHOLE)
        settings = {
            **spread("contender_", [one.contender for one in wholes], {*part, *whole}),
            **spread("reference_", [one.reference for one in wholes], {*part, *whole}),
        }
        return frame({**settings, **part, **whole})


class Predictions(Table, tuple[Prediction, ...]):
    """What the networks' curves predict for each profiled program on each other network."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each program and network.

        `difference_s` and `ratio` are predicted, `measured_ratio` is measured where both networks have
        profiled runs; each has its interval of 90 % in columns with ``_low`` and ``_high``. `remarks` say
        what is extrapolated, and `refusal` why nothing is predicted.
        """
        import polars as pl

        remarks = pl.Series(["; ".join(one.remarks) for one in self], dtype=pl.String)
        return frame(
            {
                **fields(Prediction, self, _PREDICTION),
                **bounded("difference_s", [one.difference_s for one in self]),
                **bounded("ratio", [one.ratio for one in self]),
                **bounded("measured_ratio", [one.measured_ratio for one in self]),
                "remarks": remarks,
            }
        )


class Tolerances(Table, tuple[Tolerance, ...]):
    """How much more latency and how little bandwidth each profiled program stands."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row for each program and slowdown `slower_by`: 1, 5 and 10 %, as a share.

        `latency_s` is the added latency of a message, and `bandwidth` the bytes per second of a node, that
        cost it, each with its interval of 95 % in columns with ``_low`` and ``_high``.
        """
        limits = [limit for one in self for limit in one.limits]
        return frame(
            {
                **fields(Tolerance, [one for one in self for _ in one.limits], _TOLERANCE),
                "slower_by": numbers([limit.share for limit in limits]),
                **bounded("latency_s", [limit.latency_s for limit in limits]),
                **bounded("bandwidth", [limit.bandwidth for limit in limits]),
            }
        )
