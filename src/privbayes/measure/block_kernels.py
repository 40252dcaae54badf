"""Compiled search for blocks of columns worth one noisy table each. It sees released values and public facts only."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["grow_blocks", "remaining_risk"]


@njit(nogil=True, cache=True)
def _at(risk: NDArray[Any], low: float, step: float, precision: float) -> float:
    """A risk between the points of its grid; its first entry is for no knowledge at all."""
    found: float = risk[0]
    if precision > 0.0:
        x = min(max((log(precision) - low) / step, 0.0), risk.size - 2.0)
        k = min(int(x), risk.size - 3)
        found = risk[k + 1] + (x - k) * (risk[k + 2] - risk[k + 1])
    return found


@njit(nogil=True, cache=True)
def _gain(risk: NDArray[Any], low: float, step: float, before: float, bought: float) -> float:
    return _at(risk, low, step, before) - _at(risk, low, step, before + bought)


@njit(nogil=True, cache=True)
def _inside_gain(
    block: NDArray[Any],
    width: int,
    sizes: NDArray[Any],
    each: float,
    pair_risk: NDArray[Any],
    column_risk: NDArray[Any],
    low: float,
    step: float,
    pair_precision: NDArray[Any],
    column_precision: NDArray[Any],
) -> float:
    """What the columns and pairs of the block gain from a table with this precision of a cell."""
    total = 0.0
    for k in range(width):
        a = block[k]
        total += _gain(column_risk[a], low, step, column_precision[a], each * sizes[a])
        for j in range(k):
            b = block[j]
            total += _gain(pair_risk[a, b], low, step, pair_precision[a, b], each * sizes[a] * sizes[b])
    return total


@njit(nogil=True, cache=True)
def _add_block(
    block: NDArray[Any],
    sizes: NDArray[Any],
    quality: float,
    pair_precision: NDArray[Any],
    column_precision: NDArray[Any],
) -> None:
    """In place: what is known once the block (ended by -1) is bought."""
    width, cells = 0, 1.0
    while width < block.size and block[width] >= 0:
        cells *= sizes[block[width]]
        width += 1
    each = quality / cells
    if width == 1 and cells == 2.0:
        each *= 2.0
    for k in range(width):
        a = block[k]
        column_precision[a] += each * sizes[a]
        for j in range(k):
            b = block[j]
            pair_precision[a, b] += each * sizes[a] * sizes[b]
            pair_precision[b, a] = pair_precision[a, b]


@njit(nogil=True, cache=True)
def remaining_risk(
    pair_risk: NDArray[Any],
    column_risk: NDArray[Any],
    low: float,
    step: float,
    pair_precision: NDArray[Any],
    column_precision: NDArray[Any],
) -> float:
    """What is still expected to be wrong."""
    total = 0.0
    for a in range(column_precision.size):
        total += _at(column_risk[a], low, step, column_precision[a])
        for b in range(a):
            total += _at(pair_risk[a, b], low, step, pair_precision[a, b])
    return total


@njit(nogil=True, cache=True)
def _best_block(
    sizes: NDArray[Any],
    quality: float,
    most_cells: float,
    most_starts: int,
    pair_risk: NDArray[Any],
    column_risk: NDArray[Any],
    low: float,
    step: float,
    pair_precision: NDArray[Any],
    column_precision: NDArray[Any],
    best: NDArray[Any],
) -> int:
    """The best block found: from every start grown by the column that helps most, up to ``most_cells``, and cut back to
    where it was best. Returns its width, 0 if nothing helps.
    """
    d, widest = sizes.size, best.size
    trial = np.empty(widest, np.int64)
    inside = np.zeros(d, np.bool_)
    need = np.empty(d)
    known = np.empty(64)  # the gain of what is inside already, by the size of the next column
    for a in range(d):
        need[a] = _at(column_risk[a], low, step, column_precision[a])
        for b in range(d):
            if b != a:
                need[a] += _at(pair_risk[a, b], low, step, pair_precision[a, b])
    starts = np.argsort(-need)
    best_gain, best_width = 0.0, 0
    for s in range(min(d, most_starts)):
        inside[:] = False
        trial[0] = starts[s]
        inside[starts[s]] = True
        cells = sizes[starts[s]]
        width = 1
        each = quality / cells * (2.0 if cells == 2.0 else 1.0)  # two values: a contrast
        gain = _inside_gain(
            trial, width, sizes, each, pair_risk, column_risk, low, step, pair_precision, column_precision
        )
        while True:
            if gain > best_gain:
                best_gain, best_width = gain, width
                best[:width] = trial[:width]
            if width == widest:
                break
            gain, chosen = -np.inf, -1
            known[:] = -1.0
            for a in range(d):
                if inside[a] or cells * sizes[a] > most_cells:
                    continue
                each = quality / (cells * sizes[a])
                size = int(min(sizes[a], known.size - 1))
                if known[size] < 0.0 or size == known.size - 1:
                    known[size] = _inside_gain(
                        trial, width, sizes, each, pair_risk, column_risk, low, step, pair_precision, column_precision
                    )
                new = known[size] + _gain(column_risk[a], low, step, column_precision[a], each * sizes[a])
                for k in range(width):
                    b = trial[k]
                    new += _gain(pair_risk[a, b], low, step, pair_precision[a, b], each * sizes[a] * sizes[b])
                if new > gain:
                    gain, chosen = new, a
            if chosen < 0:
                break
            trial[width] = chosen
            inside[chosen] = True
            cells *= sizes[chosen]
            width += 1
    return best_width


@njit(nogil=True, cache=True)
def grow_blocks(
    sizes: NDArray[Any],
    quality: float,
    most_cells: float,
    most_starts: int,
    sweeps: int,
    pair_risk: NDArray[Any],
    column_risk: NDArray[Any],
    low: float,
    step: float,
    pair_precision: NDArray[Any],
    column_precision: NDArray[Any],
    blocks: NDArray[Any],
) -> None:
    """As many blocks as ``blocks`` has room for, bought at one ``quality`` (share^2 / unit) each: each the best found
    after those before it, then, in every sweep, after all others. A line of -1 stands for none. The precisions end as
    they are once all are bought.
    """
    before_pairs, before_columns = pair_precision.copy(), column_precision.copy()
    best = np.empty(blocks.shape[1], np.int64)
    blocks[:] = -1
    for sweep in range(1 + sweeps):
        for t in range(blocks.shape[0]):
            if sweep > 0:
                blocks[t, :] = -1
                pair_precision[:] = before_pairs
                column_precision[:] = before_columns
                for other in range(blocks.shape[0]):
                    _add_block(blocks[other], sizes, quality, pair_precision, column_precision)
            width = _best_block(
                sizes,
                quality,
                most_cells,
                most_starts,
                pair_risk,
                column_risk,
                low,
                step,
                pair_precision,
                column_precision,
                best,
            )
            blocks[t, :width] = best[:width]
            _add_block(blocks[t], sizes, quality, pair_precision, column_precision)
