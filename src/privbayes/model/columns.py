"""INFER single columns: a distribution from a noisy table of one attribute."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_distribution", "on_simplex"]

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
    counts = on_simplex(interaction + total / size, total)
    counts = counts + _FLOOR * min(np.sqrt(variance), total / size) + 1e-3
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares
