"""Compiled passes over the parameters of a maximum-entropy fit, all observations laid end to end."""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

__all__ = ["centre", "gather", "misfit", "spread"]


@njit(nogil=True, cache=True)
def centre(values: NDArray[Any], start: NDArray[Any], lengths: NDArray[Any]) -> None:
    """In place: take the mean along every axis off the observations with ``lengths[o, 0] > 0``. Trailing
    lengths of 0 stand for no axis; an axis of one value leaves nothing.
    """
    for o in range(lengths.shape[0]):
        cells = 1
        for axis in range(lengths.shape[1]):
            cells *= max(lengths[o, axis], 1)
        inner = cells
        for axis in range(lengths.shape[1]):
            n = lengths[o, axis]
            if n == 0:
                break
            outer = cells // inner
            inner //= n
            for i in range(outer):
                for k in range(inner):
                    at = start[o] + i * n * inner + k
                    total = 0.0
                    for j in range(n):
                        total += values[at + j * inner]
                    total /= n
                    for j in range(n):
                        values[at + j * inner] -= total


@njit(nogil=True, cache=True)
def spread(values: NDArray[Any], source: NDArray[Any], target: NDArray[Any], out: NDArray[Any]) -> None:
    """Out = 0, then out[target] += values[source]."""
    out[:] = 0.0
    for i in range(source.size):
        out[target[i]] += values[source[i]]


@njit(nogil=True, cache=True)
def gather(values: NDArray[Any], source: NDArray[Any], target: NDArray[Any], out: NDArray[Any]) -> None:
    """The reverse: out = 0, then out[source] += values[target]."""
    out[:] = 0.0
    for i in range(source.size):
        out[source[i]] += values[target[i]]


@njit(nogil=True, cache=True)
def misfit(
    theta: NDArray[Any],
    predicted: NDArray[Any],
    observed: NDArray[Any],
    ridge: NDArray[Any],
    total: float,
    slope: NDArray[Any],
) -> float:
    """- theta . y + 1/2 sum ridge theta^2, and the slope of n log Z with it."""
    value = 0.0
    for i in range(theta.size):
        value += theta[i] * (0.5 * ridge[i] * theta[i] - observed[i])
        slope[i] = total * predicted[i] - observed[i] + ridge[i] * theta[i]
    return value
