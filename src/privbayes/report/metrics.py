"""Distances between tables of codes: pure functions, arrays in and numbers out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["marginal", "marginal_distance", "mean_distance", "total_variation"]

Codes = NDArray[np.unsignedinteger[Any]]


def total_variation(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Half the L1 distance between two distributions, each given by counts or weights over the same cells: 0 when they
    are equal, 1 when they share no cell. Weights need not sum to one; a table without any weight counts as uniform.
    """
    if first.shape != second.shape:
        raise ValueError(f"tables of different shapes: {first.shape} and {second.shape}")
    return 0.5 * float(np.abs(_distribution(first) - _distribution(second)).sum())


def marginal(columns: Sequence[Codes], sizes: Sequence[int]) -> NDArray[np.int64]:
    """How many rows fall into each cell of the table over these columns (flat, the last column moves fastest)."""
    cell = np.zeros(len(columns[0]), np.int64)
    for codes, size in zip(columns, sizes, strict=True):
        cell = cell * size + codes
    return np.bincount(cell, minlength=prod(sizes))


def marginal_distance(
    first: Sequence[Codes], second: Sequence[Codes], sizes: Sequence[int], axes: Sequence[int]
) -> float:
    """Total variation distance between two tables of codes, seen through the columns ``axes`` only."""
    wanted = [sizes[axis] for axis in axes]
    return total_variation(
        marginal([first[axis] for axis in axes], wanted), marginal([second[axis] for axis in axes], wanted)
    )


def mean_distance(
    first: Sequence[Codes], second: Sequence[Codes], sizes: Sequence[int], marginals: Iterable[Sequence[int]]
) -> float:
    """The mean of `marginal_distance` over several sets of columns, such as all pairs."""
    distances = [marginal_distance(first, second, sizes, axes) for axes in marginals]
    if not distances:
        raise ValueError("no marginal to compare")
    return float(np.mean(distances))


def _distribution(weights: NDArray[Any]) -> NDArray[np.float64]:
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(weights.shape, 1.0 / weights.size)
