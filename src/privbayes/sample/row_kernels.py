"""Compiled passes over synthetic rows: dealing values out evenly, and moving single cells toward tables of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["count_pairs", "deal", "polish"]


@njit(nogil=True, cache=True)
def deal(
    order: NDArray[Any],
    group_start: NDArray[Any],
    cumulative: NDArray[Any],
    offsets: NDArray[Any],
    codes: NDArray[Any],
) -> None:
    """Systematic sampling: the m rows of a group (``order[group_start[g] : group_start[g + 1]]``) take the values at
    (offset + 0, 1, ..., m - 1) / m of the group's cumulative distribution, so that counts are within one of their
    expectation.
    """
    width = cumulative.shape[1]
    for g in range(group_start.size - 1):
        m = group_start[g + 1] - group_start[g]
        code = 0
        for i in range(m):
            at = (i + offsets[g]) / m
            while code < width - 1 and at >= cumulative[g, code]:
                code += 1
            codes[order[group_start[g] + i]] = code


@njit(nogil=True, cache=True)
def polish(
    rows: NDArray[Any],
    sizes: NDArray[Any],
    place: NDArray[Any],
    start: NDArray[Any],
    excess: NDArray[Any],
    weight: NDArray[Any],
    row_order: NDArray[Any],
    attribute_order: NDArray[Any],
) -> int:
    """One pass over the cells of a table of rows: each takes the value that most lowers the sum over all pairs' cells
    of weight (count - target)^2. ``excess`` is count - target and is kept up to date. Returns how many cells moved.
    """
    d = sizes.size
    moves = 0
    most = 0
    for a in range(d):
        most = max(most, sizes[a])
    change = np.zeros(most)
    for r in row_order:
        for a in attribute_order:
            now = rows[r, a]
            size = sizes[a]
            for v in range(size):
                change[v] = 0.0
            for b in range(d):
                k = place[a, b]
                if k < 0:
                    continue
                step = sizes[b] if a < b else 1
                base = start[k] + (rows[r, b] if a < b else rows[r, b] * size)
                here = base + now * step
                leave = weight[here] * (1.0 - 2.0 * excess[here])
                if size == 2:
                    there = base + (1 - now) * step
                    change[1 - now] += leave + weight[there] * (1.0 + 2.0 * excess[there])
                    continue
                for v in range(size):
                    there = base + v * step
                    change[v] += leave + weight[there] * (1.0 + 2.0 * excess[there])
            best, least = now, -1e-9
            for v in range(size):
                if v != now and change[v] < least:
                    best, least = v, change[v]
            if best != now:
                for b in range(d):
                    k = place[a, b]
                    if k < 0:
                        continue
                    step = sizes[b] if a < b else 1
                    base = start[k] + (rows[r, b] if a < b else rows[r, b] * size)
                    excess[base + now * step] -= 1.0
                    excess[base + best * step] += 1.0
                rows[r, a] = best
                moves += 1
    return moves


@njit(nogil=True, cache=True)
def count_pairs(
    rows: NDArray[Any],
    sizes: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    start: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """Add the rows to the tables of all pairs."""
    for r in range(rows.shape[0]):
        for k in range(first.size):
            counts[start[k] + rows[r, first[k]] * sizes[second[k]] + rows[r, second[k]]] += 1.0
