"""SELECT: what the released errors of all pairs say about the true ones. Post-processing of released values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_bias", "posterior_errors", "posterior_means", "shown_errors"]

_ABSOLUTE = 0.8  # E|N(0, 1)|
_GATE = 2.0  # standard errors that the mean must stand above 0 before any dependence is believed
_POINTS = 80
_ROUNDS = 300

Vector = NDArray[np.float64]


def column_bias(
    pairs: Sequence[tuple[int, int]], columns: Sequence[Vector], variances: Sequence[Vector], total: float
) -> Vector:
    """The error that noise in the columns alone puts into the distance of a table from their product, for each pair.

    ``variances`` are of the columns' counts, value by value. A column put on the simplex errs less where it is small.
    """
    shrunk = []
    for shares, variance in zip(columns, variances, strict=True):
        expected = total * shares
        deviation = np.sqrt(variance)
        shrunk.append((deviation * expected / (expected + deviation + 1e-300)) ** 2)
    return np.array(
        [
            _ABSOLUTE * np.sqrt(np.outer(shrunk[a], columns[b] ** 2) + np.outer(columns[a] ** 2, shrunk[b])).sum()
            for a, b in pairs
        ]
    )


def posterior_errors(noisy: Vector, deviation: float, bias: Vector, laplace: bool = False) -> Vector:
    """The errors as they are best believed: zero for all if their mean shows nothing, otherwise posterior means, less
    (in quadrature) what the columns' noise explains.
    """
    if not len(noisy) or noisy.mean() < _GATE * deviation / np.sqrt(len(noisy)):
        return np.zeros(len(noisy))
    means = posterior_means(noisy, max(deviation, float(noisy.max()) / 300), laplace)
    return np.sqrt(np.maximum(means**2 - bias**2, 0.0))


def posterior_means(noisy: Vector, deviation: float, laplace: bool = False) -> Vector:
    """E[e | noisy] for e >= 0 under Gaussian noise, the prior of e estimated from all of them (non-parametric maximum
    likelihood of Kiefer and Wolfowitz 1956, by expectation maximisation on a grid).
    """
    grid = np.linspace(0.0, max(float(noisy.max()), deviation), _POINTS)
    gaps = np.clip((noisy[:, None] - grid) / deviation, -35, 35)
    likelihood = np.exp(-np.sqrt(2) * np.abs(gaps) if laplace else -0.5 * gaps**2) + 1e-300
    means: Vector = _weights(likelihood) @ grid
    return means


def shown_errors(roots: Vector, freedom: Vector, units: Vector, most: float) -> Vector:
    """The errors e that noisy tables show, as root mean squares given the tables, the prior of e up to ``most``
    estimated from all of them as above.

    ``roots`` are of the tables' sums of squares in units of their noise: each the root of a noncentral chi-square with
    so much ``freedom`` and noncentrality e^2 / unit, which is taken for normal, folded at 0 (exact for one degree).
    """
    beyond = float((roots**2 - freedom).sum())
    if beyond <= _GATE * np.sqrt(2 * freedom.sum()):
        return np.zeros(len(roots))  # together they show nothing
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, _POINTS) * most])
    means = np.sqrt(grid**2 / units[:, None] + freedom[:, None] - 1.0)
    near, far = (np.minimum(np.abs(gap), 35.0) for gap in (roots[:, None] - means, roots[:, None] + means))
    errors: Vector = np.sqrt(_weights(np.exp(-0.5 * near**2) + np.exp(-0.5 * far**2) + 1e-300, rounds=80) @ grid**2)
    return errors


def _weights(likelihood: Vector, rounds: int = _ROUNDS) -> Vector:
    """The posterior over a grid, line by line, under the prior that makes all lines together most likely."""
    prior = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(rounds):
        weights = likelihood * prior
        weights /= weights.sum(axis=1, keepdims=True)
        prior = weights.mean(axis=0)
    weights = likelihood * prior
    posterior: Vector = weights / weights.sum(axis=1, keepdims=True)
    return posterior
