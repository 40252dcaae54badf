"""Compiled search for tables worth counting as one finer table (their join) that each is then summed out of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["join_tables"]


@njit(nogil=True, cache=True)
def _join(
    left: NDArray[Any],
    left_size: int,
    right: NDArray[Any],
    right_size: int,
    attribute: NDArray[Any],
    size: NDArray[Any],
    out: NDArray[Any],
) -> tuple[int, float]:
    """Union of the attributes of two ascending lists of axes, each at its finer level; its length and cells."""
    i, j, length, cells = 0, 0, 0, 1.0
    while i < left_size or j < right_size:
        if length == out.size:
            return length, np.inf
        if j == right_size or (i < left_size and attribute[left[i]] < attribute[right[j]]):
            axis = left[i]
            i += 1
        elif i == left_size or attribute[right[j]] < attribute[left[i]]:
            axis = right[j]
            j += 1
        else:
            # Finer levels have lower axis numbers.
            axis = min(left[i], right[j])
            i += 1
            j += 1
        out[length] = axis
        length += 1
        cells *= size[axis]
    return length, cells


@njit(nogil=True, cache=True)
def join_tables(
    tables: NDArray[Any],
    lengths: NDArray[Any],
    cells: NDArray[Any],
    attribute: NDArray[Any],
    size: NDArray[Any],
    pass_cost: float,
    cell_cost: float,
    max_cells: float,
    window: int,
    roots: NDArray[Any],
    root_of: NDArray[Any],
) -> int:
    """Join each table, in the order given, to the one of the latest ``window`` roots where that saves most.

    A root costs ``pass_cost`` to count from rows and ``cell_cost`` times its cells for each table summed out of it.
    Fills ``roots`` (a row for each table at most, all -1 beforehand; axes ascending) and the root of each table;
    returns how many roots there are.
    """
    root_length = np.zeros(len(tables), np.int64)
    root_cells = np.zeros(len(tables))
    members = np.zeros(len(tables), np.int64)
    width = roots.shape[1]
    trial, joint = np.empty(width, np.int32), np.empty(width, np.int32)
    count = 0
    for t in range(len(tables)):
        best, saved, best_length, best_cells = -1, 0.0, 0, 0.0
        for r in range(max(0, count - window), count):
            length, grown = _join(roots[r], root_length[r], tables[t], lengths[t], attribute, size, trial)
            if grown > max_cells:
                continue
            apart = pass_cost + cell_cost * (root_cells[r] * members[r] + cells[t])
            together = cell_cost * grown * (members[r] + 1)
            if apart - together > saved:
                best, saved, best_length, best_cells = r, apart - together, length, grown
                for j in range(length):
                    joint[j] = trial[j]
        if best < 0:
            best, best_length, best_cells = count, lengths[t], cells[t]
            for j in range(best_length):
                joint[j] = tables[t, j]
            count += 1
        for j in range(best_length):
            roots[best, j] = joint[j]
        root_length[best], root_cells[best] = best_length, best_cells
        members[best] += 1
        root_of[t] = best
    return count
