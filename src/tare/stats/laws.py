"""Fit the scaling laws of Amdahl and Gustafson and the Universal Scalability Law (USL), with its knee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tare.core.interval import Bounded
from tare.core.scaling import Law, LawFit
from tare.stats.autocorrelation import allowance
from tare.stats.fieller import fieller
from tare.stats.intervals import CONFIDENCE, MIN_BLOCKS, Floats, t_factors

MIN_SCALES = {Law.AMDAHL: 3, Law.GUSTAFSON: 3, Law.USL: 4}
"""One scale more than the law has parameters; with fewer it would pass through every point."""

_NAMES = ("sigma", "kappa")

_RANGES = np.array([[-np.inf, 0.0, 0.0], [np.inf, 1.0, np.inf]])
"""The least and the greatest values of log γ, σ and κ."""

_NOTHING = 1e-6
"""A term that changes throughput by less than this share at every scale counts as 0."""

_Shape = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Takes p and the parameters without γ; returns log(X/γ) and its derivatives, scales × parameters."""


class _Fitted(NamedTuple):
    """`theta` is (log γ, σ[, κ]); `blocks` holds the estimates of each block, or is empty."""

    theta: Floats
    model: Floats
    blocks: Floats


def fit_law(law: Law, scales: Sequence[float] | Floats, throughput: Floats) -> LawFit:
    """Fit `law` to `throughput`, blocks × scales, by least squares on its logarithm.

    The residual is relative, as noise is, with 0 ≤ σ ≤ 1 and κ ≥ 0. Scales without any value are left out.
    Where at least three blocks have every scale, only these blocks are fitted, and each parameter has an
    interval. It is Student's t over each block's own parameters, which are one Gauss–Newton step from the
    common ones, cut to the bounds. This is the delta method with a block as the unit, so that an effect on a
    whole block cancels (Seber and Wild 1989, Nonlinear Regression, ch. 5). It is wider where blocks, in the
    order of time, resemble the one before. The interval covers noise only;
    `misfit` shows how well the law fits. The result has a `refusal` with the reason when there are too few
    scales.
    """
    is_measured = np.isfinite(throughput).any(axis=0)
    p = np.asarray(scales, np.float64)[is_measured]
    values = throughput[:, is_measured]
    if len(p) < MIN_SCALES[law]:
        n = len(p)
        refusal = f"{n} scale{'s were' if n != 1 else ' was'} measured; {law} takes {MIN_SCALES[law]} or more"
        return LawFit(law=law, n_scales=n, refusal=refusal)
    if (values <= 0).any() or np.isinf(values).any():  # a time of zero gives infinite throughput
        return LawFit(law=law, n_scales=len(p), refusal="some values are zero or less")
    fitted = _fit(law, p, np.log(values))
    observed = _centre(np.log(values))
    residual = observed - fitted.model
    total = float(np.square(observed - observed.mean()).sum())
    bounds = _bounds(fitted)
    return LawFit(
        law=law,
        n_scales=len(p),
        gamma=_exp(bounds[0]),
        parameters=dict(zip(_NAMES, bounds[1:], strict=False)),
        misfit=float(np.abs(np.expm1(residual)).max()),
        r_squared=1 - float(np.square(residual).sum()) / total if total > 0 else None,
        knee=_knee(fitted) if law is Law.USL else None,
    )


