"""Open a campaign folder, and ask it what `tare compare`, `scaling`, `export` and `report` tell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from tare.api.arguments import (
    campaign_folder,
    number,
    options_as_arguments,
    redactions,
    reference_settings,
    texts,
)
from tare.api.causes import Attributions, Predictions, Tolerances
from tare.api.frames import as_text
from tare.api.results import Comparisons, Estimates, ScalingCurves, cases_frame
from tare.core import campaign as recorded
from tare.core.comparison import Correction, Mean
from tare.core.counting import count
from tare.core.errors import CampaignError, UsageError
from tare.core.safe_folder import SafeFolder
from tare.core.telemetry import PREFIX
from tare.core.values import Scalar, Settings
from tare.storage.pseudonymous import read_shown

if TYPE_CHECKING:
    import altair
    import polars as pl

Means = Literal["geometric", "arithmetic", "harmonic", "median"]
Corrections = Literal["holm", "fdr", "none"]


def open_campaign(
    folder: str | os.PathLike[str],
    *,
    unpaired: bool = False,
    mean: Means = "geometric",
    redact: Iterable[str] = (),
) -> Campaign:
    """Read the campaign in `folder` as it is now, also while it runs.

    Secrets are removed from it, and the site's `redact` and the words and patterns of `redact` are replaced,
    as in every report. `unpaired` compares also what did not run together, and `mean` is the mean that ratios
    are of, as the options of `tare compare` with these names.

    Raises NoCampaign if the folder never held a campaign, CampaignError if it is damaged, and UsageError if
    there is no such mean, or if an entry of `redact` is not valid.
    """
    if mean not in [one.value for one in Mean]:
        raise UsageError(f"mean {mean!r}: choose from {', '.join(one.value for one in Mean)}")
    found = read_shown(campaign_folder("folder", folder), redactions(redact))
    return Campaign(msgspec.structs.replace(found, is_unpaired=unpaired, mean=Mean(mean)))


class Campaign:
    """A campaign at the moment when it was opened. Open it again to see what has been measured since.

    Frames are those of Polars: `to_pandas()` and `to_arrow()` of a frame need pandas and pyarrow, which
    ``tare-hpc[dataframes]`` installs.
    """

    def __init__(self, found: recorded.Campaign) -> None:
        self._found = found

    def __repr__(self) -> str:
        n_done, n_runs = self.progress
        return (
            f"<tare.Campaign {self.study} in {self._found.shown_folder}: {n_done} of "
            f"{count(n_runs, 'run')} done>"
        )

    @property
    def folder(self) -> Path:
        """Return the folder of the campaign."""
        return self._found.folder

    @property
    def study(self) -> str:
        """Return the name of the study."""
        return self._found.plan.study

    @property
    def question(self) -> str:
        """Return the question of the study; empty if it has none."""
        return self._found.plan.question

    @property
    def reference(self) -> Settings:
        """Return the settings of the study's reference; empty if it names none."""
        return dict(self._found.plan.reference)

    @property
    def is_running(self) -> bool:
        """Return whether a live process was running the campaign when it was opened."""
        return self._found.is_running

    @property
    def progress(self) -> tuple[int, int]:
        """Return how many of the runs that are planned so far are done, and how many are planned."""
        from tare.analysis.accounting import account

        found = account(self._found)
        return found.n_done, found.n_planned

    @property
    def figures(self) -> pl.DataFrame:
        """Return the figures of merit that were measured, one row for each.

        Columns: `workload`, `fom`, `unit`, `better` (``higher``, ``lower`` or null), and `n_values`, the
        number of their values that count. Figures of telemetry are included.
        """
        return self._figures.clone()

    @cached_property
    def _figures(self) -> pl.DataFrame:
        import polars as pl

        frame = self.measurements(telemetry=True)
        keys = ["workload", "fom", "unit", "better"]
        return frame.group_by(keys, maintain_order=True).agg(n_values=pl.len().cast(pl.Int64))

    def cases(self) -> pl.DataFrame:
        """Return the cases of the plan, one row for each: its id as `case`, and a column for each setting."""
        return cases_frame(self._found.plan)

    def runs(self) -> pl.DataFrame:
        """Return the planned runs, one row for each, in the order of the plan.

        Columns: `case`, `block`, `state` (such as ``done``, ``failed``, ``pending``), `reason`, a sentence if
        it is not done, and `elapsed_s`, the seconds that its last attempt took; null if it never ran, or
        never ended.
        """
        import polars as pl

        from tare.analysis.accounting import account

        found = account(self._found).runs
        return pl.DataFrame(
            {
                "case": [one.run.case for one in found],
                "block": [one.run.block for one in found],
                "state": [str(one.state) for one in found],
                "reason": [one.attempt.reason if one.attempt else "" for one in found],
                "elapsed_s": [one.attempt.elapsed_s or None if one.attempt else None for one in found],
            },
            schema={
                "case": pl.String,
                "block": pl.Int32,
                "state": pl.String,
                "reason": pl.String,
                "elapsed_s": pl.Float64,
            },
        )

    def measurements(self, *, every: bool = False, telemetry: bool = False) -> pl.DataFrame:
        """Return the measured values, one row for each, in the order in which the runs began.

        By default these are the values that count, from which all comparisons are made: those of the last
        attempt of each measured run that succeeded. `telemetry` adds what was sampled on the nodes. `every`
        returns the rows of `tare export`, which has warm-up and superseded attempts and telemetry, too.

        Columns: `schema_version`, `campaign`, `case`, `block`, `attempt`, `session`, `state`, `started_at`
        (UTC), a column for each setting of the cases and each coordinate of the figures, then `fom`, `unit`,
        `better` and `value`, a number in `unit`. Rows × columns is values × (12 + settings + coordinates).
        docs/json.md#export explains them.
        """
        import polars as pl

        from tare.analysis.table import counted
        from tare.storage.frame import tidy

        if every:
            return as_text(tidy(self._found))
        frame = tidy(msgspec.structs.replace(self._found, attempts=tuple(counted(self._found))))
        if not telemetry:
            frame = frame.filter(~pl.col("fom").cast(pl.String).str.starts_with(PREFIX))
        return as_text(frame)

    def estimates(self, *, foms: Iterable[str] = ()) -> Estimates:
        """Return the level of each figure of merit of each case, with its interval of 95 %.

        Telemetry is included only if `foms` name some of it. Raises UsageError if nothing in the campaign has
        one of `foms`.
        """
        from tare.analysis.estimate import estimates

        chosen = self._chosen(foms)
        found = estimates(self._found, chosen)
        return Estimates(one for one in found if not chosen or one.fom in chosen)

    def compare(
        self,
        *,
        reference: Mapping[str, Scalar] | None = None,
        margin: float | None = None,
        foms: Iterable[str] = (),
        correction: Corrections | None = None,
        points: bool = False,
    ) -> Comparisons:
        """Compare each contender with its reference, as `tare compare --json` does.

        There is one comparison for each figure of merit over all its coordinates, or with `points` one for
        each point of them, such as each message size. `reference` are settings that replace the study's
        reference, with values as in `cases()` or as in the study, such as ``64KiB``. `margin` is a share such
        as 0.03 that replaces its margin, and `foms` selects figures.
        `correction` is for multiple comparisons: by default Holm's for figures, and the false discovery rate
        for points.

        Raises UsageError if there is no reference or no case with these settings, or if nothing in the
        campaign has one of `foms`.
        """
        from tare.analysis.verdicts.compare import aggregates, comparisons

        chosen, margin = self._chosen(foms), number("margin", margin)
        if margin is not None and not 0 <= margin < 1:
            raise UsageError(f"margin {margin}: use a share from 0 to less than 1, such as 0.03 for 3 %")
        compute = comparisons if points else aggregates
        found = compute(
            self._found,
            reference=reference_settings(self._found, reference),
            margin=margin,
            correction=None if correction is None else _correction(correction),
            foms=chosen,
        )
        return Comparisons(found)

    def scaling(self, *, foms: Iterable[str] = (), p_ref: float | None = None) -> ScalingCurves:
        """Return how each workload scales, as `tare scaling --json` does; empty if nothing scales.

        Speedups refer to the scale `p_ref`, by default to the smallest that all variants have. `foms` selects
        figures of merit. Raises UsageError if nothing in the campaign has one of `foms`.
        """
        from tare.analysis.scales.scaling import scalings

        chosen = self._chosen(foms)
        with options_as_arguments():
            return ScalingCurves(scalings(self._found, foms=chosen, p_ref=number("p_ref", p_ref)))

    def why(self) -> Attributions:
        """Return what the differences between contenders and their reference come from, as `tare why` does.

        It takes profiled runs (`run_study` with `profile`); without any, it is empty. A record with a
        `refusal` has no parts: it says why.
        """
        from tare.analysis.causes.attribution import attributions

        return Attributions(attributions(self._there()))

    def predict(self, *, curves: Campaign | None = None) -> Predictions:
        """Return what profiled programs would take on other networks, as `tare predict` does.

        `curves` is the campaign with the networks' curves, by default this one.
        """
        from tare.analysis.predictions.prediction import predictions

        return Predictions(predictions(self._there(), _curves(curves)))

    def tolerance(self, *, curves: Campaign | None = None) -> Tolerances:
        """Return how much network profiled programs need, as `tare tolerance` does.

        `curves` is the campaign with curves of networks to hold against it, by default this one.
        """
        from tare.analysis.predictions.tolerance import tolerances

        return Tolerances(tolerances(self._there(), _curves(curves)))

    def charts(self, *, foms: Iterable[str] = (), extra: Iterable[str] = ()) -> dict[str, altair.ConcatChart]:
        """Return the charts of the report by their names, in its order, as charts of Altair.

        `foms` are the figures of merit that they show, by default those that the workloads declare as their
        main ones. `extra` asks for further charts, as ``wall_time:network`` does of `tare report --chart`.
        A chart that could not be made, such as one of telemetry that cannot be read, is left out with a
        warning of Python (UserWarning).

        Needs Altair (``tare-hpc[charts]``). Raises UsageError if nothing in the campaign has one of `foms`,
        or if a chart that `extra` names cannot be made.
        """
        from tare.api.charts import charts

        return charts(self._there(), self._chosen(foms), texts("extra", extra))

    def _chosen(self, foms: Iterable[str]) -> tuple[str, ...]:
        """Return `foms`. Raises UsageError, with what to choose from, unless the campaign has them all."""
        from tare.analysis.known_figures import require_figures

        chosen = texts("foms", foms)
        require_figures(chosen, self._found, "foms")
        return chosen

    def _there(self) -> recorded.Campaign:
        """Return the campaign for those who read files of its runs. Raises CampaignError if it was moved."""
        if not SafeFolder(self.folder).is_folder():
            raise CampaignError(
                f"{self._found.shown_folder}: the campaign is gone: was it removed, or moved? Open it where "
                "it is now"
            )
        return self._found


def _curves(given: Campaign | None) -> recorded.Campaign | None:
    if given is not None and not isinstance(given, Campaign):
        raise UsageError(f"curves={given!r}: give a campaign: curves=tare.open_campaign({given!r})")
    return None if given is None else given._there()


def _correction(name: str) -> Correction:
    try:
        return Correction(name)
    except ValueError:
        known = ", ".join(one.value for one in Correction)
        raise UsageError(f"correction {name!r}: choose from {known}") from None
