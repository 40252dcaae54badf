"""SELECT: what the released errors of all pairs say about the true ones. Post-processing of released values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_bias", "posterior_errors", "posterior_means"]

_ABSOLUTE = 0.8  # E|N(0, 1)|
_GATE = 2.0  # standard errors that the mean must stand above 0 before any dependence is believed
_POINTS = 80
_ROUNDS = 300

Vector = NDArray[np.float64]


def column_bias(
    pairs: Sequence[tuple[int, int]], columns: Sequence[Vector], variances: Sequence[Vector], total: float
) -> Vector:
    """The error that noise in the columns alone puts into the distance of a table from their product, for each pair.

    ``variances`` are of the columns' counts, value by value. A column put on the simplex errs less where it is small;
    the root of E / (E + s) fits what is seen on tables of all kinds to within a tenth.
    """
    shrunk = []
    for shares, variance in zip(columns, variances, strict=True):
        expected = total * shares
        deviation = np.sqrt(variance)
        shrunk.append(variance * (expected / (expected + deviation + 1e-300)))
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
    prior = np.full(_POINTS, 1 / _POINTS)
    for _ in range(_ROUNDS):
        weights = likelihood * prior
        weights /= weights.sum(axis=1, keepdims=True)
        prior = weights.mean(axis=0)
    weights = likelihood * prior
    means: Vector = (weights / weights.sum(axis=1, keepdims=True)) @ grid
    return means
