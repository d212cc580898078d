"""How often a measured change is inside the interval of 90 % that is predicted for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.curves import Wire, curves_campaign
from support.profiled import Truth, profiled_campaign
from tare.analysis.predictions.forecast_interval import Error, error, forecast
from tare.analysis.predictions.prediction import predictions

_HOST, _OVERLAY = Wire(10e-6, 1e9), Wire(60e-6, 2e8)
_LEAST, _MOST = 0.80, 0.97
_CAMPAIGNS = 500


def _covered(
    *,
    ratio: float,
    runs: int,
    passes: int,
    run_noise: float,
    curve_noise: float,
    contender_noise: float | None = None,
) -> float:
    """Return the share of 500 campaigns whose measured ratio is inside the predicted interval."""
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(_CAMPAIGNS):
        walls = 10 * np.exp(random.normal(0, run_noise, runs))
        other = 10 * ratio * np.exp(random.normal(0, contender_noise or run_noise, runs))
        differences = 10 * (ratio - 1) + random.normal(0, curve_noise * 10, passes)
        predicted = 1 + differences.mean() / walls.mean()
        found = forecast(predicted, walls, error(differences), 0.90)
        assert found.low is not None
        assert found.high is not None
        measured = float(np.exp(np.log(other / walls).mean()))
        inside += found.low <= measured <= found.high
    return inside / _CAMPAIGNS


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.5, 4.0])
@pytest.mark.parametrize(("run_noise", "curve_noise"), [(0.1, 0.0001), (0.02, 0.02), (0.001, 0.1)])
def test_of_many_campaigns_the_measured_ratio_is_inside_in_about_nine_of_ten(
    runs: int, ratio: float, run_noise: float, curve_noise: float
) -> None:
    share = _covered(ratio=ratio, runs=runs, passes=runs, run_noise=run_noise, curve_noise=curve_noise)
    assert _LEAST <= share <= _MOST


def test_the_scatter_of_the_curves_alone_would_hold_few_measured_ratios() -> None:
    walls = 10 * np.exp(np.random.default_rng(1).normal(0, 0.1, 5))
    with_runs = forecast(1.1, walls, Error(0.01, 4), 0.90)
    without = forecast(1.1, np.full(5, walls.mean()), Error(0.01, 4), 0.90)
    widths = [(one.high or 0) - (one.low or 0) for one in (with_runs, without)]
    assert widths[0] > 3 * widths[1]


def test_without_three_runs_there_is_no_interval() -> None:
    found = forecast(1.1, np.array([10.0, 11.0]), Error(0.01, 4), 0.90)
    assert found.value == 1.1
    assert found.low is None
    assert found.high is None


def _truth(wire: Wire) -> Truth:
    return {
        ("computation", 0): 8.0,
        ("MPI_Allreduce", 8): 10_000 * 2 * wire.seconds(8),
        ("MPI_Recv", 1 << 16): 10_000 * wire.seconds(1 << 16),
        ("files", 0): 0.1,
    }


@pytest.mark.parametrize(("run_noise", "curve_noise"), [(0.10, 0.01), (0.03, 0.05)])
def test_whole_campaigns_with_scatter_are_inside_in_about_nine_of_ten(
    tmp_path: Path, run_noise: float, curve_noise: float
) -> None:
    n_inside, n = 0, 80
    for seed in range(n):
        curves = curves_campaign(
            {"host": _HOST, "overlay": _OVERLAY}, with_collectives=4, seed=seed, noise=curve_noise, blocks=3
        )
        program = profiled_campaign(
            tmp_path / str(seed), _truth(_HOST), _truth(_OVERLAY), seed=seed, blocks=3, noise=run_noise
        )
        (found,) = predictions(program, curves)
        assert found.ratio is not None
        assert found.measured_ratio is not None
        assert found.ratio.low is not None
        assert found.ratio.high is not None
        n_inside += found.ratio.low <= found.measured_ratio.value <= found.ratio.high
    assert _LEAST <= n_inside / n <= _MOST
