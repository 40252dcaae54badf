"""Compiled loops over coded rows and over cells: exact, portable, and run without the interpreter lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["common_prefix", "count_mixed", "derive"]

_ROW_BLOCK = 4096


@njit(nogil=True, cache=True)
def _extend(code: NDArray[Any], size: Any, column: NDArray[Any], start: int, rows: int, out: NDArray[Any]) -> None:
    """Mixed-radix codes with one more axis, for a block of rows."""
    factor = np.uint32(size)
    for i in range(rows):
        out[i] = code[i] * factor + np.uint32(column[start + i])


@njit(nogil=True, cache=True)
def _tally(code: NDArray[Any], column: NDArray[Any], size: Any, weight: NDArray[Any], cells: NDArray[Any]) -> None:
    """Add a block of rows to one table."""
    factor = np.uint64(size)
    if weight.size:
        for i in range(column.size):
            cells[np.uint64(code[i]) * factor + np.uint64(column[i])] += weight[i]
    else:
        for i in range(column.size):
            cells[np.uint64(code[i]) * factor + np.uint64(column[i])] += 1


@njit(nogil=True, cache=True)
def _tally_four(
    code: NDArray[Any],
    columns: Any,
    sizes: Any,
    weight: NDArray[Any],
    tables: Any,
) -> None:
    """Add a block of rows to four tables that differ in their last axis only: the shared code is read once."""
    column0, column1, column2, column3 = columns
    cells0, cells1, cells2, cells3 = tables
    factor0, factor1, factor2, factor3 = sizes
    if weight.size:
        for i in range(column0.size):
            prefix = np.uint64(code[i])
            w = weight[i]
            cells0[prefix * factor0 + np.uint64(column0[i])] += w
            cells1[prefix * factor1 + np.uint64(column1[i])] += w
            cells2[prefix * factor2 + np.uint64(column2[i])] += w
            cells3[prefix * factor3 + np.uint64(column3[i])] += w
    else:
        for i in range(column0.size):
            prefix = np.uint64(code[i])
            cells0[prefix * factor0 + np.uint64(column0[i])] += 1
            cells1[prefix * factor1 + np.uint64(column1[i])] += 1
            cells2[prefix * factor2 + np.uint64(column2[i])] += 1
            cells3[prefix * factor3 + np.uint64(column3[i])] += 1


@njit(nogil=True, cache=True)
def common_prefix(roots: NDArray[Any], r: int) -> int:
    """How many leading axes root r shares with root r - 1."""
    if r == 0:
        return 0
    j = 0
    while j < roots.shape[1] and roots[r, j] >= 0 and roots[r, j] == roots[r - 1, j]:
        j += 1
    return j


@njit(nogil=True, cache=True)
def count_mixed(
    narrow: NDArray[Any],
    medium: NDArray[Any],
    wide: NDArray[Any],
    kind: NDArray[Any],
    slot: NDArray[Any],
    sizes: NDArray[Any],
    weight: NDArray[Any],
    prefixes: NDArray[Any],
    last: NDArray[Any],
    offsets: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Count tables over any axes row by row.

    The columns of all axes lie in three matrices by width (8, 16, 32 bits); axis a is row ``slot[a]`` of matrix
    ``kind[a]``. Table r is over the axes ``prefixes[r]`` (padded with -1) and then ``last[r]``, which must be narrow.
    Tables in lexicographic order share the codes of their prefixes. Blocks of rows go outermost, so codes stay in the
    first cache. ``weight`` is empty, or how many rows of the table each row stands for.
    """
    n = narrow.shape[1]
    tables, width = prefixes.shape
    codes = np.zeros((width + 1, _ROW_BLOCK), np.uint32)
    shared = np.empty(tables, np.int64)
    depth = np.zeros(tables, np.int64)
    for r in range(tables):
        shared[r] = common_prefix(prefixes, r)
        while depth[r] < width and prefixes[r, depth[r]] >= 0:
            depth[r] += 1
    for start in range(0, n, _ROW_BLOCK):
        stop = min(n, start + _ROW_BLOCK)
        rows = stop - start
        some = weight[start:stop] if weight.size else weight
        r = 0
        while r < tables:
            for j in range(shared[r], depth[r]):
                axis = prefixes[r, j]
                if kind[axis] == 0:
                    _extend(codes[j], sizes[axis], narrow[slot[axis]], start, rows, codes[j + 1])
                elif kind[axis] == 1:
                    _extend(codes[j], sizes[axis], medium[slot[axis]], start, rows, codes[j + 1])
                else:
                    _extend(codes[j], sizes[axis], wide[slot[axis]], start, rows, codes[j + 1])
            code = codes[depth[r]]
            end = r + 1
            while end < tables and depth[end] == depth[r] and shared[end] == depth[r]:
                end += 1
            while end - r >= 4:
                a0, a1, a2, a3 = last[r], last[r + 1], last[r + 2], last[r + 3]
                _tally_four(
                    code,
                    (
                        narrow[slot[a0], start:stop],
                        narrow[slot[a1], start:stop],
                        narrow[slot[a2], start:stop],
                        narrow[slot[a3], start:stop],
                    ),
                    (np.uint64(sizes[a0]), np.uint64(sizes[a1]), np.uint64(sizes[a2]), np.uint64(sizes[a3])),
                    some,
                    (
                        out[offsets[r] : offsets[r + 1]],
                        out[offsets[r + 1] : offsets[r + 2]],
                        out[offsets[r + 2] : offsets[r + 3]],
                        out[offsets[r + 3] : offsets[r + 4]],
                    ),
                )
                r += 4
            while r < end:
                axis = last[r]
                _tally(code, narrow[slot[axis], start:stop], sizes[axis], some, out[offsets[r] : offsets[r + 1]])
                r += 1


