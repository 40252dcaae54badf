"""Compiled passes over synthetic rows: dealing values out evenly, and moving single cells toward tables of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["count_cells", "deal", "polish"]

_BLOCK = 64  # rows taken through one attribute before the next, so that its tables stay in the nearest cache


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
    first: NDArray[Any],
    entries: NDArray[Any],
    cells: NDArray[Any],
    row_order: NDArray[Any],
    attribute_order: NDArray[Any],
) -> int:
    """One pass over the values of some rows: each becomes what most lowers the sum over all goals' cells of
    weight (count - goal)^2. ``cells`` holds count - goal, kept up to date, and weight. Returns how many values moved.
    """
    most, widest = 0, 0
    for a in range(sizes.size):
        most = max(most, sizes[a])
        widest = max(widest, first[a + 1] - first[a])
    change = np.zeros(most)
    at = np.empty(widest, np.int64)
    moves = 0
    for block in range(0, row_order.size, _BLOCK):
        for a in attribute_order:
            size, low = sizes[a], first[a]
            count = first[a + 1] - low
            for r in row_order[block : block + _BLOCK]:
                now = rows[r, a]
                change[:size] = 0.0
                for e in range(count):
                    start, step, b, b_step, c, c_step = entries[low + e]
                    base = start + rows[r, b] * b_step + rows[r, c] * c_step
                    at[e] = base
                    here = base + now * step
                    leave = cells[here, 1] * (1.0 - 2.0 * cells[here, 0])
                    if size == 2:
                        there = base + (1 - now) * step
                        change[1 - now] += leave + cells[there, 1] * (1.0 + 2.0 * cells[there, 0])
                        continue
                    for v in range(size):
                        there = base + v * step
                        change[v] += leave + cells[there, 1] * (1.0 + 2.0 * cells[there, 0])
                best, least = now, -1e-9
                for v in range(size):
                    if v != now and change[v] < least:
                        best, least = v, change[v]
                if best != now:
                    for e in range(count):
                        step = entries[low + e, 1]
                        cells[at[e] + now * step, 0] -= 1.0
                        cells[at[e] + best * step, 0] += 1.0
                    rows[r, a] = best
                    moves += 1
    return moves


@njit(nogil=True, cache=True)
def count_cells(columns: NDArray[Any], first: NDArray[Any], entries: NDArray[Any], cells: NDArray[Any]) -> None:
    """Add rows, given as columns, to the counts of all goals: each table from its first attribute."""
    for a in range(first.size - 1):
        for e in range(first[a], first[a + 1]):
            start, step, b, b_step, c, c_step = entries[e]
            if a < b and a < c:
                for r in range(columns.shape[1]):
                    cells[start + columns[a, r] * step + columns[b, r] * b_step + columns[c, r] * c_step, 0] += 1.0
