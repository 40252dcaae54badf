"""Compiled vector arithmetic of the descent: one thread, one order of summation."""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

__all__ = ["dot", "newton_direction"]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The inner product."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def newton_direction(
    slope: NDArray[Any],
    steps: NDArray[Any],
    turns: NDArray[Any],
    curvature: NDArray[Any],
    stored: int,
    direction: NDArray[Any],
) -> None:
    """Out = - H slope, H the inverse curvature that the last steps (and the turns of the slope on them) imply. The
    memory is a ring: entry ``stored - 1`` (modulo its length) is the newest.
    """
    memory = steps.shape[0]
    kept = min(stored, memory)
    weight = [0.0] * memory
    for i in range(slope.size):
        direction[i] = -slope[i]
    for back in range(kept):
        k = (stored - 1 - back) % memory
        weight[k] = dot(steps[k], direction) / curvature[k]
        for i in range(slope.size):
            direction[i] -= weight[k] * turns[k, i]
    if kept > 0:
        newest = (stored - 1) % memory
        scale = curvature[newest] / dot(turns[newest], turns[newest])
        for i in range(slope.size):
            direction[i] *= scale
    for back in range(kept - 1, -1, -1):
        k = (stored - 1 - back) % memory
        shift = weight[k] - dot(turns[k], direction) / curvature[k]
        for i in range(slope.size):
            direction[i] += shift * steps[k, i]