@njit(nogil=True, cache=True)
def derive(
    attribute: NDArray[Any],
    sizes: NDArray[Any],
    member: NDArray[Any],
    member_start: NDArray[Any],
    code: NDArray[Any],
    code_start: NDArray[Any],
    roots: NDArray[Any],
    root_offsets: NDArray[Any],
    root_cells: NDArray[Any],
    requests: NDArray[Any],
    request_root: NDArray[Any],
    request_start: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Sum the cells of each counted root into the tables asked for: axes dropped, permuted, generalised.

    ``member[member_start[a] + c]`` is some original code whose axis a has code c, and ``code[code_start[b] + v]`` the
    code of axis b for original code v; together they lead from an axis to any coarser one of the same attribute.
    """
    room = 1
    widest = 1
    for r in range(roots.shape[0]):
        cells = root_offsets[r + 1] - root_offsets[r]
        k = 0
        while k < roots.shape[1] and roots[r, k] >= 0:
            k += 1
        if k:
            room = max(room, cells // sizes[roots[r, k - 1]])
        for j in range(k):
            widest = max(widest, sizes[roots[r, j]])
    target = np.zeros(room, np.int64)
    step = np.zeros(widest, np.int64)
    for t in range(requests.shape[0]):
        r = request_root[t]
        source = root_cells[root_offsets[r] : root_offsets[r + 1]]
        start = request_start[t]
        k = 0
        while k < roots.shape[1] and roots[r, k] >= 0:
            k += 1
        length = 0
        while length < requests.shape[1] and requests[t, length] >= 0:
            length += 1
        same = k == length
        for j in range(min(k, length)):
            same = same and roots[r, j] == requests[t, j]
        if same:
            for i in range(source.size):
                out[start + i] = source[i]
            continue
        filled = 1
        target[0] = start
        for j in range(k):
            axis = roots[r, j]
            size = sizes[axis]
            stride = 1
            found = -1
            for i in range(length - 1, -1, -1):
                if attribute[requests[t, i]] == attribute[axis]:
                    found = requests[t, i]
                    break
                stride *= sizes[requests[t, i]]
            for c in range(size):
                step[c] = 0 if found < 0 else stride * code[code_start[found] + member[member_start[axis] + c]]
            if j < k - 1:
                # From the back, so that a target is read before its place is taken.
                for i in range(filled - 1, -1, -1):
                    base = target[i]
                    for c in range(size - 1, -1, -1):
                        target[i * size + c] = base + step[c]
                filled *= size
            else:
                for i in range(filled):
                    base = target[i]
                    for c in range(size):
                        out[base + step[c]] += source[i * size + c]
        if k == 0:
            out[start] += source[0]