def _contended(p: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """Return the shape of Amdahl's law (σ) or of the USL (σ, κ), which has one more term."""
    terms = np.column_stack([p - 1, p * (p - 1)])[:, : len(theta)]
    below = 1 + terms @ theta
    return np.log(p) - np.log(below), -terms / below[:, np.newaxis]


def _scaled_up(p: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """Return the shape of Gustafson's law."""
    above = p - theta[0] * (p - 1)
    return np.log(above), (-(p - 1) / above)[:, np.newaxis]


_SHAPES: dict[Law, _Shape] = {Law.AMDAHL: _contended, Law.GUSTAFSON: _scaled_up, Law.USL: _contended}


def _centre(logs: Floats) -> Floats:
    """Return the mean of each scale over the complete blocks, or over all blocks if those are too few."""
    complete = logs[np.isfinite(logs).all(axis=1)]
    mean: Floats = np.nanmean(complete if len(complete) >= MIN_BLOCKS else logs, axis=0)
    return mean


def _fit(law: Law, p: Floats, logs: Floats) -> _Fitted:
    from scipy.optimize import least_squares  # 0.2 s to import

    shape = _SHAPES[law]
    observed = _centre(logs)
    scale = float(observed.mean())  # so that the solver works with numbers near 0, in any unit

    def residual(theta: Floats) -> Floats:
        off: Floats = theta[0] + shape(p, theta[1:])[0] - (observed - scale)
        return off

    def jacobian(theta: Floats) -> Floats:
        slopes: Floats = np.column_stack([np.ones(len(p)), shape(p, theta[1:])[1]])
        return slopes

    start = _start(law, p, np.exp(observed - scale))
    least, most = (ends[: len(start)] for ends in _RANGES)
    found = least_squares(
        residual, start, jac=jacobian, bounds=(least, most), x_scale="jac", xtol=1e-12, ftol=1e-14, gtol=1e-14
    )
    theta = _at_bounds(found.x, p)
    complete = logs[np.isfinite(logs).all(axis=1)] - scale
    step = np.linalg.pinv(jacobian(theta))
    blocks = theta + (complete - (theta[0] + shape(p, theta[1:])[0])) @ step.T
    shift = np.array([scale, *np.zeros(len(theta) - 1)])
    model = theta[0] + shape(p, theta[1:])[0] + scale
    has_intervals = len(complete) >= MIN_BLOCKS
    return _Fitted(theta + shift, model, (blocks + shift)[: len(blocks) if has_intervals else 0])


def _at_bounds(theta: Floats, p: Floats) -> Floats:
    """Return the parameters with values near 0 set to 0, since the solver never reaches a bound."""
    reach = np.array([np.inf, p.max() - 1, p.max() * (p.max() - 1)])[: len(theta)]
    found: Floats = np.where(np.abs(theta) * reach < _NOTHING, 0.0, theta)
    return found


def _start(law: Law, p: Floats, throughput: Floats) -> Floats:
    """Return the starting point: the laws are linear in p/X, with terms that are not negative."""
    from scipy.optimize import nnls

    if law is Law.GUSTAFSON:
        return np.array([float(np.log(throughput / p).mean()), 0.1])
    terms = np.column_stack([np.ones(len(p)), p - 1, p * (p - 1)])[:, : MIN_SCALES[law] - 1]
    weights = throughput / p
    found, _ = nnls(terms * weights[:, np.newaxis], np.ones(len(p)))
    first = max(float(found[0]), 1e-9)
    sigma, *rest = np.clip(found[1:] / first, 1e-9, None).tolist()
    return np.array([-np.log(first), min(sigma, 1 - 1e-9), *rest])


def _bounds(fitted: _Fitted) -> list[Bounded]:
    """Return each parameter with the t interval of the blocks' estimates, cut to its valid range.

    A parameter at a bound has no interval where all of that lies beyond it: the law does not fit, and what is
    cut would have no width.
    """
    if not len(fitted.blocks):
        return [Bounded(float(value)) for value in fitted.theta]
    n = len(fitted.blocks)
    factor = float(t_factors(np.array([n - 1.0]), CONFIDENCE)[0])
    centre = fitted.blocks.mean(axis=0)
    half = factor * fitted.blocks.std(axis=0, ddof=1) / np.sqrt(n) * allowance(fitted.blocks).factor
    least, most = (ends[: len(centre)] for ends in _RANGES)
    # At a bound, the fit and the centre of the steps differ: the interval includes both.
    low = np.minimum(np.clip(centre - half, least, most), fitted.theta)
    high = np.maximum(np.clip(centre + half, least, most), fitted.theta)
    is_beyond = ((centre + half < least) | (centre - half > most)) & (high - low <= _NOTHING)
    low[is_beyond] = high[is_beyond] = np.nan
    rows = zip(fitted.theta.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Bounded.of(*row) for row in rows]


def _exp(one: Bounded) -> Bounded:
    low, high = (None if end is None else float(np.exp(end)) for end in (one.low, one.high))
    return Bounded(float(np.exp(one.value)), low, high)


def _knee(fitted: _Fitted) -> Bounded | None:
    """Return √((1 − σ)/κ) with Fieller's interval, whose high end is None where κ may be 0.

    The ratio (1 − σ)/κ has no t interval of its own, as κ may be close to 0. Fieller's set of all ratios that
    the data do not exclude is exact for it (Fieller 1954, J. R. Stat. Soc. B 16:175).
    """
    _, sigma, kappa = fitted.theta.tolist()
    if kappa <= 0 or sigma >= 1:
        return None
    knee = float(np.sqrt((1 - sigma) / kappa))
    if not len(fitted.blocks) or not np.isfinite(knee):
        return Bounded(knee) if np.isfinite(knee) else None
    widening = float(allowance(fitted.blocks[:, 1:]).factor.max())
    low, high = fieller(1 - fitted.blocks[:, 1], fitted.blocks[:, 2], CONFIDENCE, widening)
    low = min(np.sqrt(max(low, 0.0)), knee)
    return Bounded(knee, float(low), None if high is None else max(float(np.sqrt(max(high, 0.0))), knee))
