"""Compiled loops of the scores I and R over many tables (child first); what they mean and cost stands in `scores`."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["score_i", "score_r", "score_r_counts"]


@njit(nogil=True, cache=True)
def _margins(table: NDArray[Any], child_size: int, child: NDArray[Any], parents: NDArray[Any]) -> int:
    """Fill the counts of the child's values and of the parent cells; returns the number of rows."""
    width = table.size // child_size
    for p in range(width):
        parents[p] = 0
    rows = np.int64(0)
    for x in range(child_size):
        total = np.int64(0)
        for p in range(width):
            count = table[x * width + p]
            total += count
            parents[p] += count
        child[x] = total
        rows += total
    return int(rows)


@njit(nogil=True, cache=True)
def _room(offsets: NDArray[Any], child_size: NDArray[Any], start: int, stop: int) -> tuple[int, int]:
    """The largest child and the largest parent table among tables start .. stop - 1."""
    child, parents = np.int64(1), np.int64(1)
    for t in range(start, stop):
        child = max(child, child_size[t])
        parents = max(parents, (offsets[t + 1] - offsets[t]) // child_size[t])
    return int(child), int(parents)


@njit(nogil=True, cache=True)
def _total_deviation(table: NDArray[Any], n: int, child_size: int, child: NDArray[Any], parents: NDArray[Any]) -> int:
    """Sum over cells of |n c(x, pi) - c(x) c(pi)| = 2 n^2 R."""
    width = table.size // child_size
    total = np.int64(0)
    for x in range(child_size):
        share = child[x]
        for p in range(width):
            total += abs(n * table[x * width + p] - share * parents[p])
    return int(total)


@njit(nogil=True, cache=True)
def score_r(
    cells: NDArray[Any],
    offsets: NDArray[Any],
    child_size: NDArray[Any],
    factor: NDArray[Any],
    start: int,
    stop: int,
    out: NDArray[Any],
) -> None:
    """``factor[t]`` times 2 n^2 R."""
    most_values, most_cells = _room(offsets, child_size, start, stop)
    child, parents = np.empty(most_values, np.int64), np.empty(most_cells, np.int64)
    for t in range(start, stop):
        table = cells[offsets[t] : offsets[t + 1]]
        n = _margins(table, child_size[t], child, parents)
        out[t] = factor[t] * _total_deviation(table, n, child_size[t], child, parents)


@njit(nogil=True, cache=True)
def score_r_counts(
    cells: NDArray[Any],
    offsets: NDArray[Any],
    child_size: NDArray[Any],
    grid: int,
    start: int,
    stop: int,
    out: NDArray[Any],
) -> None:
    """``grid`` times n R, rounded down, exactly: quotient and remainder by 2n apart."""
    most_values, most_cells = _room(offsets, child_size, start, stop)
    child, parents = np.empty(most_values, np.int64), np.empty(most_cells, np.int64)
    for t in range(start, stop):
        table = cells[offsets[t] : offsets[t + 1]]
        n = _margins(table, child_size[t], child, parents)
        if n == 0:
            out[t] = 0
            continue
        total = _total_deviation(table, n, child_size[t], child, parents)
        out[t] = grid * (total // (2 * n)) + grid * (total % (2 * n)) // (2 * n)


@njit(nogil=True, cache=True)
def score_i(
    cells: NDArray[Any],
    offsets: NDArray[Any],
    child_size: NDArray[Any],
    factor: NDArray[Any],
    start: int,
    stop: int,
    out: NDArray[Any],
) -> None:
    """``factor[t]`` times n I in nats, rounded to the nearest integer; the sum carries its rounding errors along."""
    most_values, most_cells = _room(offsets, child_size, start, stop)
    child, parents = np.empty(most_values, np.int64), np.empty(most_cells, np.int64)
    for t in range(start, stop):
        table = cells[offsets[t] : offsets[t + 1]]
        n = _margins(table, child_size[t], child, parents)
        width = table.size // child_size[t]
        total, lost = 0.0, 0.0
        for x in range(child_size[t]):
            for p in range(width):
                count = table[x * width + p]
                if count:
                    term = count * log(float(n * count) / float(child[x] * parents[p]))
                    grown = total + term
                    lost += (total - grown) + term if abs(total) >= abs(term) else (term - grown) + total
                    total = grown
        out[t] = np.int64(np.rint(factor[t] * (total + lost)))
