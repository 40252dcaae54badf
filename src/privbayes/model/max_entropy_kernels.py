"""Compiled passes over the parameters of a maximum-entropy fit, all observations laid end to end."""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

__all__ = ["centre", "gather", "misfit", "spread"]


@njit(nogil=True, cache=True)
def centre(values: NDArray[Any], start: NDArray[Any], lengths: NDArray[Any]) -> None:
    """In place: take the mean along every axis off the observations with ``lengths[o, 0] > 0`` (up to three axes)."""
    for o in range(lengths.shape[0]):
        n1, n2, n3 = lengths[o]
        base = start[o]
        if n1 > 1:
            for j in range(n2 * n3):
                total = 0.0
                for i in range(n1):
                    total += values[base + i * n2 * n3 + j]
                total /= n1
                for i in range(n1):
                    values[base + i * n2 * n3 + j] -= total
        if n1 > 0 and n2 > 1:
            for i in range(n1):
                for k in range(n3):
                    at = base + i * n2 * n3 + k
                    total = 0.0
                    for j in range(n2):
                        total += values[at + j * n3]
                    total /= n2
                    for j in range(n2):
                        values[at + j * n3] -= total
        if n1 > 0 and n3 > 1:
            for i in range(n1 * n2):
                at = base + i * n3
                total = 0.0
                for k in range(n3):
                    total += values[at + k]
                total /= n3
                for k in range(n3):
                    values[at + k] -= total


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
