"""INFER single columns: a distribution from a noisy table of one attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privbayes.model.observations import Groups, Observation

__all__ = ["Columns", "column_distribution", "on_simplex"]

_RARE = 4.0  # deviations: a smaller count may well be noise
_FEW = 10  # fewer rare values tell too little of each other
_POINTS = 48
_ROUNDS = 120
_FLOOR = 0.05  # of the noise's deviation: what no cell is thought to fall below


def on_simplex(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest non-negative values with this sum (Euclidean)."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    threshold = excess[np.flatnonzero(falling > excess)[-1]]
    nearest: NDArray[np.float64] = np.maximum(values - threshold, 0.0)
    return nearest


def column_distribution(interaction: NDArray[np.float64], variance: float, total: float) -> NDArray[np.float64]:
    """Q: the noisy deviations from the mean, put back on total / r and on the simplex, with a floor for the values that
    the noise hid.
    """
    size = len(interaction)
    if size == 1:
        return np.ones(1)
    counts = on_simplex(_shrunk(interaction + total / size, variance * (1 - 1 / size), total), total)
    counts = counts + _FLOOR * min(np.sqrt(variance), total / size) + 1e-3
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def _shrunk(counts: NDArray[np.float64], variance: float, total: float) -> NDArray[np.float64]:
    """Noisy counts with the rare ones, which noise hides, at their posterior means under a prior estimated from
    themselves (Kiefer and Wolfowitz 1956); what the sum lost or gained is spread by what is still uncertain.
    """
    deviation = float(np.sqrt(variance))
    rare = np.flatnonzero(counts < _RARE * deviation)
    if len(rare) < _FEW:
        return counts
    grid = np.linspace(0.0, (_RARE + 1) * deviation, _POINTS)
    likelihood = np.exp(-0.5 * ((counts[rare, None] - grid) / deviation) ** 2) + 1e-300
    prior = np.full(_POINTS, 1 / _POINTS)
    for _ in range(_ROUNDS):
        weights = likelihood * prior
        weights /= weights.sum(axis=1, keepdims=True)
        prior = weights.mean(axis=0)
    weights = likelihood * prior
    weights /= weights.sum(axis=1, keepdims=True)
    shrunk, doubt = counts.copy(), np.full(len(counts), variance)
    shrunk[rare] = weights @ grid
    doubt[rare] = np.maximum(weights @ grid**2 - shrunk[rare] ** 2, 1e-9 * variance)
    spread: NDArray[np.float64] = np.maximum(shrunk + (total - shrunk.sum()) * doubt / doubt.sum(), 0.0)
    return spread


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """Every column on its own, as known from what was released: ``shares`` q of its values, and the ``variances`` of
    the noise on a cell before projection. ``total`` is n, as it may be known, with ``total_variance``.
    """

    shares: tuple[NDArray[np.float64], ...]
    variances: tuple[float, ...]
    total: float
    total_variance: float

    @staticmethod
    def of(sizes: Sequence[int], observations: Sequence[Observation], total: float, total_variance: float) -> Columns:
        """From the observations of single attributes, one each; an attribute that was not observed is uniform."""
        seen = {one.attributes[0]: one for one in observations if len(one.attributes) == 1}
        shares = [
            column_distribution(seen[a].table, seen[a].variance, total) if a in seen else np.full(size, 1 / size)
            for a, size in enumerate(sizes)
        ]
        variances = [seen[a].variance if a in seen else 0.0 for a in range(len(sizes))]
        return Columns(shares=tuple(shares), variances=tuple(variances), total=total, total_variance=total_variance)

    def count_variances(self) -> list[NDArray[np.float64]]:
        """Of the noise on the counts n q of each column, value by value: its own, and what n brings in."""
        return [
            variance * (1 - 1 / len(q)) + self.total_variance * (q - 1 / len(q)) ** 2
            for q, variance in zip(self.shares, self.variances, strict=True)
        ]

    def expected(self, attributes: Sequence[int], groups: Groups | None = None) -> NDArray[np.float64]:
        """The counts of a table's cells (or of groups of them) if its columns were independent, flat."""
        counts = np.array([self.total])
        for i, a in enumerate(attributes):
            shares = np.bincount(groups[i], self.shares[a]) if groups else self.shares[a]
            counts = np.multiply.outer(counts, shares).reshape(-1)
        return counts
