"""A conditional distribution as a table: what a network is made of and what a sampler reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["ConditionalTable", "conditional"]


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """Pr[axis | parents]: one row of ``probabilities`` for each joint code of the parents (C order)."""

    axis: int
    parents: tuple[int, ...]
    probabilities: NDArray[np.float64]


def conditional(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pr[X | Pi] from a non-negative table whose rows are X and whose columns are Pi; one row a parent value.

    A parent value without mass gets the overall distribution of X; a table without any mass gets the uniform one.
    """
    by_parent = np.ascontiguousarray(table.T, np.float64)
    mass = by_parent.sum(axis=1, keepdims=True)
    overall = by_parent.sum(axis=0)
    overall = overall / overall.sum() if overall.sum() > 0 else np.full(len(overall), 1.0 / len(overall))
    return np.where(mass > 0, by_parent / np.where(mass > 0, mass, 1.0), overall)
